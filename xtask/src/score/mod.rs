//! `cargo xtask score DIR`: how often gpuwhy is right about incidents of which the cause is known.

mod case;
mod judge;
mod total;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use gpuwhy_model::report::Report;

use crate::rightness::Rightness;
use crate::workspace::{Profile, Workspace, succeed};
use case::Case;
use judge::{judge, word};
pub(crate) use total::Total;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often a running gpuwhy is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Builds gpuwhy, lets it read every incident below a folder and prints how often it was right.
///
/// # Errors
/// Fails when gpuwhy does not compile, or an incident is described in a way that cannot be understood.
pub(crate) fn run(workspace: &Workspace, folder: &Path, list: bool, all: bool) -> Result<Total> {
    succeed(workspace.cargo().args(["build", "--quiet", "-p", "gpuwhy"]))?;
    let mut cases = case::cases(folder)?;
    cases.retain(|case| all || case.counts());
    let total = over(&cases, list, |case| ask(workspace, case));
    println!("{}", if all { total.with_errors() } else { total.to_string() });
    Ok(total)
}

/// Judges every answer; an error is one that is not there.
fn over(cases: &[Case], list: bool, ask: impl Fn(&Case) -> Result<Report>) -> Total {
    let mut total = Total::default();
    for case in cases {
        let outcome = ask(case).map(|report| (judge(&report, case), report));
        if list {
            println!("{}", line(case, &outcome));
        }
        match outcome {
            Ok((judgement, _)) => total.add(judgement),
            Err(_) => total.add_error(),
        }
    }
    total
}

/// Returns what was said of an incident, and whether it is right.
fn line(case: &Case, outcome: &Result<(Rightness, Report)>) -> String {
    let (judgement, report) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return format!("error      {}  {}: {error:#}", case.id, case.cause),
    };
    let findings = report.findings.iter().take(3);
    let said: Vec<String> =
        findings.map(|finding| format!("{} {:.2}", finding.cause, finding.confidence)).collect();
    format!("{:10} {}  {}: {}", word(*judgement), case.id, case.cause, said.join(", "))
}

/// Lets gpuwhy read the texts of an incident.
fn ask(workspace: &Workspace, case: &Case) -> Result<Report> {
    let mut command = workspace.command(workspace.program(Profile::Development, "gpuwhy"));
    // Neither the language nor the settings of whoever runs this count.
    command.env("LC_ALL", "C").env("XDG_CONFIG_HOME", case.folder.join("no-settings"));
    command.args(["read", "--json"]).args(case.inputs.iter().map(|input| case.folder.join(input)));
    let output = output_of(&mut command)?;
    serde_json::from_slice(&output).context("the answer is no report")
}

/// Runs a command to its end, or ends it when it takes too long; returns its output.
fn output_of(command: &mut std::process::Command) -> Result<Vec<u8>> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start gpuwhy")?;
    let mut pipe = child.stdout.take().context("no output")?;
    let mut errors = child.stderr.take().context("no errors")?;
    let output = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut pipe, &mut bytes).map(|_| bytes)
    });
    let talk = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut errors, &mut text);
        text
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for gpuwhy")? {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().context("cannot end gpuwhy")?;
            child.wait().context("cannot wait for gpuwhy")?;
            bail!("no answer within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(LOOK_INTERVAL);
    };
    let output = output.join().ok().context("the output was not read")?.context("cannot read the output")?;
    let talk = talk.join().unwrap_or_default();
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("{status}: {}", talk.lines().next().unwrap_or_default());
    }
    Ok(output)
}

#[cfg(test)]
mod tests;
