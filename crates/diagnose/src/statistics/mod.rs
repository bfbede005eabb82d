//! Robust statistics: figures that a few wild values do not move.
//!
//! Pure functions over plain numbers. What is not finite is left out; where too little is left, the answer is none.

mod change;
mod outlier;
mod slope;

pub(crate) use change::{ChangePoint, change_point};
pub(crate) use outlier::{OddOne, odd_ones_out};
pub(crate) use slope::robust_slope;

/// By this factor, the median absolute deviation of normally distributed values is their standard deviation.
const DEVIATIONS_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Returns the middle value, or the mean of the two in the middle; none without a value.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted[middle];
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

/// Returns how far values lie from their median, on the median (MAD); none without a value.
pub(crate) fn median_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

/// Returns at most `most` of some items, evenly spread over them, in their order: what is quadratic stays small.
fn thinned<T: Copy>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most {
        return items.to_vec();
    }
    (0..most).map(|place| items[place * items.len() / most]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use statrs::statistics::{Data, OrderStatistics};

    use super::{median, median_deviation, thinned};

    /// The same figure by another library.
    fn oracle_median(values: &[f64]) -> f64 {
        Data::new(values.to_vec()).median()
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_the_oracle(values in vec(-1e6..1e6_f64, 1..60)) {
            let wanted = oracle_median(&values);
            prop_assert!((median(&values).unwrap() - wanted).abs() <= 1e-6);
            let distances: Vec<f64> = values.iter().map(|value| (value - wanted).abs()).collect();
            prop_assert!((median_deviation(&values).unwrap() - oracle_median(&distances)).abs() <= 1e-6);
        }
    }

    #[test]
    fn wild_values_move_nothing() {
        assert_eq!(median(&[3.0, 1.0, f64::NAN, 2.0, 1e12]), Some(2.5));
        assert_eq!(median_deviation(&[10.0, 11.0, 9.0, 10.0, 1e9]), Some(1.0));
        assert_eq!(median(&[f64::INFINITY]), None);
        assert_eq!(median_deviation(&[]), None);
    }

    #[test]
    fn thinning_keeps_order_and_spread() {
        let items: Vec<usize> = (0..1000).collect();
        let kept = thinned(&items, 10);
        assert_eq!(kept, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
        assert_eq!(thinned(&items[..3], 10), [0, 1, 2]);
    }
}
