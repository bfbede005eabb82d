//! Where a series changed its level.

use super::{median, thinned};

/// More values than these tell nothing more, and every pair of them is looked at.
const VALUES_MAX: usize = 200;
/// Fewer values than these show no change: every order of them is likely by chance.
const VALUES_MIN: usize = 8;

/// The place at which a series most probably changed its level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChangePoint {
    /// Number of values before the change; of many, of those that were looked at.
    pub(crate) before: usize,
    /// Median before.
    pub(crate) level_before: f64,
    /// Median after.
    pub(crate) level_after: f64,
    /// How probable so clear a change is in a series without one, 0 to 1 (Pettitt's approximation).
    pub(crate) chance: f64,
}

/// Returns the place at which the level of a series changed most clearly, by ranks (Pettitt 1979); none for a short one.
///
/// It always names the clearest place: whether that is a change, `chance` says.
pub(crate) fn change_point(values: &[f64]) -> Option<ChangePoint> {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let values = thinned(&values, VALUES_MAX);
    let number = values.len();
    if number < VALUES_MIN {
        return None;
    }
    let (mut before, mut largest, mut sum) = (1, 0.0_f64, 0.0_f64);
    for place in 0..number - 1 {
        // Moving one value from the later part to the earlier one changes the sum by its own rank alone.
        sum += values.iter().map(|other| sign(other - values[place])).sum::<f64>();
        if sum.abs() > largest {
            (before, largest) = (place + 1, sum.abs());
        }
    }
    let size = number as f64;
    let exponent = -6.0 * largest.powi(2) / (size.powi(3) + size.powi(2));
    Some(ChangePoint {
        before,
        level_before: median(&values[..before])?,
        level_after: median(&values[before..])?,
        chance: (2.0 * exponent.exp()).min(1.0),
    })
}

/// Returns 1, -1, or 0 for zero.
fn sign(difference: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference.signum() }
}

#[cfg(test)]
mod tests {
    use statrs::stats_tests::Alternative;
    use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

    use super::{VALUES_MIN, change_point};

    /// Numbers without any order, always the same.
    fn noise(number: usize) -> Vec<f64> {
        (0..number).map(|place| ((place * 7919 + 13) % 101) as f64 / 100.0).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let mut values = noise(40);
        for value in &mut values[20..] {
            *value += 3.0;
        }
        let change = change_point(&values).unwrap();
        assert_eq!(change.before, 20);
        assert!(change.level_after - change.level_before > 2.5 && change.chance < 0.001, "{change:?}");
    }

    #[test]
    fn the_place_is_the_one_at_which_both_parts_differ_most_for_the_oracle() {
        let mut values = noise(30);
        for value in &mut values[18..] {
            *value += 1.5;
        }
        // U of the earlier part, off its mean: the same statistic as Pettitt's, up to a factor.
        let off_mean = |before: usize| {
            let (one, other) = values.split_at(before);
            let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
            let (u, _) = mannwhitneyu(one, other, method, Alternative::TwoSided).unwrap();
            (u - (one.len() * other.len()) as f64 / 2.0).abs()
        };
        let clearest = (1..values.len()).max_by(|one, two| off_mean(*one).total_cmp(&off_mean(*two)));
        assert_eq!(Some(change_point(&values).unwrap().before), clearest);
    }

    #[test]
    fn noise_and_a_flat_line_did_not_change() {
        assert!(change_point(&noise(40)).unwrap().chance > 0.3);
        assert!((change_point(&[5.0; 20]).unwrap().chance - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_spike_is_no_change() {
        let mut values = vec![1.0; 20];
        values[10] = 1000.0;
        assert!(change_point(&values).unwrap().chance > 0.5);
    }

    #[test]
    fn short_series_show_nothing() {
        assert_eq!(change_point(&[1.0; VALUES_MIN - 1]), None);
        assert!(change_point(&[1.0; VALUES_MIN]).is_some());
    }
}
