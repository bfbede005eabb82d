use std::path::Path;

use anyhow::bail;
use gpuwhy_model::action::{FixClass, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::report::{Report, ReportFinding};

use super::case::{Case, cases};
use super::judge::judge;
use super::over;
use crate::rightness::Rightness;

/// A report with every field; its first finding is changed to what a test needs.
const EXAMPLE: &str = include_str!("../../../crates/model/src/report_example.json");

fn report(causes: &[(Cause, f64)]) -> Report {
    let mut report: Report = serde_json::from_str(EXAMPLE).unwrap();
    let example = report.findings.remove(0);
    let finding = |(cause, confidence): &(Cause, f64)| ReportFinding {
        cause: *cause,
        confidence: *confidence,
        fixes: Vec::new(),
        ..example.clone()
    };
    report.findings = causes.iter().map(finding).collect();
    report
}

/// Adds a fix of this class on these targets to the first finding.
fn with_fix(mut report: Report, class: FixClass, targets: &[(SubjectKind, &str)]) -> Report {
    let example: Report = serde_json::from_str(EXAMPLE).unwrap();
    let mut fix = example.findings[0].fixes[0].clone();
    fix.class = class;
    fix.targets = targets.iter().map(|(kind, id)| Target { kind: *kind, id: (*id).to_owned() }).collect();
    report.findings[0].fixes.push(fix);
    report
}

fn write(folder: &Path, name: &str, description: &str) {
    let folder = folder.join(name);
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "text").unwrap();
    std::fs::write(folder.join("case.toml"), format!("id = \"{name}\"\ninputs = [\"a.txt\"]\n{description}"))
        .unwrap();
}

fn one(description: &str) -> Case {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x", description);
    cases(folder.path()).unwrap().remove(0)
}

fn judged(description: &str, report: &Report) -> Rightness {
    judge(report, &one(description))
}

const LABEL: &str = "cause = \"vram-full\"\naccept = [\"vram-leak\"]\nsecondary = [\"bar1-exhausted\"]\n";

#[test]
fn an_answer_is_right_strictly_right_or_among_three() {
    let strictly = judged(LABEL, &report(&[(Cause::VramFull, 0.9)]));
    assert!(strictly.is_first && strictly.is_strictly_first && strictly.is_in_three);
    let accepted = judged(LABEL, &report(&[(Cause::VramLeak, 0.9)]));
    assert!(accepted.is_first && !accepted.is_strictly_first && accepted.is_in_three);
    let other = (Cause::GpuLost, 0.6);
    let third = judged(LABEL, &report(&[other, other, (Cause::VramLeak, 0.6)]));
    assert!(!third.is_first && third.is_in_three);
    assert!(!judged(LABEL, &report(&[other, other, other, (Cause::VramFull, 0.6)])).is_in_three);
    let gives_up = report(&[(Cause::Undetermined, 0.0)]);
    assert!(judged(LABEL, &gives_up).is_undetermined);
    assert!(!judged("cause = \"undetermined\"", &gives_up).is_undetermined);
}

#[test]
fn only_what_is_not_true_at_all_and_sure_is_confidently_wrong() {
    let is_confident = |cause, confidence| judged(LABEL, &report(&[(cause, confidence)])).is_confident_wrong;
    assert!(is_confident(Cause::GpuLost, 0.7));
    for (cause, confidence) in [
        (Cause::GpuLost, 0.69),
        (Cause::VramFull, 0.9),
        (Cause::VramLeak, 0.9),
        (Cause::Bar1Exhausted, 0.9),
        (Cause::Undetermined, 0.9),
    ] {
        assert!(!is_confident(cause, confidence), "{cause}");
    }
}

