//! `power-throttle`: the card's own power limit, or its power reading, lowers the clocks.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::ClockReasons;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Share, Unit, Watts};
use gpuwhy_model::verdict::Severity;

use super::clocks::{
    clock_evidence, clock_share, is_under_load, judged, lasting_reasons, megahertz, reason_evidence,
    seconds_lost, works,
};
use crate::draft::{Draft, machine_subject};
use crate::evidence::{flag, normal, once, over, power, reader, with_normal};
use crate::facts::culprit;
use crate::facts::peers;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use crate::statistics::median;

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/power_throttle.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::PowerThrottle,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::PowerLimit,
            Signal::ClockReasons,
            Signal::PowerRatio,
            Signal::Power,
            Signal::SmClock,
            Signal::Peers,
        ],
    },
    check,
};

/// A card at this share of its limit is held by it, where no counter says so.
const AT_THE_LIMIT: f64 = 0.95;
/// No card draws so many times its limit: the reading is wrong.
const IMPOSSIBLE_RATIO: f64 = 1.5;
/// As many other members of the job must be seen before one is called slow.
const PEERS_MIN: usize = 2;
/// Limits that differ by less are alike.
const ALIKE: f64 = 0.02;

/// What is wrong about the power of a card.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrong {
    /// The limit is below the product's default.
    Lowered { enforced: Watts, default: Watts },
    /// Something out of band keeps the limit below what was asked for.
    Capped { enforced: Watts, requested: Watts },
    /// The card reads a power that it cannot draw.
    Reading,
    /// At the same limit, the other cards of the job run faster.
    SlowerThanPeers { peers: f64 },
}

/// How it is known that the limit lowers the clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    Counted(Share),
    Bit,
    AtTheLimit(f64),
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in judged(scene).filter(|card| works(card, limits)) {
        let Some(held) = held(card, limits) else {
            continue;
        };
        match wrong(scene, card, held, limits) {
            Some(wrong) => findings.report(judge(scene, card, wrong, held, limits)),
            // At full load, the limit holds the clocks of every healthy card.
            None if is_under_load(card, limits) && card.power_limits.default.is_known() => {
                findings.rule_out(Signal::PowerLimit, Some(card.index));
            }
            None => {}
        }
    }
}

/// Returns how it is known that the limit lowers the clocks; none when it does not.
fn held(card: &Card, limits: &Limits) -> Option<Held> {
    if let Some(share) = card.reason_shares.software_power_cap.known() {
        return (share.0 > limits.slowed_share_max).then_some(Held::Counted(*share));
    }
    if lasting_reasons(card).has(ClockReasons::SOFTWARE_POWER_CAP) {
        return Some(Held::Bit);
    }
    if card.clock_reasons.is_known() {
        return None;
    }
    let ratio = card.power_ratio().into_known()?;
    (ratio >= AT_THE_LIMIT).then_some(Held::AtTheLimit(ratio))
}

fn wrong(scene: &Scene, card: &Card, held: Held, limits: &Limits) -> Option<Wrong> {
    if is_reading_impossible(card) {
        return Some(Wrong::Reading);
    }
    if matches!(held, Held::Counted(share) if share.0 <= limits.heat_share_min) {
        // A limit that is hardly ever reached costs next to nothing, whoever lowered it.
        return None;
    }
    let power = &card.power_limits;
    let enforced = power.enforced.known().copied();
    let is_below = |enforced: Watts, other: Watts| enforced.0 < other.0 * limits.power_limit_share_min;
    if let (Some(enforced), Some(requested)) = (enforced, power.requested.known().copied())
        && is_below(enforced, requested)
    {
        return Some(Wrong::Capped { enforced, requested });
    }
    if let (Some(enforced), Some(default)) = (enforced, power.default.known().copied())
        && is_below(enforced, default)
    {
        return Some(Wrong::Lowered { enforced, default });
    }
    let is_counted = matches!(held, Held::Counted(_));
    let peers = peers_clock(scene, card, limits).filter(|_| is_counted)?;
    let own = card.sm_clock.known()?.mean.0;
    (own < peers * limits.peer_clock_share_min).then_some(Wrong::SlowerThanPeers { peers })
}

/// Returns whether the card reads a power that it cannot draw: its own control believes the number too.
fn is_reading_impossible(card: &Card) -> bool {
    if matches!(card.power, Reading::Failed(Failure::Implausible { .. })) {
        return true;
    }
    let highest = card.power_limits.maximum.known().or(card.power_limits.enforced.known());
    match (card.power.known(), highest) {
        (Some(power), Some(highest)) => power.mean.0 > highest.0 * IMPOSSIBLE_RATIO,
        _ => false,
    }
}

/// Returns the middle clock of the other cards on which the same job works at the same limit.
fn peers_clock(scene: &Scene, card: &Card, limits: &Limits) -> Option<f64> {
    let jobs = peers::jobs(scene, limits);
    let cards = jobs
        .iter()
        .map(|job| job.cards(scene))
        .find(|cards| cards.iter().any(|one| one.index == card.index))?;
    let limit = card.power_limits.enforced.known()?.0;
    let own_ratio = card.power_ratio().into_known()?;
    // Who only waits for others draws little, at the highest clocks.
    let works_as_hard = |other: &Card| {
        let least = own_ratio - limits.member_difference_share_min;
        other.power_ratio().known().is_some_and(|ratio| *ratio >= least)
    };
    let is_alike = |other: &&&Card| {
        let other_limit = other.power_limits.enforced.known().map_or(0.0, |limit| limit.0);
        other.index != card.index
            && other.name == card.name
            && is_under_load(other, limits)
            && (other_limit - limit).abs() <= limit * ALIKE
            && works_as_hard(other)
    };
    let clocks: Vec<f64> =
        cards.iter().filter(is_alike).filter_map(|other| Some(other.sm_clock.known()?.mean.0)).collect();
    if clocks.len() < PEERS_MIN { None } else { median(&clocks) }
}

