//! Hostile views: little may be read, somebody planted secrets, a recording is all there is. There is an answer all the same.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use gpuwhy_lab::place::plan::Plan;
use gpuwhy_model::report::Report;
use serde_json::Value;

use super::ledger::Ledger;
use crate::boxes::EmulatedBox;
use crate::scenarios::case::report_of;
use crate::workspace::{Profile, Workspace, output_of};

/// Secrets that stand in the command line and environment of a member.
const SECRETS: &[&str] = &["hunter2hunter", "Tr0ub4dor3xyz", "aB3dE5fG7hI9jK1lM3nO5pQ7"];

/// A run that waits for a slow disk, so that the rules need what is hidden.
const BOX: &str = r#"
name = "views"
board = { card = [{ profile = "a100-sxm4-80gb", count = 2 }] }
data_set = { files = 24, file_bytes = 4194304 }

[[members]]
name = "secretive"
user = "bob"
command = ["python3", "train.py", "--password=hunter2hunter", "--data", "http://bob:Tr0ub4dor3xyz@store/data", "aB3dE5fG7hI9jK1lM3nO5pQ7"]
environment = { API_KEY = "hunter2hunter", RANK = "0", WORLD_SIZE = "aB3dE5fG7hI9jK1lM3nO5pQ7" }
cards = [0]
read_bytes_per_s = 12000000

[members.work.train]
data = "disk"
loaders = 2
batch_bytes = 3000000
decode_ms = 5.0
kernel_ms = 75.0
memory_share = 0.5
"#;

const NO_CARD: &str = r#"
name = "no-card"
library_installed = false
board = { driver = { loaded = false, module = "none" } }
"#;

/// A user of the box who owns nothing in it.
const STRANGER: &str = "carol";

/// Tries every view.
pub(super) fn run(workspace: &Workspace, ledger: &mut Ledger) {
    let plan: Result<Plan, _> = toml::from_str(BOX);
    let up = plan
        .context("no plan of a box")
        .and_then(|plan| EmulatedBox::up(workspace, Profile::Development, &plan));
    match up {
        Ok(inside) => try_box(workspace, &inside, ledger),
        Err(error) => ledger.judge("a box for hostile views", || Err(error)),
    }
    ledger.judge("a machine without a card", || no_card(workspace));
}

fn try_box(workspace: &Workspace, inside: &EmulatedBox, ledger: &mut Ledger) {
    let gpuwhy = workspace.program(Profile::Development, "gpuwhy");
    ledger.judge("an unprivileged user", || {
        let mut command = inside.command(Some(STRANGER), &gpuwhy);
        partial_answer(command.args(["--json", "--for", "3s"]))
    });
    ledger.judge("hidden processes", || {
        let script = format!(
            "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=2003 --regid=2003 --clear-groups {} --json --for 3s",
            gpuwhy.display()
        );
        let mut command = inside.command(None, "unshare");
        partial_answer(command.args(["--mount", "sh", "-c", &script]))
    });
    ledger.judge("without /sys", || {
        let mut command = inside.command(None, &gpuwhy);
        partial_answer(command.args(["--json", "--for", "3s", "--sys", "/nonexistent"]))
    });
    ledger.judge("without /proc", || {
        let mut command = inside.command(None, &gpuwhy);
        partial_answer(command.args(["--json", "--for", "3s", "--proc", "/nonexistent"]))
    });
    ledger.judge("planted secrets", || secrets(inside, &gpuwhy));
    ledger.judge("a recording says what the live look said", || replay(inside, &gpuwhy));
    ledger.judge("a recording through a pipe", || {
        let script = format!("{0} record - --for 2s | {0} --json --replay -", gpuwhy.display());
        let report = report_of(&inside.command(None, "sh").args(["-c", &script]).output()?)?;
        Ok(format!("{} findings", report.findings.len()))
    });
}

