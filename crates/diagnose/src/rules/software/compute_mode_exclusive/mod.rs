//! `compute-mode-exclusive`: the compute mode keeps programs out of a card that has room.

mod said;
mod taken;

use gpuwhy_model::action::{Action, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessRole, ProcessState};
use gpuwhy_model::scene::{Card, Process, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::{Draft, card_subject};
use crate::evidence::{flag, holds, idle as idle_evidence, once, reader};
use crate::facts::cards::{Holder, displays, holders, is_worth_naming, whole_cards};
use crate::facts::idle::idle;
use crate::facts::mps::is_of_mps;
use crate::facts::unexplained::strangers;
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/compute_mode_exclusive.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::ComputeModeExclusive,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::ComputeMode,
            Signal::VramByProcess,
            Signal::VramUsed,
            Signal::DeviceHolders,
            Signal::GpuIdleFor,
            Signal::ProcessAge,
            Signal::Display,
            Signal::ProgramLog,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    for card in whole_cards(scene) {
        match card.compute_mode.known().map(String::as_str) {
            Some("prohibited") => judge_prohibited(scene, card, findings),
            Some("exclusive_process" | "exclusive_thread") => judge_exclusive(scene, card, limits, findings),
            _ => {}
        }
    }
}

/// Nobody may compute there; that is meant so for a card that shows pictures.
fn judge_prohibited(scene: &Scene, card: &Card, findings: &mut Findings) {
    if card.display_active == Reading::Known(true) || !displays(scene, card).is_empty() {
        findings.rule_out(Signal::Display, Some(card.index));
        return;
    }
    let mut draft = begun(scene, card, "prohibited", text::summary_prohibited());
    let strangers = holders(scene, card);
    if strangers.is_empty() {
        draft
            .agree(1.0, flag(Signal::VramByProcess, reader(scene, Reader::Nvml), text::nobody(card.shown())));
    } else {
        draft.silent(1.0);
    }
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s, ..Impact::default() };
    advise(card, &mut draft);
    findings.report(draft);
}

/// One program may compute there: that keeps others out if it is in.
fn judge_exclusive(scene: &Scene, card: &Card, limits: &Limits, findings: &mut Findings) {
    let inside = holders(scene, card);
    let Some(first) = inside.first() else {
        if let Some(draft) = taken::judge(scene, card, &inside, limits) {
            findings.report(draft);
        }
        return;
    };
    if inside.iter().any(shares_by_server) {
        findings.rule_out(Signal::VramByProcess, Some(card.index));
        return;
    }
    let refused = refused(scene, card);
    if !refused.is_empty() {
        findings.report(keeps_out(scene, card, &inside, &refused));
        return;
    }
    // What holds much is seen to hold it; a mere context looks as if the card were free.
    let is_small = !is_worth_naming(first.bytes(), card, limits) && first.client.memory.is_known();
    if is_small && inside.iter().all(|holder| holder.worked(limits) == Some(false)) {
        findings.report(looks_free(scene, card, first, limits));
    } else if let Some(draft) = taken::judge(scene, card, &inside, limits) {
        findings.report(draft);
    }
}

/// Returns whether a card lets one program in at a time.
fn is_exclusive(card: &Card) -> bool {
    card.compute_mode
        .known()
        .is_some_and(|mode| matches!(mode.as_str(), "exclusive_process" | "exclusive_thread"))
}

/// Returns whether a holder lets others in: the server that shares the card, or one of its clients.
fn shares_by_server(holder: &Holder<'_>) -> bool {
    let is_service = holder.process.is_some_and(|process| process.role == Some(ProcessRole::CardService));
    is_service || is_of_mps(holder.client)
}

/// Returns the processes that have the card open for computing and no context on any card.
fn refused<'scene>(scene: &'scene Scene, card: &'scene Card) -> Vec<&'scene Process> {
    // Inside another pid namespace nobody can be told from the one who is in.
    if scene.machine.viewer.initial_pid_namespace == Reading::Known(false) {
        return Vec::new();
    }
    strangers(scene, card)
        .filter_map(|holder| scene.process(holder.pid))
        .filter(|process| process.state != Reading::Known(ProcessState::Zombie) && !is_a_service(process))
        .collect()
}

fn is_a_service(process: &Process) -> bool {
    names::is_helper(process) || process.role == Some(ProcessRole::Display)
}

fn keeps_out(scene: &Scene, card: &Card, inside: &[Holder<'_>], refused: &[&Process]) -> Draft {
    let waiting: Vec<String> = refused.iter().map(|process| names::called(process)).collect();
    let mut draft =
        begun(scene, card, "refused", text::summary_refused(culprit::called(&inside[0]), waiting.clone()));
    draft.agree(1.5, holds(scene, &inside[0]));
    let words = text::want_in(waiting);
    draft.agree(2.0, once(Signal::DeviceHolders, refused.len(), Unit::Count, Reader::ProcPid, words));
    draft.finding.impact = Impact { blocked: refused.len() as u64, ..Impact::default() };
    advise(card, &mut draft);
    draft.culprits(culprit::culprits(scene, inside), culprit::pids(inside))
}

fn looks_free(scene: &Scene, card: &Card, holder: &Holder<'_>, limits: &Limits) -> Draft {
    let mut draft = begun(scene, card, "held", text::summary_held(culprit::called(holder)));
    draft.agree(1.5, holds(scene, holder));
    match idle(holder) {
        Ok(idle) => {
            draft.agree(1.0, idle_evidence(scene, idle, limits.idle_reserved_s));
            if idle.at_least_s < limits.idle_reserved_s {
                // It may just be starting.
                draft.possible_until(limits.idle_reserved_s - idle.at_least_s + scene.window.span_s);
            }
        }
        Err(_) if scene.provenance.source == SourceKind::Text => draft.silent(1.0),
        Err(absence) => {
            draft.unseen(1.0, Signal::GpuIdleFor, absence);
            draft.possible_until(limits.idle_reserved_s);
        }
    }
    draft.silent(0.5);
    draft.balance.past_decides = true;
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s, ..Impact::default() };
    draft.advise(Action::AskOwner, vec![culprit::target(holder.client.pid)], text::fix_ask());
    advise(card, &mut draft);
    draft.culprits(culprit::culprits(scene, &[*holder]), vec![holder.client.pid])
}

fn begun(scene: &Scene, card: &Card, kind: &str, summary: Text) -> Draft {
    let mut draft = Draft::about_card(&RULE, card, summary).severity(Severity::Warn);
    draft.finding.detail.insert("kind".to_owned(), kind.to_owned());
    let mode = card.compute_mode.known().cloned().unwrap_or_default();
    let words = text::mode(card.shown(), mode.as_str());
    draft.agree(2.5, once(Signal::ComputeMode, mode, Unit::Text, reader(scene, Reader::Nvml), words));
    draft
}

fn advise(card: &Card, draft: &mut Draft) {
    let subject = card_subject(card);
    let target = Target { kind: subject.kind, id: subject.id };
    draft.advise(Action::SetComputeMode, vec![target], text::fix_default(card.shown()));
}
