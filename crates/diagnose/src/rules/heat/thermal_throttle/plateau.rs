//! A series of figures in which heat sets the clock: the temperature stands still at its highest, while clock and power
//! fall.
//!
//! A power limit holds the power still instead; with less work the temperature falls and the clock does not.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Card;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::Quantity;

use crate::statistics::median;

/// Temperatures so close to the highest one stand still, in degrees Celsius.
const STILL_C: f64 = 1.0;
/// No core is cut at a lower temperature, as far as a series alone may tell.
const HOT_C: f64 = 75.0;
/// Fewer values, or a shorter series, do not show that something stands still.
const VALUES_MIN: usize = 12;
const SPAN_MIN_S: f64 = 20.0;
/// So many points of the outlines must be hot.
const POINTS_MIN: usize = 4;
/// The end is the median of so many points.
const POINTS_OF_END: usize = 3;
/// Clock and power fall by at least this share.
const FALL_SHARE_MIN: f64 = 0.05;

/// What a series shows, in megahertz, watts and degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plateau {
    pub(super) temperature: f64,
    pub(super) clock_before: f64,
    pub(super) clock_after: f64,
    pub(super) power_before: f64,
    pub(super) power_after: f64,
}

/// Returns what the series of a card shows, where its source has no reasons for lowered clocks, which know better.
pub(super) fn plateau(card: &Card, limits: &Limits) -> Option<Plateau> {
    if !(card.clock_reasons.is_not_in_source() && card.lasting_clock_reasons.is_not_in_source()) {
        return None;
    }
    let rests = card.busy.known().is_some_and(|busy| busy.p10.0 < limits.busy_percent_min);
    let temperatures = points(&card.temperature)?;
    let (clocks, powers) = (points(&card.sm_clock)?, points(&card.power)?);
    if rests || clocks.len() != temperatures.len() || powers.len() != temperatures.len() {
        return None;
    }
    let temperature = temperatures.iter().copied().fold(0.0, f64::max);
    let hot = temperatures.iter().rev().take_while(|one| temperature - **one <= STILL_C).count();
    if temperature < HOT_C || hot < POINTS_MIN {
        return None;
    }
    let begin = temperatures.len() - hot;
    let (clock_before, clock_after) = fall(&clocks[begin..])?;
    let (power_before, power_after) = fall(&powers[begin..])?;
    let limit = card.power_limits.enforced.known().map(|limit| limit.0);
    let is_at_limit = limit.is_some_and(|limit| power_after > limit * (1.0 - FALL_SHARE_MIN));
    (!is_at_limit).then_some(Plateau { temperature, clock_before, clock_after, power_before, power_after })
}

fn points<T: Quantity>(trend: &Reading<Trend<T>>) -> Option<Vec<f64>> {
    let trend = trend.known().filter(|trend| trend.n >= VALUES_MIN && trend.span_s >= SPAN_MIN_S)?;
    Some(trend.outline.points().map(|(_, value)| value).collect())
}

/// Returns the highest value and the one at the end, if it is much lower and no point at the end is as high again.
fn fall(points: &[f64]) -> Option<(f64, f64)> {
    let after = median(&points[points.len().checked_sub(POINTS_OF_END)?..])?;
    let before = points.iter().take(points.len() - POINTS_OF_END).copied().fold(0.0, f64::max);
    (after > 0.0 && after <= before * (1.0 - FALL_SHARE_MIN)).then_some((before, after))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::limits::Limits;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{ClockReasons, TimedValue};
    use gpuwhy_model::scene::Card;
    use gpuwhy_model::trend::Trend;
    use gpuwhy_model::units::{Quantity, Watts};

    use super::plateau;

    fn series<T: Quantity>(value: impl Fn(f64) -> f64) -> Reading<Trend<T>> {
        let values: Vec<TimedValue> = (0..60_u32)
            .map(|second| TimedValue {
                time_us: u64::from(second) * 1_000_000,
                value: value(f64::from(second)),
            })
            .collect();
        Trend::of(&values).map(Reading::Known).unwrap()
    }

    /// A card that heats up for 20 seconds, and then falls as told.
    fn card(highest: f64, clock_falls: f64, power_falls: f64) -> Card {
        let late = |second: f64| (second - 20.0).max(0.0) / 40.0;
        Card {
            temperature: series(|second| (highest - 20.0 + second).min(highest)),
            sm_clock: series(|second| 1980.0 * (1.0 - clock_falls * late(second))),
            power: series(|second| 400.0 * (1.0 - power_falls * late(second))),
            ..Card::default()
        }
    }

    #[test]
    fn heat_sets_the_clock() {
        let seen = plateau(&card(86.0, 0.2, 0.25), &Limits::default()).unwrap();
        assert!(seen.temperature >= 85.0 && seen.clock_after < 1700.0 && seen.power_after < 330.0);
    }

    #[test]
    fn near_misses_stay_silent() {
        let limits = Limits::default();
        assert_eq!(plateau(&card(86.0, 0.2, 0.0), &limits), None, "a power limit");
        assert_eq!(plateau(&card(86.0, 0.0, 0.0), &limits), None, "a steady load");
        assert_eq!(plateau(&card(62.0, 0.2, 0.25), &limits), None, "cool");
        let mut cools = card(86.0, 0.2, 0.25);
        cools.temperature = series(|second| 86.0 - second / 4.0);
        assert_eq!(plateau(&cools, &limits), None, "less work");
        let mut limited = card(86.0, 0.2, 0.25);
        limited.power_limits.enforced = Reading::Known(Watts(300.0));
        assert_eq!(plateau(&limited, &limits), None, "at the limit that is in force at the end");
        let mut told = card(86.0, 0.2, 0.25);
        told.clock_reasons = Reading::Known(ClockReasons(0));
        assert_eq!(plateau(&told, &limits), None, "the card itself says otherwise");
        let mut unseen = card(86.0, 0.2, 0.25);
        unseen.power = Reading::default();
        assert_eq!(plateau(&unseen, &limits), None, "the power was not seen");
    }
}
