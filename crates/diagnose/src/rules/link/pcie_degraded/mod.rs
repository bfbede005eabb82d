//! `pcie-degraded`: the PCIe link of a card is narrower or slower than it should be, or full of errors.

mod exchange;
mod trouble;

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::Vendor;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{BytesPerSecond, Percent, Unit};
use gpuwhy_model::verdict::Severity;

use self::trouble::{Trouble, capacity, traffic, traffic_share, troubles};
use crate::draft::{Draft, machine_subject};
use crate::evidence::{busy, normal, once, over, reader, with_normal};
use crate::facts::cards::{Activity, activity, whole_cards};
use crate::facts::culprit;
use crate::facts::peers;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/pcie_degraded.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::PcieDegraded,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::PcieLink, Signal::PcieErrors, Signal::PcieTraffic, Signal::GpuBusy, Signal::Peers],
    },
    check,
};

/// A degraded link costs a card that works at least this share of the time.
const LEAST_LOSS: f64 = 0.01;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    exchange::check(scene, findings);
    let groups = peers::same_products(scene);
    for card in whole_cards(scene) {
        if card.vendor != Vendor::Nvidia || !card.handle.is_known() || is_joined_otherwise(card) {
            continue;
        }
        let peers = groups
            .iter()
            .find(|group| group.iter().any(|one| one.index == card.index))
            .map_or(&[][..], Vec::as_slice);
        let troubles = troubles(scene, card, peers, limits);
        if let Some(first) = troubles.first() {
            findings.report(judge(scene, card, *first, &troubles, limits));
        }
    }
}

/// Returns whether PCIe is not what joins the card with its processor.
fn is_joined_otherwise(card: &Card) -> bool {
    let product = card.name.known().and_then(|name| gpuwhy_knowledge::card(name));
    product.is_some_and(gpuwhy_knowledge::CardFact::is_joined_to_its_processor)
}

fn judge(scene: &Scene, card: &Card, first: Trouble, troubles: &[Trouble], limits: &Limits) -> Draft {
    let is_note = troubles.iter().all(|trouble| trouble.is_choice());
    let severity = if is_note { Severity::Note } else { Severity::Warn };
    let mut draft = Draft::about_card(&RULE, card, summary(first)).severity(severity);
    for trouble in troubles {
        weigh(scene, card, *trouble, &mut draft);
    }
    if let (Some(traffic), Some(share)) = (traffic(card), traffic_share(card)) {
        let words = text::traffic(Percent(share * 100.0), traffic);
        let source = if card.pcie_traffic.is_by_counters { Reader::NvmlCounters } else { Reader::Nvml };
        let reader = reader(scene, source);
        let evidence = once(Signal::PcieTraffic, traffic.0, Unit::BytesPerSecond, reader, words);
        draft.mention(over(evidence, scene.window.samples, scene.window.span_s));
    }
    if !is_note {
        draft.finding.impact.gpu_seconds = seconds_lost(scene, card, first, limits);
    }
    if first.is_choice() {
        // The same slots for the same cards: one board, one choice.
        draft = draft.group(format!("board {first:?}"), machine_subject(scene));
    }
    advise(card, first, troubles, &mut draft);
    let (culprits, pids) = culprit::at_work_on(scene, card, limits);
    draft.culprits(culprits, pids)
}

fn summary(trouble: Trouble) -> Text {
    match trouble {
        Trouble::Narrow { width, expected, .. } => text::summary_narrow(expected, width),
        Trouble::Slow { generation, expected, .. } => text::summary_slow(expected, generation),
        Trouble::SlowSlot { generation, expected, .. } => text::summary_slow_slot(expected, generation),
        Trouble::Replays { .. } | Trouble::Corrected { .. } => text::summary_errors(),
        Trouble::Uncorrected { .. } => text::summary_uncorrected(),
    }
}

/// Weighs one thing that is wrong with the link.
fn weigh(scene: &Scene, card: &Card, trouble: Trouble, draft: &mut Draft) {
    let link = |value: u32, least: u32, words| -> Evidence {
        let reader = reader(scene, Reader::Nvml);
        let evidence = once(Signal::PcieLink, value, Unit::Count, reader, words);
        with_normal(evidence, normal(Comparison::AtLeast, f64::from(least)))
    };
    let errors = |count: u64, most: f64, words| -> Evidence {
        let evidence = once(Signal::PcieErrors, count, Unit::Count, Reader::NvmlCounters, words);
        let evidence = over(evidence, scene.window.samples, scene.window.span_s);
        with_normal(evidence, normal(Comparison::AtMost, most))
    };
    match trouble {
        Trouble::Narrow { width, expected, against, .. } => {
            draft.agree_by(
                4.0,
                trouble.strength(),
                link(width, expected, text::narrow(against.text(), expected, width)),
            );
        }
        Trouble::Slow { generation, expected, against, .. } => {
            let words = text::slow(against.text(), expected, generation);
            draft.agree_by(4.0, trouble.strength(), link(generation, expected, words));
            if let Some(trend) = card.busy.known() {
                draft.mention(busy(scene, trend, None));
            }
        }
        Trouble::SlowSlot { generation, expected, against, .. } => {
            let words = text::slow_slot(against.text(), expected, generation);
            draft.agree_by(4.0, trouble.strength(), link(generation, expected, words));
        }
        Trouble::Replays { count, allowed } => {
            draft.agree_by(4.0, trouble.strength(), errors(count, allowed, text::replays(count)));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
        Trouble::Corrected { count, allowed } => {
            draft.agree_by(4.0, trouble.strength(), errors(count, allowed, text::corrected(count)));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
        Trouble::Uncorrected { count } => {
            draft.agree_by(4.0, trouble.strength(), errors(count, 0.0, text::uncorrected(count)));
        }
    }
}

/// Returns the card time that the link costs: what it carries now took less time on the link that should be there.
fn seconds_lost(scene: &Scene, card: &Card, trouble: Trouble, limits: &Limits) -> f64 {
    if activity(card, limits) != Activity::Works {
        return 0.0;
    }
    let missing = match (capacity(card), trouble.capacity_expected(card)) {
        (Some(BytesPerSecond(now)), Some(BytesPerSecond(expected))) if expected > 0.0 => {
            (1.0 - now / expected).clamp(0.0, 1.0)
        }
        _ => 0.0,
    };
    let loss = missing * traffic_share(card).unwrap_or(0.0);
    scene.window.span_s * loss.clamp(LEAST_LOSS, 1.0)
}

fn advise(card: &Card, first: Trouble, troubles: &[Trouble], draft: &mut Draft) {
    let target = vec![Target { kind: SubjectKind::Card, id: draft.finding.subject.id.clone() }];
    let address = card.pci_address.known().map_or("ADDRESS", String::as_str);
    if first.is_choice() {
        draft.advise(Action::MoveWork, Vec::new(), text::fix_board());
        return;
    }
    draft.advise(Action::LookAgain, target.clone(), text::fix_look(address, card.shown()));
    let is_about_errors = troubles.iter().any(|trouble| trouble.is_error());
    let words = if is_about_errors { text::fix_errors() } else { text::fix_seat() };
    draft.advise(Action::ServiceHardware, target, words);
}
