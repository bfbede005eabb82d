//! How fast a series rises, whatever single values do.

use super::{median, thinned};

/// More points than these tell nothing more, and every pair of them is looked at.
const POINTS_MAX: usize = 200;

/// The slope of a series, and how steadily it rises or falls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RobustSlope {
    /// Median slope of all pairs of points (Theil–Sen), in the unit of the values per unit of the places.
    pub(crate) slope: f64,
    /// Share of pairs of which the later point is higher, 0 to 1: 1 for a series that never falls back or stands.
    pub(crate) rising: f64,
    /// Share of pairs of which the later point is lower, 0 to 1.
    pub(crate) falling: f64,
}

/// Returns the robust slope of points `(place, value)` in any order; none where no two places differ.
///
/// Up to 29 % of the values may be wild without moving it. Of many points, some that are evenly spread count.
pub(crate) fn robust_slope(points: &[(f64, f64)]) -> Option<RobustSlope> {
    let mut points: Vec<(f64, f64)> =
        points.iter().copied().filter(|(place, value)| place.is_finite() && value.is_finite()).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let points = thinned(&points, POINTS_MAX);
    let mut slopes = Vec::new();
    for (number, (place, value)) in points.iter().enumerate() {
        for (later_place, later_value) in &points[number + 1..] {
            let distance = later_place - place;
            if distance > 0.0 {
                slopes.push((later_value - value) / distance);
            }
        }
    }
    let share = |matches: fn(&f64) -> bool| {
        slopes.iter().filter(|slope| matches(slope)).count() as f64 / slopes.len() as f64
    };
    Some(RobustSlope {
        slope: median(&slopes)?,
        rising: share(|slope| *slope > 0.0),
        falling: share(|slope| *slope < 0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::{POINTS_MAX, robust_slope};

    fn line(number: usize, value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..number).map(|place| (place as f64, value(place as f64))).collect()
    }

    #[test]
    fn a_line_has_its_slope_in_any_order_and_however_long() {
        let mut points = line(3 * POINTS_MAX, |place| 3.0 - 0.5 * place);
        points.reverse();
        let slope = robust_slope(&points).unwrap();
        assert!((slope.slope + 0.5).abs() < 1e-9);
        assert!((slope.falling - 1.0).abs() < 1e-9 && slope.rising.abs() < 1e-9);
    }

    #[test]
    fn wild_values_do_not_move_it() {
        let mut points = line(20, |place| 2.0 * place);
        points[4].1 = 1e9;
        points[11].1 = -1e9;
        points[17].1 = f64::NAN;
        let slope = robust_slope(&points).unwrap();
        assert!((slope.slope - 2.0).abs() < 1e-6, "{slope:?}");
    }

    #[test]
    fn one_step_is_no_rise() {
        let slope = robust_slope(&line(12, |place| if place < 6.0 { 10.0 } else { 50.0 })).unwrap();
        // Only pairs on both sides of the step rise.
        assert!((slope.rising - 36.0 / 66.0).abs() < 1e-9 && slope.falling.abs() < 1e-9);
        assert!(robust_slope(&line(12, |place| place)).unwrap().rising > 0.99);
    }

    #[test]
    fn no_slope_without_two_places() {
        assert_eq!(robust_slope(&[]), None);
        assert_eq!(robust_slope(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(robust_slope(&[(f64::NAN, 2.0), (1.0, 3.0)]), None);
    }
}
