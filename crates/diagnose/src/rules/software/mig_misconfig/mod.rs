//! `mig-misconfig`: multi-instance mode is on and nothing can run, or a change of it waits for a reset.

use gpuwhy_model::action::{Action, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::{Draft, card_subject, machine_subject};
use crate::evidence::{flag, memory_used, once, reader};
use crate::facts::cards::{holders, is_worth_naming, used_for_computing, whole_cards};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/mig_misconfig.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::MigMisconfig,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::MigMode, Signal::VramUsed, Signal::Container],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in whole_cards(scene) {
        let Some(is_on) = card.mig_enabled.known().copied() else {
            continue;
        };
        if let Some(will_be_on) = card.mig_pending.known().copied().filter(|will_be| *will_be != is_on) {
            findings.report(waits_for_a_reset(scene, card, will_be_on));
            continue;
        }
        if !is_on {
            continue;
        }
        if scene.cards.iter().any(|part| part.parent == Some(card.index)) {
            findings.rule_out(Signal::MigMode, Some(card.index));
            continue;
        }
        findings.report(is_empty(scene, card, limits));
    }
}

/// The mode was changed, and the card is still in the old one.
fn waits_for_a_reset(scene: &Scene, card: &Card, will_be_on: bool) -> Draft {
    let summary = if will_be_on { text::summary_pending_on() } else { text::summary_pending_off() };
    let words = if will_be_on { text::pending_on(card.shown()) } else { text::pending_off(card.shown()) };
    let mut draft = begun(scene, card, "pending", summary);
    draft.agree(3.0, once(Signal::MigMode, will_be_on, Unit::Flag, reader(scene, Reader::Nvml), words));
    let target = card_target(card);
    if holders(scene, card).is_empty() {
        draft.advise(Action::ResetCard, vec![target], text::fix_reset(card.shown()));
    } else {
        draft.advise(Action::Watch, vec![target.clone()], text::fix_wait(card.shown()));
        draft.advise(Action::ResetCard, vec![target], text::fix_reset(card.shown()));
    }
    draft
}

/// The mode is on and no instance is there: CUDA finds nothing to run on.
fn is_empty(scene: &Scene, card: &Card, limits: &Limits) -> Draft {
    let mut draft = begun(scene, card, "no-instances", text::summary_empty());
    let words = text::is_on(card.shown());
    draft.agree(2.0, once(Signal::MigMode, true, Unit::Flag, reader(scene, Reader::Nvml), words));
    let words = text::no_instance(card.shown());
    draft.agree(2.0, once(Signal::MigMode, 0_u64, Unit::Count, reader(scene, Reader::Nvml), words));
    if scene.machine.container.is_known() {
        // Instances that were not passed in cannot be listed here.
        draft.silent(2.0);
        draft.mention(flag(Signal::Container, Reader::ProcPid, text::in_a_container()));
    }
    if let (Some(used), Some(memory)) = (used_for_computing(card), card.memory.known())
        && is_worth_naming(used, card, limits)
    {
        draft.contradict(2.0, memory_used(scene, used, memory.total));
    }
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s, ..Impact::default() };
    let target = card_target(card);
    draft.advise(Action::ConfigureMig, vec![target.clone()], text::fix_create(card.shown()));
    draft.advise(Action::ConfigureMig, vec![target], text::fix_turn_off(card.shown()));
    draft
}

fn begun(scene: &Scene, card: &Card, kind: &str, summary: gpuwhy_model::text::Text) -> Draft {
    let mut draft = Draft::about_card(&RULE, card, summary)
        .severity(Severity::Warn)
        .group(format!("mig {kind}"), machine_subject(scene));
    draft.finding.detail.insert("kind".to_owned(), kind.to_owned());
    draft
}

fn card_target(card: &Card) -> Target {
    let subject = card_subject(card);
    Target { kind: subject.kind, id: subject.id }
}
