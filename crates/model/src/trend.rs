//! What a series of values looked like over a window.

use serde::{Deserialize, Serialize};

use crate::sample::TimedValue;
use crate::units::Quantity;

/// A dip is a stretch below this part of the series' 90th percentile.
const DIP_BELOW: f64 = 0.5;

/// An outline has at most this many points.
const OUTLINE_POINTS: usize = 12;

/// A series of values, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, bound(deserialize = "T: Default + Deserialize<'de>"))]
pub struct Trend<T> {
    /// Newest value.
    pub last: T,
    /// Mean.
    pub mean: T,
    /// Smallest value.
    pub min: T,
    /// Largest value.
    pub max: T,
    /// Standard deviation of the population.
    pub stddev: T,
    /// 10th percentile.
    pub p10: T,
    /// 90th percentile.
    pub p90: T,
    /// Share of values that are zero, 0 to 1.
    pub zeros: f64,
    /// Longest run of zeros, in seconds.
    pub longest_zeros_s: f64,
    /// Stretches in which the value falls below half of its 90th percentile, and comes back.
    pub dips: Dips,
    /// Least-squares slope, in the unit per second.
    pub slope_per_s: f64,
    /// The series in few points, for what its sum cannot tell: whether it rises all the time, or rose once.
    pub outline: Outline<T>,
    /// How many distinct time stamps the series has.
    pub n: usize,
    /// Seconds from the first value to the last.
    pub span_s: f64,
}

/// Stretches of low values between high ones.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Dips {
    /// How many.
    pub number: usize,
    /// Their mean length in seconds.
    pub length_s: f64,
}

/// A series in few points, oldest first: each the median of a stretch, all stretches with about as many values.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outline<T> {
    /// How many of the points there are.
    number: usize,
    /// Seconds since the series' first value, on the mean of each stretch.
    seconds: [f64; OUTLINE_POINTS],
    /// Median of each stretch.
    medians: [T; OUTLINE_POINTS],
}

impl<T: Quantity> Outline<T> {
    /// Returns the points, oldest first: seconds since the series' first value, and the number in the quantity's unit.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let medians = self.medians.iter().map(|median| median.number());
        self.seconds.iter().copied().zip(medians).take(self.number)
    }

    /// Draws the outline of values that stand in the order of their time.
    fn of(values: &[TimedValue]) -> Self {
        let mut outline = Self::default();
        let Some(first) = values.first() else {
            return outline;
        };
        let number = values.len().min(OUTLINE_POINTS);
        outline.number = number;
        for place in 0..number {
            let stretch = &values[place * values.len() / number..(place + 1) * values.len() / number];
            let seconds: f64 = stretch.iter().map(|timed| seconds_between(*first, *timed)).sum();
            let mut sorted: Vec<f64> = stretch.iter().map(|timed| timed.value).collect();
            sorted.sort_by(f64::total_cmp);
            outline.seconds[place] = seconds / stretch.len() as f64;
            outline.medians[place] = T::from_number(percentile(&sorted, 0.5));
        }
        outline
    }
}

impl<T: Quantity> Trend<T> {
    /// Sums up a series; values with the same time stamp count once. Returns nothing for an empty series.
    pub fn of(series: &[TimedValue]) -> Option<Self> {
        let mut values: Vec<TimedValue> =
            series.iter().copied().filter(|timed| timed.value.is_finite()).collect();
        values.sort_by_key(|timed| timed.time_us);
        values.dedup_by_key(|timed| timed.time_us);
        let (first, last) = (*values.first()?, *values.last()?);
        let n = values.len();
        let mean = values.iter().map(|timed| timed.value).sum::<f64>() / n as f64;
        let variance = values.iter().map(|timed| (timed.value - mean).powi(2)).sum::<f64>() / n as f64;
        let mut sorted: Vec<f64> = values.iter().map(|timed| timed.value).collect();
        sorted.sort_by(f64::total_cmp);
        let p90 = percentile(&sorted, 0.9);
        let number = T::from_number;
        Some(Self {
            last: number(last.value),
            mean: number(mean),
            min: number(sorted[0]),
            max: number(sorted[n - 1]),
            stddev: number(variance.sqrt()),
            p10: number(percentile(&sorted, 0.1)),
            p90: number(p90),
            zeros: values.iter().filter(|timed| timed.value == 0.0).count() as f64 / n as f64,
            longest_zeros_s: longest_run_s(&values, |value| value == 0.0),
            dips: dips(&values, p90 * DIP_BELOW),
            slope_per_s: slope_per_s(&values, mean),
            outline: Outline::of(&values),
            n,
            span_s: seconds_between(first, last),
        })
    }
}

