//! `xid-app-fault`: the driver reports an error that a program caused.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::KernelLine;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Seconds, Unit};
use gpuwhy_model::verdict::Severity;

use super::{offered, report};
use crate::draft::Draft;
use crate::evidence::{once, reported};
use crate::facts::cards::holders;
use crate::facts::xids::{self, Kind, Report};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/xid_app_fault.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::XidAppFault,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::KernelLog, Signal::XidEvents, Signal::ProcessList, Signal::ProgramLog],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in report::answering(scene) {
        let mut reports = xids::of_card(scene, card, limits);
        reports.retain(|report| xids::kind(report.number, card) == Kind::Program);
        if let Some(first) = telling(&reports) {
            findings.report(judge(scene, card, first, &reports, limits));
        }
    }
    for (number, mut draft) in offered::drafts(&RULE, scene, Kind::Program, Severity::Warn, summary) {
        draft.advise(Action::ImproveProgram, Vec::new(), fix(number));
        findings.report(draft);
    }
}

/// Returns the report that tells most: one with a fault of its own before one that only cleans up, one in words
/// before one of registers or a mere count, then the newest.
fn telling<'scene>(reports: &[Report<'scene>]) -> Option<Report<'scene>> {
    let says_little = |report: &Report<'_>| {
        let has = |words: &str| report.line.is_some_and(|line| line.text.contains(words));
        has(": ESR 0x") || has("Multiple Warp Errors")
    };
    reports.iter().copied().rev().min_by_key(|report| (xids::is_clean_up(report.number), says_little(report)))
}

fn judge(scene: &Scene, card: &Card, first: Report<'_>, reports: &[Report<'_>], limits: &Limits) -> Draft {
    let (culprits, pids) = report::culprits(scene, reports);
    let living = reports.iter().any(|one| report::living(scene, one).is_some());
    let is_recent = |one: &Report<'_>| one.age_s.is_none_or(|age_s| age_s <= limits.program_error_recent_s);
    let hurts_now = living || reports.iter().any(is_recent);
    let severity = if hurts_now { Severity::Warn } else { Severity::Note };
    let mut draft = Draft::about_card(&RULE, card, summary(first.number)).severity(severity);
    let own_fault = !xids::is_clean_up(first.number);
    draft.agree_by(4.0, if own_fault { 1.0 } else { 0.7 }, reported(&first));
    if let Some(pid) = first.pid {
        let words = text::process(first.name.unwrap_or("?"), u64::from(pid.0));
        let alive = report::living(scene, &first).is_some();
        let state: Evidence = once(
            Signal::ProcessList,
            if alive { "alive" } else { "ended" },
            Unit::Text,
            Reader::ProcPid,
            if alive { words } else { text::process_ended(first.name.unwrap_or("?"), u64::from(pid.0)) },
        );
        draft.mention(state);
    } else {
        draft.silent(0.5);
    }
    if reports.len() > 1 {
        let number = reports.len();
        draft.mention(once(Signal::KernelLog, number, Unit::Count, Reader::KernelLog, repeated(reports)));
    }
    draft.finding.detail.insert("xid".to_owned(), first.number.to_string());
    draft.finding.impact.blocked = u64::from(hurts_now);
    // Other programs on the same card are not hit.
    if culprits.is_empty() && holders(scene, card).len() > 1 {
        draft.silent(0.5);
    }
    draft.advise(Action::ImproveProgram, Vec::new(), fix(first.number));
    draft.advise(Action::Watch, report::target(&draft), text::fix_watch());
    draft.culprits(culprits, pids)
}

/// Says how many errors there are and when: of an old log nobody knows how long ago that was.
fn repeated(reports: &[Report<'_>]) -> Text {
    let number = reports.len();
    if reports.iter().all(|report| report.age_s.is_some()) {
        return text::repeated(number);
    }
    let lines: Vec<&KernelLine> = reports.iter().filter_map(|report| report.line).collect();
    let times = || lines.iter().map(|line| line.boot_us);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return text::repeated_in_log(number);
    };
    if last == first {
        return text::repeated_in_log(number);
    }
    let span = Seconds((last - first) as f64 / 1e6);
    match lines.iter().filter_map(|line| line.at).min() {
        Some(at) => text::repeated_at(number, span, at.strftime("%Y-%m-%d %H:%M:%S").to_string()),
        None => text::repeated_within(number, span),
    }
}

fn summary(number: u32) -> Text {
    match number {
        13 => text::summary_exception(number),
        31 => text::summary_address(number),
        8 => text::summary_stuck(number),
        43 => text::summary_ended(number),
        137 => text::summary_peer(number),
        _ => text::summary(number),
    }
}

fn fix(number: u32) -> Text {
    match number {
        13 | 31 | 137 => text::fix_memory_check(),
        _ => text::fix_program(),
    }
}