/// Runs gpuwhy where it cannot see everything: it must answer and say what it could not see.
fn partial_answer(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot run gpuwhy")?;
    let report = calm_report(&output)?;
    ensure!(!report.blind_spots.is_empty(), "it claims to have seen everything");
    let is_silent = report.blind_spots.iter().any(|blind_spot| blind_spot.summary.text.is_empty());
    ensure!(!is_silent, "a blind spot has no words");
    let first = report.findings.first().context("there is no finding")?;
    Ok(format!("{} {:.2}, {} blind spots", first.cause, first.confidence, report.blind_spots.len()))
}

fn calm_report(output: &Output) -> Result<Report> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!said.contains("panicked"), "it panicked: {said}");
    report_of(output)
}

fn no_card(workspace: &Workspace) -> Result<String> {
    let plan: Plan = toml::from_str(NO_CARD).context("no plan of a box")?;
    let inside = EmulatedBox::up(workspace, Profile::Development, &plan)?;
    let gpuwhy = workspace.program(Profile::Development, "gpuwhy");
    let output = inside.command(None, gpuwhy).args(["--json", "--once"]).output()?;
    inside.down()?;
    let report = calm_report(&output)?;
    ensure!(output.status.code() == Some(2), "it ended with {}", output.status);
    let first = report.findings.first().context("there is no finding")?;
    Ok(format!("{}, exit 2", first.cause))
}

/// Every output, and the recording, of everybody.
fn secrets(inside: &EmulatedBox, gpuwhy: &Path) -> Result<String> {
    let looks: &[&[&str]] = &[&["--once"], &["--once", "--json"], &["--once", "--lang", "zh-CN"]];
    let mut outputs = Vec::new();
    for user in [None, Some("bob"), Some(STRANGER)] {
        for look in looks {
            outputs.push(inside.command(user, gpuwhy).args(*look).output()?);
        }
    }
    let mut recording = inside.command(None, gpuwhy).args(["record", "-", "--for", "1s"]).output()?;
    recording.stdout =
        zstd::decode_all(recording.stdout.as_slice()).context("the recording cannot be unpacked")?;
    outputs.push(recording);
    for output in &outputs {
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        for secret in SECRETS {
            let told = text.find(secret).map(|place| &text[..place]);
            let before: String = told.unwrap_or_default().chars().rev().take(60).collect();
            let before: String = before.chars().rev().collect();
            ensure!(told.is_none(), "`{secret}` is told after `{before}`");
        }
    }
    let is_member_seen =
        outputs.iter().any(|output| String::from_utf8_lossy(&output.stdout).contains("train.py"));
    ensure!(is_member_seen, "the member with the secrets is in no output: this proves nothing");
    Ok(format!("{} outputs", outputs.len()))
}

fn replay(inside: &EmulatedBox, gpuwhy: &Path) -> Result<String> {
    let file = inside.path().join("look.gpuwhy");
    let file = file.to_str().context("the path of the recording is no UTF-8")?;
    let live = inside.command(None, gpuwhy).args(["--json", "--for", "3s", "--record", file]).output()?;
    let live: Value = serde_json::from_slice(&live.stdout).context("no live report")?;
    let replayed = output_of(inside.command(None, "sh").args([
        "-c",
        "\"$0\" --json --replay \"$1\"; test $? -le 1",
        &gpuwhy.display().to_string(),
        file,
    ]))?;
    let replayed: Value = serde_json::from_str(&replayed).context("no replayed report")?;
    ensure!(without_source(live) == without_source(replayed), "the reports differ");
    Ok("identical but for `source`".to_owned())
}

fn without_source(mut report: Value) -> Value {
    if let Some(members) = report.as_object_mut() {
        members.remove("source");
    }
    report
}

#[cfg(test)]
mod tests {
    use gpuwhy_lab::place::plan::Plan;

    use super::{BOX, NO_CARD, SECRETS};

    #[test]
    fn every_box_is_possible() {
        for text in [BOX, NO_CARD] {
            let plan: Plan = toml::from_str(text).unwrap();
            plan.board.resolve().unwrap();
        }
    }

    #[test]
    fn every_secret_is_planted() {
        assert!(SECRETS.iter().all(|secret| BOX.contains(secret)));
    }
}
