//! Which of a few alike things is not like the others.

use super::{DEVIATIONS_TO_SIGMA, median, median_deviation};

/// A value this many standard deviations of the others away is none of them.
const SIGMAS: f64 = 4.0;

/// One of a group that is not like the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OddOne {
    /// Its place in the group.
    pub(crate) place: usize,
    /// Its value.
    pub(crate) value: f64,
    /// Median of the others.
    pub(crate) others: f64,
}

impl OddOne {
    /// Returns whether it lies below the others.
    pub(crate) fn is_low(&self) -> bool {
        self.value < self.others
    }
}

/// Returns the members of a small group that differ from the others, in their order.
///
/// A member is odd when it lies further from the median of the others than `least_share` of that median and than what
/// the others scatter. Three members are needed: of two, nobody knows which is odd. The odd ones are fewer than half of
/// the group: else there is no "others" to be unlike.
pub(crate) fn odd_ones_out(values: &[f64], least_share: f64) -> Vec<OddOne> {
    if values.len() < 3 || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut odd = Vec::new();
    for (place, value) in values.iter().enumerate() {
        let others: Vec<f64> =
            values.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, value)| *value).collect();
        let (Some(middle), Some(deviation)) = (median(&others), median_deviation(&others)) else {
            continue;
        };
        let scatter = SIGMAS * DEVIATIONS_TO_SIGMA * deviation;
        let distance = (value - middle).abs();
        if distance > scatter && distance > least_share * middle.abs() {
            odd.push(OddOne { place, value: *value, others: middle });
        }
    }
    if odd.len() * 2 < values.len() { odd } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::odd_ones_out;

    fn places(values: &[f64], least_share: f64) -> Vec<usize> {
        odd_ones_out(values, least_share).iter().map(|odd| odd.place).collect()
    }

    #[test]
    fn the_slow_card_of_a_few_is_found() {
        assert_eq!(places(&[1410.0, 1405.0, 990.0], 0.1), [2]);
        assert_eq!(places(&[1410.0, 1395.0, 1410.0, 900.0], 0.1), [3]);
        assert_eq!(places(&[1400.0, 1410.0, 1400.0, 1405.0, 700.0, 1410.0, 690.0, 1400.0], 0.1), [4, 6]);
        let odd = odd_ones_out(&[16.0, 16.0, 8.0, 16.0], 0.1);
        assert!(odd[0].is_low() && (odd[0].others - 16.0).abs() < 1e-9);
    }

    #[test]
    fn what_scatters_or_hardly_differs_is_not_odd() {
        assert_eq!(places(&[1410.0, 1410.0, 1410.0, 1350.0], 0.1), [0_usize; 0]);
        assert_eq!(places(&[900.0, 1100.0, 1300.0, 1500.0, 700.0], 0.1), [0_usize; 0]);
    }

    #[test]
    fn two_halves_are_not_odd_and_neither_is_one_of_two() {
        assert_eq!(places(&[100.0, 100.0, 50.0, 50.0], 0.1), [0_usize; 0]);
        assert_eq!(places(&[100.0, 50.0], 0.1), [0_usize; 0]);
        assert_eq!(places(&[100.0, 100.0, f64::NAN], 0.1), [0_usize; 0]);
    }

    #[test]
    fn nothing_beside_something_is_odd() {
        assert_eq!(places(&[0.0, 0.0, 0.0, 4.0], 0.1), [3]);
        assert_eq!(places(&[3.0, 2.9, 3.1, 0.0], 0.1), [3]);
    }
}
