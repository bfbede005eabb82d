//! `display-process`: screens and desktops hold memory that somebody computes with.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{flag, holds, memory_used, normal, once, reader, with_normal};
use crate::facts::cards::{Holder, displays, holders, is_full, is_worth_naming, whole_cards};
use crate::facts::culprit;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/display_process.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::DisplayProcess,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::VramByProcess, Signal::VramUsed, Signal::Display, Signal::GpuWorkByProcess],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in whole_cards(scene) {
        let shown = displays(scene, card);
        if shown.is_empty() {
            continue;
        }
        let bytes = Bytes(shown.iter().map(|holder| holder.bytes().0).sum());
        if bytes.0 < limits.display_bytes_worth_naming {
            // A picture needs some memory.
            findings.rule_out(Signal::VramByProcess, Some(card.index));
            continue;
        }
        if let Some(hurt) = hurt(scene, card, bytes, limits) {
            findings.report(judge(scene, card, &shown, bytes, hurt, limits));
        } else {
            findings.rule_out(Signal::VramUsed, Some(card.index));
        }
    }
}

/// Whom it hurts that pictures take so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hurt {
    /// The card has no room left.
    Full,
    /// Somebody computes there and has less for it.
    Computing,
    /// Nobody yet: much of the card is taken before anybody computes.
    Nobody,
}

fn hurt(scene: &Scene, card: &Card, bytes: Bytes, limits: &Limits) -> Option<Hurt> {
    let total = card.memory.known()?.total.0.max(1);
    let takes_much = bytes.0 as f64 / total as f64 >= limits.display_share_worth_naming;
    if !takes_much {
        return None;
    }
    if is_full(card, limits) == Some(true) {
        return Some(Hurt::Full);
    }
    let computes = holders(scene, card)
        .iter()
        .any(|holder| is_worth_naming(holder.bytes(), card, limits) || holder.worked(limits) == Some(true));
    Some(if computes { Hurt::Computing } else { Hurt::Nobody })
}

fn judge(
    scene: &Scene,
    card: &Card,
    shown: &[Holder<'_>],
    bytes: Bytes,
    hurt: Hurt,
    limits: &Limits,
) -> Draft {
    let summary = match hurt {
        Hurt::Full => text::summary_full(bytes),
        Hurt::Computing => text::summary_computing(bytes),
        Hurt::Nobody => text::summary(bytes),
    };
    let severity = if hurt == Hurt::Full { Severity::Warn } else { Severity::Note };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity);
    let words = text::together(bytes);
    let usual = normal(Comparison::Less, limits.display_bytes_worth_naming as f64);
    let evidence = once(Signal::VramByProcess, bytes.0, Unit::Bytes, reader(scene, Reader::Nvml), words);
    draft.agree(3.0, with_normal(evidence, usual));
    for holder in shown.iter().filter(|holder| holder.bytes().0 * 4 >= bytes.0) {
        draft.mention(holds(scene, holder));
    }
    if let Some(memory) = card.memory.known() {
        draft.agree(1.0, memory_used(scene, memory.used, memory.total));
    }
    match &card.display_active {
        Reading::Known(true) => {
            draft.agree(0.5, flag(Signal::Display, reader(scene, Reader::Nvml), text::shows_a_picture()));
        }
        _ => draft.silent(0.5),
    }
    draft.finding.impact = Impact { bytes_held: bytes.0, ..Impact::default() };
    draft.advise(Action::MoveWork, Vec::new(), text::fix_move());
    draft.advise(Action::AskOwner, Vec::new(), text::fix_session());
    draft.culprits(culprit::culprits(scene, shown), culprit::pids(shown))
}
