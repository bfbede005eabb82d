//! `xid-hw-fault`: the driver reports an error of the card, its bus or its firmware, and the card still answers.

mod asked;

use gpuwhy_knowledge::{FirstAction, Severity as Weight};
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::sample::Vendor;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use super::{offered, report};
use crate::draft::Draft;
use crate::evidence::{once, reader, reported};
use crate::facts::cards::{holders, with_unlisted};
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
        signals: &[
            Signal::KernelLog,
            Signal::XidEvents,
            Signal::CardAnswers,
            Signal::Peers,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// Which of several errors of one burst is the one to act on: earlier ones explain later ones.
const PRECEDENCE: &[u32] = &[119, 120, 175, 143, 158, 167, 173, 169, 62, 46, 110, 156, 109];
/// Errors of the card's own processor.
const OF_FIRMWARE: &[u32] = &[62, 119, 120, 143, 169, 175];
/// `NVML_ERROR_RESET_REQUIRED`: `nvidia-smi` shows `[GPU requires reset]`.
const RESET_REQUIRED: u32 = 16;
/// Answers that name the part which makes a card need its reset.
const OF_A_PART: &[Cause] = &[Cause::GpuLost, Cause::EccUncorrectable, Cause::RowRemapPending];
/// So many different programs that fail on one card, and so many processes of them, are no chance.
const PROGRAMS_MIN: usize = 2;
const PROCESSES_MIN: usize = 3;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in with_unlisted(scene).filter(|card| card.vendor == Vendor::Nvidia) {
        let refusal = reset_required(card);
        if !card.handle.is_known() && refusal.is_none() {
            continue;
        }
        let reports = xids::of_card(scene, card, limits);
        let of_kind =
            |kind: Kind| reports.iter().filter(move |report| xids::kind(report.number, card) == kind);
        if let Some(first) = of_kind(Kind::Hardware).min_by_key(|report| place(report.number)) {
            let mut draft = judge(scene, card, *first, of_kind(Kind::Hardware).count());
            if let Some(call) = &refusal {
                draft.agree(2.0, refused(scene, call));
            }
            findings.report(draft);
        } else if let Some(call) = refusal {
            let has_part = of_kind(Kind::Link).next().is_some()
                || findings.answer_about(OF_A_PART, card.index).is_some();
            if !has_part {
                findings.report(judge_refusal(scene, card, &call));
            }
        } else if let Some(draft) = asked::judge(scene, card, &reports, limits) {
            findings.report(draft);
        } else if let Some(newest) = of_kind(Kind::Program).next_back() {
            judge_programs(scene, card, *newest, findings);
        }
    }
    let summary = |number: u32| text::summary(meaning(number), number);
    for (_, mut draft) in offered::drafts(&RULE, scene, Kind::Hardware, Severity::Fault, summary) {
        draft.advise(Action::LookAgain, report::target(&draft), text::fix_report());
        findings.report(draft);
    }
}

/// Returns the call by which the driver said that the card is of no use before a reset; none when none said so.
fn reset_required(card: &Card) -> Option<String> {
    let absences = [
        card.handle.absence(),
        card.memory.absence(),
        card.busy.absence(),
        card.power.absence(),
        card.temperature.absence(),
        card.clients.absence(),
    ];
    absences.into_iter().flatten().find_map(|absence| match absence {
        Absence::Failed(Failure::Nvml { call, code: RESET_REQUIRED }) => Some(call),
        _ => None,
    })
}

fn refused(scene: &Scene, call: &str) -> Evidence {
    let code = u64::from(RESET_REQUIRED);
    let words = if scene.provenance.source == SourceKind::Text {
        text::told_to_be_reset(code)
    } else {
        text::must_be_reset(call, code)
    };
    once(Signal::CardAnswers, RESET_REQUIRED, Unit::Code, reader(scene, Reader::Nvml), words)
}

/// Judges a card that wants a reset, and of which nothing else tells why.
fn judge_refusal(scene: &Scene, card: &Card, call: &str) -> Draft {
    let mut draft = Draft::about_card(&RULE, card, text::summary_reset()).severity(Severity::Fault);
    draft.agree(4.0, refused(scene, call));
    match scene.events.absence() {
        Some(absence @ Absence::Denied(_)) => draft.unseen(1.0, Signal::KernelLog, absence),
        _ => draft.silent(1.0),
    }
    draft.finding.detail.insert("kind".to_owned(), "reset-required".to_owned());
    let holders = holders(scene, card);
    draft.processes = culprit::pids(&holders);
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s, bytes_held: 0, blocked: holders.len() as u64 };
    let target = report::target(&draft);
    draft.advise(Action::LookAgain, target.clone(), text::fix_report());
    draft.advise(Action::ResetCard, target.clone(), text::fix_reset(card.called()));
    draft.advise(Action::Reboot, target, text::fix_power_cycle());
    draft
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
    let others: Vec<&Card> = report::answering(scene).filter(|other| other.index != card.index).collect();
    let elsewhere = others
        .iter()
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
    if others.is_empty() {
        // Whoever has one card only fails there, with all of his programs.
        draft.only_possible();
    }
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
            draft.advise(Action::ResetCard, target.clone(), text::fix_reset(card.called()));
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
