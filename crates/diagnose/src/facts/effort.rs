//! How hard a card works, by what it draws: utilization alone says only that some kernel was there.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure, Reading};
use gpuwhy_model::sample::ClockReasons;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Percent, Watts};

use super::cards::{Activity, activity, whole_cards};

/// Clocks below this part of the highest are no full clocks: what a card draws then says little of its kernels.
const LOW_CLOCK_SHARE: f64 = 0.6;
/// A value that stays within this part of its newest has stood still.
const STILL_SHARE: f64 = 0.08;

/// What a card draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// As a share of its power limit.
    pub(crate) of_limit: f64,
    /// As a share of what lies between doing nothing and its power limit.
    pub(crate) above_idle: f64,
}

/// Returns how hard a card works, by what it draws.
pub(crate) fn effort(scene: &Scene, card: &Card, limits: &Limits) -> Result<Effort, Absence> {
    let missing = |reading: Option<Absence>| reading.unwrap_or(Absence::Failed(Failure::NotInSource));
    let Some(power) = card.power.known() else {
        return Err(missing(card.power.absence()));
    };
    let Some(limit) = card.power_limits.enforced.known().filter(|limit| limit.0 > 0.0) else {
        return Err(missing(card.power_limits.enforced.absence()));
    };
    let idle = idle_power(scene, card, limits).map_or(limit.0 * limits.idle_power_share, |idle| idle.0);
    let room = (limit.0 - idle).max(limit.0 * 0.1);
    Ok(Effort {
        of_limit: power.mean.0 / limit.0,
        above_idle: ((power.mean.0 - idle) / room).clamp(0.0, 1.5),
    })
}

/// Returns what an equal card of this machine draws while it rests; none when every one works.
fn idle_power(scene: &Scene, card: &Card, limits: &Limits) -> Option<Watts> {
    let name = card.name.known()?;
    whole_cards(scene)
        .filter(|other| other.name.known() == Some(name) && activity(other, limits) == Activity::Rests)
        .filter_map(|other| other.power.known())
        .map(|power| power.mean)
        .min_by(|one, other| one.0.total_cmp(&other.0))
}

/// Returns the share of time in which a card could have worked and, by what it draws, did not.
pub(crate) fn lost_share(effort: &Effort, limits: &Limits) -> f64 {
    (1.0 - effort.above_idle / limits.saturated_power_share_min).clamp(0.0, 1.0)
}

/// A card on which kernels run nearly all the time while it draws little.
#[derive(Clone, Copy)]
pub(crate) struct HollowCard<'scene> {
    pub(crate) card: &'scene Card,
    pub(crate) busy: &'scene Trend<Percent>,
    pub(crate) effort: Effort,
}

/// Returns a card as a hollow one: busy for at least some of the time, at less than some share of its power limit, with
/// nothing else that would keep its power low.
pub(crate) fn hollow<'scene>(
    scene: &Scene,
    card: &'scene Card,
    busy_percent_min: f64,
    power_share_max: f64,
    limits: &Limits,
) -> Option<HollowCard<'scene>> {
    let busy = card.busy.known().filter(|busy| busy.mean.0 >= busy_percent_min)?;
    let effort = effort(scene, card, limits).ok()?;
    let is_hollow = effort.of_limit < power_share_max && !is_kept_slow(card, limits);
    is_hollow.then_some(HollowCard { card, busy, effort })
}

/// Returns whether something keeps a card's clocks low: then it draws little however hard its kernels work.
pub(crate) fn is_kept_slow(card: &Card, limits: &Limits) -> bool {
    let shares = &card.reason_shares;
    let counters = [&shares.hardware_thermal, &shares.software_thermal, &shares.power_brake];
    let is_felt =
        counters.iter().any(|share| share.known().is_some_and(|share| share.0 > limits.slowed_share_max));
    let counters_are_known = counters.iter().any(|share| share.is_known());
    let braking = ClockReasons::HARDWARE_THERMAL | ClockReasons::SOFTWARE_THERMAL | ClockReasons::POWER_BRAKE;
    let bits = card.clock_reasons.known().map_or(0, |reasons| reasons.0);
    let shows_a_brake = !counters_are_known && bits & braking != 0;
    is_felt || shows_a_brake || clock_share(card).is_some_and(|share| share < LOW_CLOCK_SHARE)
}