fn judge(scene: &Scene, card: &Card, wrong: Wrong, held: Held, limits: &Limits) -> Draft {
    let (summary, group) = match wrong {
        Wrong::Lowered { enforced, default } => (text::summary_lowered(default, enforced), Some(enforced)),
        Wrong::Capped { enforced, requested } => (text::summary_capped(enforced, requested), Some(enforced)),
        Wrong::Reading => (text::summary_reading(), None),
        Wrong::SlowerThanPeers { .. } => (text::summary_slower(), None),
    };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(Severity::Warn);
    weigh_wrong(scene, card, wrong, limits, &mut draft);
    weigh_held(scene, held, limits, &mut draft);
    match clock_evidence(scene, card, limits.low_clocks_share_max) {
        Some(evidence) if clock_share(card).is_some_and(|share| share < AT_THE_LIMIT) => {
            draft.agree(1.0, evidence);
        }
        Some(evidence) => {
            draft.mention(evidence);
            draft.silent(1.0);
        }
        None => draft.silent(0.5),
    }
    if let Some(ratio) = card.power_ratio().known() {
        draft.mention(power(scene, card, *ratio, None));
    }
    draft.finding.impact.gpu_seconds = seconds_lost(scene, card, limits);
    // The same limit on several cards is one decision of one person.
    if let Some(limit) = group {
        draft = draft.group(format!("power limit {:.0}", limit.0), machine_subject(scene));
    }
    advise(card, wrong, &mut draft);
    let (culprits, pids) = culprit::at_work_on(scene, card, limits);
    draft.culprits(culprits, pids)
}

fn weigh_wrong(scene: &Scene, card: &Card, wrong: Wrong, limits: &Limits, draft: &mut Draft) {
    let reader = reader(scene, Reader::Nvml);
    let limit = |watts: Watts, least: Watts, words| {
        let evidence = once(Signal::PowerLimit, watts.0, Unit::Watts, reader, words);
        with_normal(evidence, normal(Comparison::AtLeast, least.0 * limits.power_limit_share_min))
    };
    match wrong {
        Wrong::Lowered { enforced, default } => {
            draft.agree(3.0, limit(enforced, default, text::lowered(default, enforced)));
        }
        Wrong::Capped { enforced, requested } => {
            draft.agree(3.0, limit(enforced, requested, text::capped(enforced, requested)));
        }
        Wrong::Reading => {
            let evidence = match &card.power {
                Reading::Known(power) => {
                    let words = text::impossible(power.mean);
                    let evidence = once(Signal::Power, power.mean.0, Unit::Watts, reader, words);
                    over(evidence, power.n, power.span_s)
                }
                Reading::Failed(Failure::Implausible { value }) => {
                    let words = text::impossible_value(value.as_str());
                    once(Signal::Power, value.as_str(), Unit::Text, reader, words)
                }
                _ => flag(Signal::Power, reader, text::impossible_value("?")),
            };
            draft.agree(3.0, evidence);
        }
        Wrong::SlowerThanPeers { peers } => {
            let own = card.sm_clock.known().map_or(0.0, |clock| clock.mean.0);
            let share = Percent(own / peers * 100.0);
            let words = text::slower(megahertz(peers), share);
            let evidence = once(Signal::Peers, share.0, Unit::Percent, reader, words);
            let usual = normal(Comparison::AtLeast, limits.peer_clock_share_min * 100.0);
            // Healthy cards differ a little, and so does what the members do.
            draft.agree_by(3.0, 0.7, with_normal(evidence, usual));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
    }
}

fn weigh_held(scene: &Scene, held: Held, limits: &Limits, draft: &mut Draft) {
    match held {
        Held::Counted(share) => {
            let words = text::held(share);
            draft.agree(2.0, reason_evidence(scene, share, limits.slowed_share_max, words));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
        Held::Bit => {
            let evidence = flag(Signal::ClockReasons, reader(scene, Reader::Nvml), text::bit());
            let evidence = over(evidence, scene.window.samples, scene.window.span_s);
            draft.agree_by(2.0, if scene.window.samples > 1 { 0.9 } else { 0.7 }, evidence);
        }
        Held::AtTheLimit(ratio) => {
            let words = text::at_the_limit(Percent(ratio * 100.0));
            let reader = reader(scene, Reader::Nvml);
            draft.agree_by(2.0, 0.7, once(Signal::PowerRatio, ratio * 100.0, Unit::Percent, reader, words));
        }
    }
}

fn advise(card: &Card, wrong: Wrong, draft: &mut Draft) {
    let target = vec![Target { kind: SubjectKind::Card, id: draft.finding.subject.id.clone() }];
    match wrong {
        Wrong::Lowered { default, .. } => {
            draft.advise(Action::SetPowerLimit, target, text::fix_lowered(default, card.shown()));
        }
        Wrong::Capped { .. } => draft.advise(Action::ServiceHardware, target, text::fix_capped(card.shown())),
        Wrong::Reading => draft.advise(Action::ServiceHardware, target, text::fix_reading(card.shown())),
        Wrong::SlowerThanPeers { .. } => draft.advise(Action::Watch, target, text::fix_slower(card.shown())),
    }
}
