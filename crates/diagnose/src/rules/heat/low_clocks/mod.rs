//! `low-clocks`: a card under load runs slowly, and no reason but a setting, or none at all, is given.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::ClockReasons;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Severity;

use super::clocks::{
    clock_evidence, clock_share, felt, is_under_load, judged, lasting_reasons, megahertz, seconds_lost,
};
use crate::draft::{Draft, machine_subject};
use crate::evidence::{busy, flag, normal, once, power, reader, with_normal};
use crate::facts::culprit;
use crate::facts::peers;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/low_clocks.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::LowClocks,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[Signal::SmClock, Signal::ClockReasons, Signal::GpuBusy, Signal::PowerRatio, Signal::Peers],
    },
    check,
};

/// The P-state from which on a card rests; `GeForce` cards compute in P2, which is well.
const RESTING_STATE: u32 = 5;
/// Words in names of products whose highest clock is above what they reach under load.
const BOOSTING: &[&str] = &["GeForce", "RTX", "TITAN", "Quadro"];
/// A card with at most this share of samples without a kernel is under steady load.
const FEW_ZEROS: f64 = 0.02;

/// Why a clock counts as low.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Low {
    /// The card stays in a state in which it should rest.
    RestingState(u32),
    /// Somebody set the clocks.
    Set,
    /// Far below the highest, for no reason.
    NoReason,
    /// Below the cards of the same product under the same load, for no reason.
    BelowPeers { peers: f64 },
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let groups = peers::same_products(scene);
    for card in judged(scene).filter(|card| is_steady(card, limits)) {
        if !card.sm_clock.is_known() {
            continue;
        }
        let peers = groups.iter().find(|group| group.iter().any(|one| one.index == card.index));
        let peers = peers.and_then(|group| peers_clock(group, card, limits));
        if let Some(low) = low(card, peers, limits) {
            findings.report(judge(scene, card, low, limits));
        }
    }
}

/// Returns whether a card has had work without a gap: short bursts do not raise the clocks.
fn is_steady(card: &Card, limits: &Limits) -> bool {
    is_under_load(card, limits) && card.busy.known().is_some_and(|busy| busy.zeros <= FEW_ZEROS)
}

/// Returns the clock of the others of the same product under load, when this card's is odd among them.
fn peers_clock(group: &[&Card], card: &Card, limits: &Limits) -> Option<f64> {
    let loaded: Vec<&Card> = group.iter().copied().filter(|one| is_steady(one, limits)).collect();
    let odd = peers::odd_cards(&loaded, 1.0 - limits.peer_clock_share_min, |one| {
        Some(one.sm_clock.known()?.mean.0)
    });
    odd.into_iter().find(|(one, odd)| one.index == card.index && odd.is_low()).map(|(_, odd)| odd.others)
}

fn low(card: &Card, peers: Option<f64>, limits: &Limits) -> Option<Low> {
    if has_another_reason(card, limits) {
        return None;
    }
    let share = clock_share(card);
    let is_far_below = share.is_some_and(|share| share < least_share(card, limits));
    if let Some(state) = card.performance_state.known()
        && *state >= RESTING_STATE
        && is_far_below
    {
        return Some(Low::RestingState(*state));
    }
    if is_far_below && lasting_reasons(card).has(ClockReasons::APPLICATION_CLOCKS) {
        return Some(Low::Set);
    }
    if is_held_back(card, limits) {
        return None;
    }
    if is_far_below {
        return Some(Low::NoReason);
    }
    peers.map(|peers| Low::BelowPeers { peers })
}

/// Returns the share of the highest clock that a healthy card reaches under load.
fn least_share(card: &Card, limits: &Limits) -> f64 {
    let boosts = card.name.known().is_some_and(|name| BOOSTING.iter().any(|word| name.contains(word)));
    if boosts { limits.boost_clocks_share_max } else { limits.low_clocks_share_max }
}

/// Returns whether the card gives any reason but rest and a setting: power, heat, a brake, a group of cards, or one that
/// only a newer driver knows.
fn has_another_reason(card: &Card, limits: &Limits) -> bool {
    const NO_REASON: u64 = ClockReasons::IDLE | ClockReasons::APPLICATION_CLOCKS;
    let shares = &card.reason_shares;
    let counted = [
        &shares.software_power_cap,
        &shares.sync_boost,
        &shares.software_thermal,
        &shares.hardware_thermal,
        &shares.power_brake,
    ];
    lasting_reasons(card).0 & !NO_REASON != 0 || counted.iter().any(|share| felt(share, limits).is_some())
}

