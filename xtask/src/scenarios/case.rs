//! One scenario, run live and judged.

use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context as _, Result};
use gpuwhy_lab::scenario::{Drawn, RunError, RunningBox, Template, Truth};
use gpuwhy_model::report::Report;

use super::judge::{Judgement, judge};
use crate::boxes;
use crate::workspace::{Profile, Workspace};

/// A report must be there so long after the look began, whatever hangs.
const ANSWER_WITHIN_S: f64 = 100.0;

/// Where reports that are not right are kept, below the build folder.
const MISSES: &str = "scenario-misses";

/// What came of one run.
pub(crate) enum Outcome {
    /// It was judged.
    Judged {
        /// What is right and wrong.
        judgement: Judgement,
        /// What was expected and what was said, for people.
        story: String,
    },
    /// It proves nothing, and why.
    Void(String),
}

/// Draws a scenario with a seed, brings it up, lets gpuwhy look and judges what it says.
///
/// # Errors
/// Fails when the scenario is not valid, its box does not come up, or gpuwhy gives no report.
pub(crate) fn run(workspace: &Workspace, template: &Template, seed: u64) -> Result<Outcome> {
    let drawn = template.draw(seed)?;
    let directory = boxes::fresh_path(template.name());
    let outcome = match drawn.start(&directory) {
        Ok(running) => look_and_judge(workspace, &drawn, running),
        Err(RunError::CannotShow(inabilities)) => {
            let reasons: Vec<String> = inabilities.into_iter().map(|inability| inability.why).collect();
            Ok(Outcome::Void(reasons.join("; ")))
        }
        Err(error) => Err(error.into()),
    };
    boxes::remove(&directory)?;
    outcome
}

fn look_and_judge(workspace: &Workspace, drawn: &Drawn, mut running: RunningBox) -> Result<Outcome> {
    let output = ask(workspace, &mut running, drawn.window_s)?;
    let truth = running.truth();
    let report = report_of(&output);
    let positions = report.as_ref().map(|report| positions_of_first(report, drawn)).unwrap_or_default();
    running.stop()?;
    if let Some(why) = truth.void {
        return Ok(Outcome::Void(why));
    }
    let report = report?;
    let judgement = judge(&report, &truth, &positions);
    let mut story = format!("expected {}; got {}", expected(&truth), said(&report, &positions));
    if !judgement.is_right() {
        let kept = keep(workspace, drawn, &output)?;
        story = format!("{story}; see {}", workspace.relative(&kept).display());
    }
    Ok(Outcome::Judged { judgement, story })
}

/// Keeps a report that is not right, so that the reason can be found.
fn keep(workspace: &Workspace, drawn: &Drawn, output: &Output) -> Result<PathBuf> {
    let folder = workspace.target().join(MISSES);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let path = folder.join(format!("{}-{}.json", drawn.name, drawn.seed));
    std::fs::write(&path, &output.stdout).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

/// Lets gpuwhy look inside a box, at its own pace but not for ever.
///
/// # Errors
/// Fails when it cannot be started.
pub(crate) fn ask(workspace: &Workspace, running: &mut RunningBox, window_s: f64) -> Result<Output> {
    let gpuwhy = workspace.program(Profile::Development, "gpuwhy");
    let gpuwhy = gpuwhy.to_str().context("the path of gpuwhy is no UTF-8")?;
    let window = format!("{window_s}s");
    let limit = format!("{}", window_s + ANSWER_WITHIN_S);
    let command = ["timeout", "--kill-after=5", &limit, gpuwhy, "--json", "--for", &window];
    Ok(running.run(None, &command)?)
}

/// Reads a report from what gpuwhy printed.
///
/// # Errors
/// Fails when it printed something else; what it said on stderr is part of the error.
pub(crate) fn report_of(output: &Output) -> Result<Report> {
    let said = String::from_utf8_lossy(&output.stderr);
    let context = || format!("no report; it ended with {} and said `{}`", output.status, said.trim());
    serde_json::from_slice(&output.stdout).with_context(context)
}

/// Returns where the cards of the first finding sit on the board: a missing card shifts the library's indices.
pub(crate) fn positions_of_first(report: &Report, drawn: &Drawn) -> Vec<usize> {
    let board = drawn.plan.board.resolve().map(|board| board.cards).unwrap_or_default();
    let concerned = report.cards.iter().filter(|card| card.findings.contains(&0));
    let position = |card: &gpuwhy_model::report::ReportCard| {
        let by_uuid = board.iter().position(|on_board| card.uuid.as_deref() == Some(on_board.uuid.as_str()));
        by_uuid.or_else(|| usize::try_from(card.index).ok())
    };
    concerned.filter_map(position).collect()
}

fn expected(truth: &Truth) -> String {
    let answers = truth.answers.iter().map(|answer| {
        let pids: Vec<String> = answer.culprits.iter().map(|culprit| culprit.pid.to_string()).collect();
        format!("{} on {:?} by [{}]", answer.cause, answer.cards, pids.join(" "))
    });
    let answers = answers.collect::<Vec<_>>().join(", or ");
    match &truth.near_miss_of {
        Some(neighbour) => format!("{answers}, never {neighbour}"),
        None => answers,
    }
}

fn said(report: &Report, positions: &[usize]) -> String {
    let findings = report.findings.iter().map(|finding| {
        let pid = finding.culprit.as_ref().and_then(|culprit| culprit.pid);
        let by = pid.map_or_else(|| "nobody".to_owned(), |pid| pid.to_string());
        format!("{} {:.2} by {by}", finding.cause, finding.confidence)
    });
    format!("{} (the first on {positions:?})", findings.collect::<Vec<_>>().join(", "))
}
