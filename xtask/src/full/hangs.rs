//! A driver that never answers: gpuwhy must, in time, and with one child at most.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use gpuwhy_lab::place::plan::Plan;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::report::Report;

use super::answer::Answer;
use super::ledger::Ledger;
use crate::boxes::EmulatedBox;
use crate::scenarios::case::report_of;
use crate::workspace::{Profile, Workspace};

/// How long the look is.
const WINDOW: Duration = Duration::from_secs(2);

/// How long after the window, or after the limit of a start, the answer may come.
const GRACE: Duration = Duration::from_secs(3);

/// How long a start of the library is waited for.
const START_LIMIT: Duration = Duration::from_mins(1);

/// The same where the kernel log speaks of trouble.
const START_LIMIT_IN_TROUBLE: Duration = Duration::from_secs(15);

const SLEEPING_CALL: &str = r#"
name = "sleeping-call"
board = { card = [{ profile = "a100-sxm4-80gb", count = 4 }], fault = [
    { function = "nvmlDeviceGetPowerUsage", card = 1, hang = "sleep" },
] }
"#;

const UNKILLABLE_CALL: &str = r#"
name = "unkillable-call"
board = { card = [{ profile = "a100-sxm4-80gb", count = 4 }], fault = [
    { function = "nvmlDeviceGetPowerUsage", card = 1, hang = "file", file = "/mnt/frozen/silent" },
] }
stores = [{ name = "frozen", source = "nas:/export/home", kind = "fuse.sshfs", behaviour = "silent" }]
"#;

const SLEEPING_START: &str = r#"
name = "sleeping-start"
board = { card = [{ profile = "a100-sxm4-80gb", count = 4 }], fault = [
    { function = "nvmlInit_v2", hang = "sleep" }, { function = "nvmlInitWithFlags", hang = "sleep" },
    { function = "nvmlInit", hang = "sleep" },
] }
"#;

const TROUBLE: &str = r#"
[[kernel_log]]
seconds_ago = 5.0
level = 3
text = "NVRM: Xid (PCI:0000:07:00): 119, pid=4711, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU0 GSP!"
"#;

const SLOW_START: &str = r#"
name = "slow-start"
board = { driver = { init_ms = 20000 }, card = [{ profile = "a100-sxm4-80gb", count = 2 }] }
"#;

/// Tries every kind of hang.
pub(super) fn run(workspace: &Workspace, ledger: &mut Ledger) {
    ledger.judge("a call that sleeps for ever", || sleeping_call(workspace));
    ledger.judge("a call that cannot be killed, and a second look at it", || unkillable_call(workspace));
    ledger.judge("a start that never ends, the kernel log in trouble", || {
        let plan = format!("{SLEEPING_START}{TROUBLE}");
        sleeping_start(workspace, &plan, START_LIMIT_IN_TROUBLE)
    });
    ledger.judge("a start that never ends", || sleeping_start(workspace, SLEEPING_START, START_LIMIT));
    ledger.judge("a start of 20 s", || slow_start(workspace));
}

fn sleeping_call(workspace: &Workspace) -> Result<String> {
    let inside = box_of(workspace, SLEEPING_CALL)?;
    let answer = look(workspace, &inside, WINDOW + GRACE)?;
    blames_driver(&answer)?;
    ensure!(answer.children.len() == 1, "{} children instead of one", answer.children.len());
    ensure!(answer.survivors() == 0, "its child outlives it");
    inside.down()?;
    Ok(in_seconds(&answer))
}

fn unkillable_call(workspace: &Workspace) -> Result<String> {
    let inside = box_of(workspace, UNKILLABLE_CALL)?;
    let first = look(workspace, &inside, WINDOW + GRACE)?;
    blames_driver(&first)?;
    ensure!(first.children.len() == 1, "{} children instead of one", first.children.len());
    let child = first.children.keys().next().copied().unwrap_or_default();
    ensure!(first.survivors() == 1, "its child could be killed: this proves nothing");
    let second = look(workspace, &inside, WINDOW + GRACE)?;
    let report = blames_driver(&second)?;
    ensure!(second.children.keys().eq([&child]), "the second look has children {:?}", second.children.keys());
    let finding = report.findings.iter().find(|finding| finding.cause == Cause::DriverHung);
    let words = serde_json::to_string(&finding)?;
    ensure!(
        words.contains(&child.to_string()),
        "the second look does not name the first one's child {child}"
    );
    inside.down()?;
    Ok(format!("{}, then {}", in_seconds(&first), in_seconds(&second)))
}

fn sleeping_start(workspace: &Workspace, plan: &str, limit: Duration) -> Result<String> {
    let inside = box_of(workspace, plan)?;
    let answer = look(workspace, &inside, limit + GRACE)?;
    blames_driver(&answer)?;
    ensure!(answer.children.len() == 1, "{} children instead of one", answer.children.len());
    inside.down()?;
    Ok(in_seconds(&answer))
}

fn slow_start(workspace: &Workspace) -> Result<String> {
    let inside = box_of(workspace, SLOW_START)?;
    let answer = look(workspace, &inside, Duration::from_secs(20) + WINDOW + GRACE)?;
    let report = report_of(&answer.output)?;
    let first = report.findings.first().context("there is no finding")?;
    ensure!(first.cause == Cause::NothingWrong, "the answer is {}, not the normal one", first.cause);
    ensure!(!report.notes.is_empty(), "there is no note about the slow start");
    inside.down()?;
    Ok(in_seconds(&answer))
}

fn box_of(workspace: &Workspace, plan: &str) -> Result<EmulatedBox> {
    let plan: Plan = toml::from_str(plan).context("no plan of a box")?;
    EmulatedBox::up(workspace, Profile::Development, &plan)
}

/// Lets gpuwhy look, and refuses an answer that comes too late.
fn look(workspace: &Workspace, inside: &EmulatedBox, limit: Duration) -> Result<Answer> {
    let window = format!("{}s", WINDOW.as_secs());
    let answer = Answer::of(workspace, inside, &["--json", "--for", &window], limit + GRACE)?;
    ensure!(answer.took <= limit, "it took {}, not {} s", in_seconds(&answer), limit.as_secs());
    Ok(answer)
}

fn blames_driver(answer: &Answer) -> Result<Report> {
    let report = report_of(&answer.output)?;
    let Some(finding) = report.findings.iter().find(|finding| finding.cause == Cause::DriverHung) else {
        let named: Vec<&str> = report.findings.iter().map(|finding| finding.cause.id()).collect();
        bail!("it names {}, not driver-hung", named.join(", "));
    };
    ensure!(finding.confidence >= 0.5, "driver-hung has only {:.2}", finding.confidence);
    Ok(report)
}

fn in_seconds(answer: &Answer) -> String {
    format!("{:.1} s", answer.took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use gpuwhy_lab::place::plan::Plan;

    use super::{SLEEPING_CALL, SLEEPING_START, SLOW_START, TROUBLE, UNKILLABLE_CALL};

    #[test]
    fn every_box_is_possible() {
        let in_trouble = format!("{SLEEPING_START}{TROUBLE}");
        for text in [SLEEPING_CALL, UNKILLABLE_CALL, SLEEPING_START, SLOW_START, &in_trouble] {
            let plan: Plan = toml::from_str(text).unwrap();
            plan.board.resolve().unwrap();
        }
    }
}