/// Returns whether the card counts time for which something that no reason names held it back: the board's own limit,
/// or its voltage, which is what usually ends the boost of `GeForce` cards.
fn is_held_back(card: &Card, limits: &Limits) -> bool {
    let shares = &card.violation_shares;
    let shares = [&shares.power, &shares.thermal, &shares.board_limit, &shares.reliability];
    shares.iter().any(|share| felt(share, limits).is_some())
}

fn judge(scene: &Scene, card: &Card, low: Low, limits: &Limits) -> Draft {
    let summary = match low {
        Low::RestingState(state) => text::summary_state(state),
        Low::Set => text::summary_set(),
        Low::NoReason => text::summary(),
        Low::BelowPeers { .. } => text::summary_peers(),
    };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity(card, low));
    if let Some(evidence) = clock_evidence(scene, card, least_share(card, limits)) {
        draft.agree(3.0, evidence);
    }
    if let Some(clock) = card.sm_clock.known() {
        draft.rest_on(clock);
    }
    if let Some(trend) = card.busy.known() {
        draft.agree(1.0, busy(scene, trend, None));
        draft.rest_on(trend);
    }
    weigh_reason(scene, card, low, limits, &mut draft);
    if let Some(ratio) = card.power_ratio().known() {
        draft.mention(power(scene, card, *ratio, None));
    }
    draft.finding.impact.gpu_seconds = seconds_lost(scene, card, limits);
    if low == Low::Set {
        let set = card.sm_clock.known().map_or(0, |clock| megahertz(clock.max.0));
        draft = draft.group(format!("clocks set to {set}"), machine_subject(scene));
    }
    advise(card, low, &mut draft);
    let (culprits, pids) = culprit::at_work_on(scene, card, limits);
    draft.culprits(culprits, pids)
}

/// Clocks that the factory set on old cards are worth knowing, no more.
fn severity(card: &Card, low: Low) -> Severity {
    let product = card.name.known().and_then(|name| gpuwhy_knowledge::card(name));
    let is_old = product.is_some_and(|product| !product.is_ampere_or_later());
    if low == Low::Set && is_old { Severity::Note } else { Severity::Warn }
}

/// Weighs what the card says of the reason.
fn weigh_reason(scene: &Scene, card: &Card, low: Low, limits: &Limits, draft: &mut Draft) {
    let reader = reader(scene, Reader::Nvml);
    match low {
        Low::RestingState(state) => {
            draft.agree(2.0, once(Signal::ClockReasons, state, Unit::Count, reader, text::state(state)));
        }
        Low::Set => draft.agree(2.0, flag(Signal::ClockReasons, reader, text::set())),
        Low::NoReason => match card.clock_reasons.absence() {
            None => draft.agree_by(2.0, 0.7, flag(Signal::ClockReasons, reader, text::no_reason())),
            Some(absence) => draft.unseen(3.0, Signal::ClockReasons, absence),
        },
        Low::BelowPeers { peers } => {
            let own = card.sm_clock.known().map_or(0.0, |clock| clock.mean.0);
            let share = Percent(own / peers * 100.0);
            let words = text::peers(megahertz(peers), share);
            let evidence = once(Signal::Peers, share.0, Unit::Percent, reader, words);
            let usual = normal(Comparison::AtLeast, limits.peer_clock_share_min * 100.0);
            draft.agree_by(3.0, 0.5, with_normal(evidence, usual));
        }
    }
}

fn advise(card: &Card, low: Low, draft: &mut Draft) {
    let target = vec![Target { kind: SubjectKind::Card, id: draft.finding.subject.id.clone() }];
    match low {
        Low::Set => draft.advise(Action::ResetClocks, target, text::fix_set(card.shown())),
        Low::RestingState(_) | Low::NoReason | Low::BelowPeers { .. } => {
            draft.advise(Action::ResetClocks, target.clone(), text::fix_reset_clocks(card.shown()));
            draft.advise(Action::ServiceHardware, target, text::fix_power_cycle());
        }
    }
}