/// Returns the multiprocessor clock over the window as a share of its highest.
pub(crate) fn clock_share(card: &Card) -> Option<f64> {
    let highest = card.clocks.sm_max.known().filter(|highest| highest.0 > 0.0)?;
    let clock = match (card.sm_clock.known(), &card.clocks.sm) {
        (Some(trend), _) => trend.mean,
        (None, Reading::Known(clock)) => *clock,
        (None, _) => return None,
    };
    Some(clock.0 / highest.0)
}

/// Returns for how long, up to the end of the window, a value has stood still, in seconds; 0 for a single look.
pub(crate) fn still_for_s<T: gpuwhy_model::units::Quantity>(trend: &Trend<T>) -> f64 {
    let points: Vec<(f64, f64)> = trend.outline.points().collect();
    let Some((_, newest)) = points.last().copied() else {
        return 0.0;
    };
    let has_moved = |value: f64| (value - newest).abs() > STILL_SHARE * newest.abs().max(1.0);
    match points.iter().rposition(|(_, value)| has_moved(*value)) {
        None => trend.span_s,
        // The change lies somewhere between this point and the next.
        Some(place) => points.get(place + 1).map_or(0.0, |(seconds, _)| (trend.span_s - seconds).max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::sample::{PowerLimits, TimedValue};
    use gpuwhy_model::units::Share;

    use super::*;

    fn card(index: u32, watts: f64, busy: f64) -> Card {
        Card {
            index,
            name: Reading::Known("NVIDIA A100".to_owned()),
            power: Reading::Known(Trend { mean: Watts(watts), ..Trend::default() }),
            power_limits: PowerLimits { enforced: Reading::Known(Watts(400.0)), ..PowerLimits::default() },
            busy: Reading::Known(Trend { mean: Percent(busy), n: 30, ..Trend::default() }),
            ..Card::default()
        }
    }

    #[test]
    fn idle_power_is_learned_from_an_equal_card_that_rests() {
        let limits = Limits::default();
        let alone = Scene { cards: vec![card(0, 100.0, 100.0)], ..Scene::default() };
        let beside = Scene { cards: vec![card(0, 100.0, 100.0), card(1, 80.0, 0.0)], ..Scene::default() };
        let by_limit = effort(&alone, &alone.cards[0], &limits).unwrap();
        let learned = effort(&beside, &beside.cards[0], &limits).unwrap();
        assert!((by_limit.of_limit - 0.25).abs() < 1e-9 && (by_limit.above_idle - 60.0 / 360.0).abs() < 1e-9);
        assert!((learned.above_idle - 20.0 / 320.0).abs() < 1e-9);
    }

    #[test]
    fn a_braked_card_is_not_hollow() {
        let limits = Limits::default();
        let mut card = card(0, 100.0, 100.0);
        let scene = Scene::default();
        assert!(hollow(&scene, &card, 90.0, 0.5, &limits).is_some());
        card.reason_shares.power_brake = Reading::Known(Share(0.3));
        assert!(hollow(&scene, &card, 90.0, 0.5, &limits).is_none());
        card.reason_shares.power_brake = Reading::Unsupported;
        card.clocks.sm_max = Reading::Known(gpuwhy_model::units::Megahertz(1400.0));
        card.clocks.sm = Reading::Known(gpuwhy_model::units::Megahertz(300.0));
        assert!(hollow(&scene, &card, 90.0, 0.5, &limits).is_none());
    }

    #[test]
    fn standing_still_counts_from_the_last_change() {
        let trend = |value: fn(u64) -> f64| {
            let series: Vec<TimedValue> =
                (0..61).map(|time| TimedValue { time_us: time * 1_000_000, value: value(time) }).collect();
            Trend::<Watts>::of(&series).unwrap()
        };
        assert!((still_for_s(&trend(|_| 70.0)) - 60.0).abs() < 1e-9);
        let since = still_for_s(&trend(|time| if time < 30 { 300.0 } else { 70.0 }));
        assert!((25.0..=30.0).contains(&since), "{since}");
        assert!(still_for_s(&trend(|time| if time % 2 == 0 { 60.0 } else { 100.0 })) <= 60.0);
        assert!(still_for_s(&Trend::<Watts>::of(&[]).unwrap_or_default()) < 1e-9);
    }
}
