//! `bar1-exhausted`: the frame buffer has room, the processor's window into it has none.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::{CardMemory, KernelFact, KernelLine};
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};

use crate::draft::Draft;
use crate::evidence::{holds, memory_used, normal, once, reader, with_normal};
use crate::facts::cards::{Holder, displays, holders, whole_cards};
use crate::facts::{culprit, kernel_log};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/bar1_exhausted.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::Bar1Exhausted,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::Bar1Used, Signal::VramUsed, Signal::VramByProcess, Signal::KernelLog],
    },
    check,
};

/// A window of this size is that of a card without a resizable one.
const SMALL_WINDOW: Bytes = Bytes::from_mebibytes(256);

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in whole_cards(scene) {
        let is_full = |window: &&CardMemory| {
            window.total.0 > 0 && window.used.0 as f64 / window.total.0 as f64 >= limits.bar1_used_share_min
        };
        let is_now = card.bar1.known().is_some_and(|window| is_full(&window));
        // Of several texts the earlier one shows the trouble, and the last one often what helped.
        let at_most = card.bar1_most.known().filter(|_| scene.provenance.source == SourceKind::Text);
        let Some(window) = card.bar1.known().filter(|_| is_now).or(at_most).filter(is_full) else {
            continue;
        };
        let memory_is_full =
            card.memory_share().known().is_some_and(|share| *share >= limits.full_memory_share_min);
        if memory_is_full {
            // Without room behind it, the window is not what is short.
            findings.rule_out(Signal::VramUsed, Some(card.index));
            continue;
        }
        findings.report(judge(scene, card, (window.used, window.total), is_now, limits));
    }
    if scene.provenance.source == SourceKind::Text {
        said(scene, findings);
    }
}

/// Reports what the driver says in a log, where no card shows it.
fn said(scene: &Scene, findings: &mut Findings) {
    let says_so = |line: &&KernelLine| {
        !line.before_boot && matches!(line.fact, Some(KernelFact::MemoryWindowFull { .. }))
    };
    let Some(line) = kernel_log::lines(scene).iter().rev().find(says_so) else {
        return;
    };
    if findings.answers().any(|draft| draft.cause() == Cause::Bar1Exhausted) {
        return;
    }
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_said());
    // The line does not say which card.
    draft.finding.cards = whole_cards(scene).map(|card| card.index).collect();
    draft.balance.past_decides = true;
    let words = text::log_says(line.text.as_str());
    let evidence = once(Signal::KernelLog, line.text.as_str(), Unit::Text, Reader::KernelLog, words);
    draft.agree_by(3.0, 0.6, evidence);
    if whole_cards(scene).any(|card| card.bar1.is_known()) {
        draft.only_possible();
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_programs());
    findings.report(draft);
}

fn judge(scene: &Scene, card: &Card, (used, total): (Bytes, Bytes), is_now: bool, limits: &Limits) -> Draft {
    let summary = if is_now { text::summary(total, used) } else { text::summary_was(total, used) };
    let mut draft = Draft::about_card(&RULE, card, summary);
    let most = total.0 as f64 * limits.bar1_used_share_min;
    let words = text::window_used(total, used);
    let evidence = once(Signal::Bar1Used, used.0, Unit::Bytes, reader(scene, Reader::Nvml), words);
    draft.agree(3.0, with_normal(evidence, normal(Comparison::Less, most)));
    match (card.memory.known(), card.memory.absence()) {
        (Some(memory), _) => {
            let free = normal(Comparison::Less, memory.total.0 as f64 * limits.full_memory_share_min);
            draft.agree(1.5, with_normal(memory_used(scene, memory.used, memory.total), free));
        }
        (None, Some(absence)) => draft.unseen(1.5, Signal::VramUsed, absence),
        (None, None) => {}
    }
    let mut programs: Vec<Holder<'_>> = holders(scene, card);
    programs.extend(displays(scene, card));
    match programs.first() {
        Some(first) => draft.agree(0.5, holds(scene, first)),
        None => draft.silent(0.5),
    }
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_programs());
    if total.0 <= SMALL_WINDOW.0 {
        draft.advise(Action::ServiceHardware, Vec::new(), text::fix_resizable());
    }
    let culprits = culprit::culprits(scene, &programs);
    draft.culprits(culprits, culprit::pids(&programs))
}