#[test]
fn what_is_healthy_must_not_be_touched() {
    let wanted = report(&[(Cause::VramFull, 0.9)]);
    let process = [(SubjectKind::Process, "4242")];
    let card = [(SubjectKind::Card, "GPU-5d1c7a52-9f0e-4a77-b1a3-0a1f6f1f2c02")];
    let harms = |label: &str, class, targets: &[(SubjectKind, &str)]| {
        judged(&format!("{LABEL}{label}"), &with_fix(wanted.clone(), class, targets)).is_harmful
    };
    assert!(!harms("", FixClass::Asks, &process));
    assert!(harms("must_not_touch = [\"4242\"]", FixClass::Asks, &process));
    assert!(harms("must_not_touch = [\"4242\"]", FixClass::Safe, &process));
    assert!(!harms("must_not_touch = [\"4242\"]", FixClass::Shown, &process));
    assert!(harms("must_not_touch = [\"GPU 2\"]", FixClass::Asks, &card));
    assert!(!harms("must_not_touch = [\"GPU 1\"]", FixClass::Asks, &card));
    let nothing = with_fix(report(&[(Cause::VramFull, 0.9)]), FixClass::Asks, &process);
    assert!(judged("cause = \"nothing-wrong\"", &nothing).is_harmful);
    assert!(judged("cause = \"undetermined\"", &nothing).is_harmful);
    let shown = with_fix(report(&[(Cause::VramFull, 0.9)]), FixClass::Shown, &process);
    assert!(!judged("cause = \"nothing-wrong\"", &shown).is_harmful);
}

#[test]
fn incidents_are_read_in_order_and_counted_by_grade_and_kind() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "b", "cause = \"vram-full\"\ngrade = \"B\"");
    write(folder.path(), "a", "cause = \"vram-full\"\nunknown = 1");
    write(folder.path(), "c", "cause = \"vram-full\"\ninputs_kind = \"prose\"");
    write(folder.path(), "d", "cause = \"vram-full\"\ngrade = \"A\"\ninputs_kind = \"raw+table\"");
    std::fs::write(folder.path().join("README.md"), "x").unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let cases = cases(folder.path()).unwrap();
    let counted: Vec<(&str, bool)> = cases.iter().map(|case| (case.id.as_str(), case.counts())).collect();
    assert_eq!(counted, [("a", true), ("b", false), ("c", false), ("d", true)]);
}

#[test]
fn a_label_that_cannot_be_right_is_refused() {
    for description in ["cause = \"no-such-cause\"", "cause = \"vram-full\"\naccept = [\"x\"]", "x = 1"] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a", description);
        assert!(cases(folder.path()).is_err(), "{description}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(cases(folder.path()).is_err(), "no case");
    write(folder.path(), "a", "cause = \"vram-full\"");
    std::fs::remove_file(folder.path().join("a/a.txt")).unwrap();
    assert!(cases(folder.path()).is_err(), "no text");
}

#[test]
fn the_line_has_its_fixed_form_and_a_missing_report_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    for (name, cause) in [("a", "vram-full"), ("b", "undetermined"), ("c", "gpu-lost"), ("d", "vram-full")] {
        write(folder.path(), name, &format!("cause = \"{cause}\""));
    }
    let total = over(&cases(folder.path()).unwrap(), false, |case| match case.id.as_str() {
        "a" => Ok(report(&[(Cause::VramFull, 0.9)])),
        "b" => Ok(report(&[(Cause::Undetermined, 0.0)])),
        "c" => Ok(report(&[(Cause::VramFull, 0.9), (Cause::GpuLost, 0.6)])),
        _ => bail!("no answer"),
    });
    assert_eq!(
        total.to_string(),
        "cases 4 first 2 (50.0 %) strictly 2 (50.0 %) in-three 3 (75.0 %) undetermined 0 confident-wrong 1 harmful 0"
    );
    assert_eq!(total.with_errors(), format!("{total} errors 1"));
    assert!(!total.holds());
    let right = over(&cases(folder.path()).unwrap(), true, |case| {
        Ok(report(&[(Cause::from_id(&case.cause).unwrap(), 0.9)]))
    });
    assert!(right.holds());
}
