//! `bar1-exhausted`: the frame buffer has room, the processor's window into it has none.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};

use crate::draft::Draft;
use crate::evidence::{holds, memory_used, normal, once, reader, with_normal};
use crate::facts::cards::{Holder, displays, holders, whole_cards};
use crate::facts::culprit;
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
        signals: &[Signal::Bar1Used, Signal::VramUsed, Signal::VramByProcess],
    },
    check,
};

/// A window of this size is that of a card without a resizable one.
const SMALL_WINDOW: Bytes = Bytes::from_mebibytes(256);

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in whole_cards(scene) {
        let Some(window) = card.bar1.known().filter(|window| window.total.0 > 0) else {
            continue;
        };
        let share = window.used.0 as f64 / window.total.0 as f64;
        if share < limits.bar1_used_share_min {
            continue;
        }
        let memory_is_full =
            card.memory_share().known().is_some_and(|share| *share >= limits.full_memory_share_min);
        if memory_is_full {
            // Without room behind it, the window is not what is short.
            findings.rule_out(Signal::VramUsed, Some(card.index));
            continue;
        }
        findings.report(judge(scene, card, window.used, window.total, limits));
    }
}

fn judge(scene: &Scene, card: &Card, used: Bytes, total: Bytes, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, card, text::summary(total, used));
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
