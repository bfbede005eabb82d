//! `xid-hw-fault`: the driver reports an error of the card, its bus or its firmware, and the card still answers.

use gpuwhy_knowledge::{FirstAction, Severity as Weight};
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::report;
use crate::draft::Draft;
use crate::evidence::{once, reported};
use crate::facts::cards::holders;
use crate::facts::culprit;
use crate::facts::xids::{self, Kind, Report};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/xid_hw_fault.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::XidHwFault,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::KernelLog, Signal::XidEvents, Signal::Peers],
    },
    check,
};

/// Which of several errors of one burst is the one to act on: earlier ones explain later ones.
const PRECEDENCE: &[u32] = &[119, 120, 175, 143, 158, 167, 173, 169, 62, 46, 110, 156, 109];
/// Errors of the card's own processor.
const OF_FIRMWARE: &[u32] = &[62, 119, 120, 143, 169, 175];
/// So many different programs that fail on one card, and so many processes of them, are no chance.
const PROGRAMS_MIN: usize = 2;
const PROCESSES_MIN: usize = 3;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in report::answering(scene) {
        let reports = xids::of_card(scene, card, limits);
        let of_kind =
            |kind: Kind| reports.iter().filter(move |report| xids::kind(report.number, card) == kind);
        if let Some(first) = of_kind(Kind::Hardware).min_by_key(|report| place(report.number)) {
            findings.report(judge(scene, card, *first, of_kind(Kind::Hardware).count()));
        } else if let Some(newest) = of_kind(Kind::Program).next_back() {
            judge_programs(scene, card, *newest, findings);
        }
    }
}

/// Returns where an error stands in precedence: what needs a reset before what does not.
fn place(number: u32) -> (usize, std::cmp::Reverse<Option<Weight>>) {
    let listed = PRECEDENCE.iter().position(|one| *one == number).unwrap_or(PRECEDENCE.len());
    (listed, std::cmp::Reverse(gpuwhy_knowledge::xid(number).map(|fact| fact.severity)))
}

fn judge(scene: &Scene, card: &Card, first: Report<'_>, number_of_reports: usize) -> Draft {
    let fact = gpuwhy_knowledge::xid(first.number);
    let needs_reset = fact.is_some_and(|fact| matches!(fact.severity, Weight::Reset | Weight::Reboot));
    // The vendor's own tools take some of these for errors of programs.
    let may_be_a_program = fact.is_some_and(|fact| fact.domains.iter().any(|domain| domain == "app"));
    let severity = if needs_reset && !may_be_a_program { Severity::Fault } else { Severity::Warn };
    let meaning = meaning(first.number);
    let summary = text::summary(meaning, first.number);
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity);
    let strength = match (needs_reset, may_be_a_program) {
        (true, false) => 1.0,
        (true, true) => 0.6,
        (false, _) => 0.7,
    };
    draft.agree_by(4.0, strength, reported(&first));
    if number_of_reports > 1 {
        let words = text::repeated(number_of_reports);
        draft.agree(0.5, once(Signal::KernelLog, number_of_reports, Unit::Count, Reader::KernelLog, words));
    }
    draft.finding.detail.insert("xid".to_owned(), first.number.to_string());
    let holders = holders(scene, card);
    draft.processes = culprit::pids(&holders);
    draft.finding.impact.blocked = if needs_reset { holders.len() as u64 } else { 0 };
    advise(card, first.number, fact.map(|fact| fact.first_action), &mut draft);
    draft
}

/// Judges errors of programs: when different programs fail on one card and on no other, the card is suspect.
fn judge_programs(scene: &Scene, card: &Card, newest: Report<'_>, findings: &mut Findings) {
    let programs = xids::failed_programs(scene, card);
    let processes: usize = programs.values().map(std::collections::BTreeSet::len).sum();
    let elsewhere = report::answering(scene)
        .filter(|other| other.index != card.index)
        .any(|other| xids::failed_programs(scene, other).keys().any(|name| programs.contains_key(name)));
    if programs.len() < PROGRAMS_MIN || processes < PROCESSES_MIN || elsewhere {
        return;
    }
    let mut draft = Draft::about_card(&RULE, card, text::summary_programs()).severity(Severity::Warn);
    draft.agree(2.0, reported(&newest));
    let names: Vec<String> = programs.keys().map(|name| (*name).to_owned()).collect();
    let words = text::different_programs(names, processes);
    draft.agree(2.0, once(Signal::KernelLog, processes, Unit::Count, Reader::KernelLog, words));
    // Several people can make several mistakes.
    draft.silent(3.0);
    draft.finding.detail.insert("xid".to_owned(), newest.number.to_string());
    draft.advise(Action::ServiceHardware, report::target(&draft), text::fix_diagnose());
    findings.report(draft);
}

/// Returns what a number means, in words.
fn meaning(number: u32) -> Text {
    match number {
        32 => text::meaning_push_buffer(),
        46 => text::meaning_stopped(),
        54 => text::meaning_power_cable(),
        62 => text::meaning_power_controller(),
        109 => text::meaning_does_not_yield(),
        110 => text::meaning_security(),
        119 => text::meaning_firmware_silent(),
        120 => text::meaning_firmware_crashed(),
        143 => text::meaning_not_initialised(),
        156 => text::meaning_part_retired(),
        167 => text::meaning_bus_silent(),
        175 => text::meaning_memory_system(),
        _ => {
            let words = gpuwhy_knowledge::xid(number).map_or("?", |fact| fact.meaning.as_str());
            text::meaning_other(words)
        }
    }
}

fn advise(card: &Card, number: u32, action: Option<FirstAction>, draft: &mut Draft) {
    let target = report::target(draft);
    draft.advise(Action::LookAgain, target.clone(), text::fix_report());
    match action {
        Some(FirstAction::ResetGpu | FirstAction::Follow154) => {
            draft.advise(Action::ResetCard, target.clone(), text::fix_reset(card.index));
            if OF_FIRMWARE.contains(&number) {
                draft.advise(Action::Reboot, target, text::fix_power_cycle());
            }
        }
        Some(FirstAction::Reboot) => draft.advise(Action::Reboot, target, text::fix_power_cycle()),
        Some(FirstAction::CheckPower) => draft.advise(Action::ServiceHardware, target, text::fix_power()),
        Some(FirstAction::UpdateSw) => draft.advise(Action::UpdateDriver, target, text::fix_update()),
        _ if number == 32 || number == 80 => {
            draft.advise(Action::ServiceHardware, target, text::fix_bus());
        }
        _ => draft.advise(Action::Watch, target, text::fix_watch()),
    }
}
