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

/// What any board draws at full clocks whatever its kernels do, in watts.
const BOARD_W: f64 = 25.0;
/// For a board with a limit of some hundred watts that is no more than this share of it. A T4 (70 W) draws 25 to 30 W
/// with its clocks up and nothing to do, more than a third of its limit; an A100 a sixth.
const BOARD_SHARE: f64 = 0.12;
/// A card that draws this share of its power limit has low clocks because of it.
const AT_POWER_LIMIT: f64 = 0.9;

/// What a card draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// As a share of its power limit: what a person reads off the card.
    pub(crate) of_limit: f64,
    /// The same without what only a small board draws for being on: what its kernels are judged by.
    pub(crate) for_work: f64,
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
    let usually = limit.0 * limits.idle_power_share;
    let idle = idle_power(scene, card, limits).map_or(usually, |idle| idle.0);
    // A small board that rests has low clocks, and draws more before any kernel does something.
    let for_being_on = for_being_on(*limit);
    let idle = if for_being_on > 0.0 { idle.max(for_being_on + usually) } else { idle };
    let room = (limit.0 - idle).max(limit.0 * 0.1);
    Ok(Effort {
        of_limit: power.mean.0 / limit.0,
        for_work: for_work(power.mean, *limit),
        above_idle: ((power.mean.0 - idle) / room).clamp(0.0, 1.5),
    })
}

/// Returns mean power as a share of the enforced limit, both without what only a small board draws for being on.
pub(crate) fn power_for_work(card: &Card) -> Reading<f64> {
    let limit = card.power_limits.enforced.as_ref().copied();
    card.power.as_ref().copied().and_then(|power| limit.map(|limit| for_work(power.mean, limit)))
}

/// Returns power as a share of its limit, both without what only a small board draws for being on.
pub(crate) fn for_work(power: Watts, limit: Watts) -> f64 {
    let for_being_on = for_being_on(limit);
    ((power.0 - for_being_on) / (limit.0 - for_being_on)).max(0.0)
}

/// Returns the share of its limit that a person reads off a card whose power for work has this share.
pub(crate) fn as_read(card: &Card, share: f64) -> f64 {
    let Some(limit) = card.power_limits.enforced.known().filter(|limit| limit.0 > 0.0) else {
        return share;
    };
    let for_being_on = for_being_on(*limit);
    (share * (limit.0 - for_being_on) + for_being_on) / limit.0
}

/// Returns what only a small board draws for being on, in watts; nothing for others.
fn for_being_on(limit: Watts) -> f64 {
    (BOARD_W - limit.0 * BOARD_SHARE).max(0.0).min(limit.0 / 4.0)
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
    let is_hollow = effort.for_work < power_share_max && !is_kept_slow(card, limits);
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
    // At its power limit a small card runs far below its highest clock, and works as hard as it can.
    let is_at_limit = card.power_ratio().known().is_some_and(|ratio| *ratio >= AT_POWER_LIMIT);
    is_felt || shows_a_brake || !is_at_limit && clock_share(card).is_some_and(|share| share < LOW_CLOCK_SHARE)
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
    fn a_small_board_is_judged_by_what_it_draws_for_work() {
        let share = |power: f64, limit: f64| for_work(Watts(power), Watts(limit));
        // A kernel that only spins: a T4, an L4, an A100.
        assert!(
            share(29.0, 70.0) < 0.3 && share(31.0, 72.0) < 0.35 && (share(80.0, 400.0) - 0.2).abs() < 1e-9
        );
        assert!((share(70.0, 70.0) - 1.0).abs() < 1e-9 && share(5.0, 70.0).abs() < 1e-9);
        assert!(share(8.0, 10.0) > 0.5);
        let mut small = card(0, 29.0, 100.0);
        small.power_limits.enforced = Reading::Known(Watts(70.0));
        assert!((as_read(&small, share(29.0, 70.0)) - 29.0 / 70.0).abs() < 1e-9);
        assert!((as_read(&card(0, 80.0, 100.0), 0.35) - 0.35).abs() < 1e-9);
        let effort = effort(&Scene::default(), &small, &Limits::default()).unwrap();
        assert!(effort.above_idle < 0.15 && (effort.of_limit - 29.0 / 70.0).abs() < 1e-9);
    }

    #[test]
    fn low_clocks_at_the_power_limit_are_no_brake() {
        let mut card = card(0, 396.0, 100.0);
        card.clocks.sm_max = Reading::Known(gpuwhy_model::units::Megahertz(1590.0));
        card.clocks.sm = Reading::Known(gpuwhy_model::units::Megahertz(720.0));
        assert!(!is_kept_slow(&card, &Limits::default()));
        card.power = Reading::Known(Trend { mean: Watts(150.0), ..Trend::default() });
        assert!(is_kept_slow(&card, &Limits::default()));
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