/// Returns the seconds from one value's time stamp to another's.
fn seconds_between(earlier: TimedValue, later: TimedValue) -> f64 {
    later.time_us.saturating_sub(earlier.time_us) as f64 / 1e6
}

/// Returns a percentile of sorted values, interpolated between neighbours.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor(), place.ceil());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "places lie within the slice"
    )]
    let (low, high) = (sorted[below as usize], sorted[above as usize]);
    low + (high - low) * (place - below)
}

/// Returns the longest stretch of values that match, from the first of them to the last, in seconds.
fn longest_run_s(values: &[TimedValue], matches: impl Fn(f64) -> bool) -> f64 {
    let mut longest = 0.0_f64;
    let mut start: Option<TimedValue> = None;
    for timed in values {
        if !matches(timed.value) {
            start = None;
            continue;
        }
        let begin = *start.get_or_insert(*timed);
        longest = longest.max(seconds_between(begin, *timed));
    }
    longest
}

/// Finds the stretches below a level that begin and end inside the series.
fn dips(values: &[TimedValue], level: f64) -> Dips {
    let mut lengths: Vec<f64> = Vec::new();
    let mut fell_at: Option<TimedValue> = None;
    let mut was_high = false;
    for timed in values {
        if timed.value < level {
            if was_high {
                fell_at = Some(*timed);
            }
            was_high = false;
            continue;
        }
        if let Some(begin) = fell_at.take() {
            lengths.push(seconds_between(begin, *timed));
        }
        was_high = true;
    }
    let number = lengths.len();
    let mean_s = if number == 0 { 0.0 } else { lengths.iter().sum::<f64>() / number as f64 };
    Dips { number, length_s: mean_s }
}

/// Returns the least-squares slope per second; 0 for a single point in time.
fn slope_per_s(values: &[TimedValue], mean: f64) -> f64 {
    let first = values[0];
    let seconds: Vec<f64> = values.iter().map(|timed| seconds_between(first, *timed)).collect();
    let mean_s = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let spread: f64 = seconds.iter().map(|second| (second - mean_s).powi(2)).sum();
    if spread == 0.0 {
        return 0.0;
    }
    let together: f64 =
        seconds.iter().zip(values).map(|(second, timed)| (second - mean_s) * (timed.value - mean)).sum();
    together / spread
}

#[cfg(test)]
mod tests {
    use super::Trend;
    use crate::sample::TimedValue;
    use crate::units::Percent;

    fn series(values: &[f64]) -> Vec<TimedValue> {
        values
            .iter()
            .zip(0..)
            .map(|(value, second)| TimedValue { time_us: second * 1_000_000, value: *value })
            .collect()
    }

    #[test]
    fn saw_tooth_shows_zeros_and_dips() {
        let trend = Trend::<Percent>::of(&series(&[90.0, 0.0, 0.0, 90.0, 80.0, 0.0, 90.0])).unwrap();
        assert_eq!(trend.n, 7);
        assert!((trend.span_s - 6.0).abs() < 1e-9);
        assert!((trend.zeros - 3.0 / 7.0).abs() < 1e-9);
        assert!((trend.longest_zeros_s - 1.0).abs() < 1e-9);
        assert_eq!(trend.dips.number, 2);
        assert!((trend.dips.length_s - 1.5).abs() < 1e-9);
    }

    #[test]
    fn slope_is_per_second() {
        let trend = Trend::<Percent>::of(&series(&[0.0, 2.0, 4.0, 6.0])).unwrap();
        assert!((trend.slope_per_s - 2.0).abs() < 1e-9);
        assert!((trend.mean.0 - 3.0).abs() < 1e-9);
    }

    #[test]
    fn an_outline_keeps_the_shape_and_drops_the_spike() {
        let mut values = [vec![10.0; 30], vec![50.0; 30]].concat();
        values[7] = 90.0;
        let outline = Trend::<Percent>::of(&series(&values)).unwrap().outline;
        let points: Vec<(f64, f64)> = outline.points().collect();
        assert_eq!(points.len(), 12);
        assert!((points[0].0 - 2.0).abs() < 1e-9 && (points[11].0 - 57.0).abs() < 1e-9);
        let medians: Vec<f64> = points.iter().map(|point| point.1).collect();
        assert_eq!(medians, [[10.0; 6], [50.0; 6]].concat());

        let short = Trend::<Percent>::of(&series(&[1.0, 2.0, 4.0])).unwrap().outline;
        assert_eq!(short.points().collect::<Vec<_>>(), [(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)]);
    }

    #[test]
    fn repeated_time_stamps_count_once() {
        let mut repeated = series(&[5.0, 7.0]);
        repeated.extend(series(&[5.0, 7.0]));
        assert_eq!(Trend::<Percent>::of(&repeated).unwrap().n, 2);
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(Trend::<Percent>::of(&[]), None);
    }
}
