//! Stretches of time, joined where they overlap, in bounded memory.

/// So many stretches are kept apart; beyond, the shortest rests between them are bridged.
const STRETCHES_MAX: usize = 1 << 17;
/// So many are gathered before they are joined.
const FRESH_MAX: usize = 1 << 15;

/// From when to when, in microseconds.
pub(super) type Stretch = (f64, f64);

/// Stretches of time while they are gathered, in any order.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    joined: Vec<Stretch>,
    fresh: Vec<Stretch>,
    /// Whether rests were bridged.
    pub(super) is_coarse: bool,
}

impl Stretches {
    /// Adds a stretch.
    pub(super) fn add(&mut self, from: f64, to: f64) {
        if to > from {
            self.fresh.push((from, to));
        }
        if self.fresh.len() >= FRESH_MAX {
            self.join();
        }
    }

    /// Returns whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.joined.is_empty() && self.fresh.is_empty()
    }

    /// Returns all of them, in order, without overlaps.
    pub(super) fn finish(mut self) -> Vec<Stretch> {
        self.join();
        self.joined
    }

    fn join(&mut self) {
        self.joined.append(&mut self.fresh);
        self.joined.sort_by(|one, other| one.0.total_cmp(&other.0));
        bridge(&mut self.joined, 0.0);
        while self.joined.len() > STRETCHES_MAX {
            self.is_coarse = true;
            let mut rests: Vec<f64> = self.joined.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
            let middle = rests.len() / 2;
            let (_, rest, _) = rests.select_nth_unstable_by(middle, f64::total_cmp);
            let rest = *rest;
            bridge(&mut self.joined, rest);
        }
    }
}

/// Joins sorted stretches with no more than so long a rest between them.
fn bridge(sorted: &mut Vec<Stretch>, rest: f64) {
    let mut kept = 0;
    for place in 1..sorted.len() {
        let (from, to) = sorted[place];
        if from - sorted[kept].1 <= rest {
            sorted[kept].1 = sorted[kept].1.max(to);
        } else {
            kept += 1;
            sorted[kept] = (from, to);
        }
    }
    sorted.truncate(kept + 1);
}

/// Returns the length of stretches that do not overlap.
pub(super) fn length(stretches: &[Stretch]) -> f64 {
    stretches.iter().map(|(from, to)| to - from).sum()
}

/// Returns what lies in the one or in the other.
pub(super) fn either(one: &[Stretch], other: &[Stretch]) -> Vec<Stretch> {
    let mut all = [one, other].concat();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    bridge(&mut all, 0.0);
    all
}

/// Returns what lies in both.
pub(super) fn both(one: &[Stretch], other: &[Stretch]) -> Vec<Stretch> {
    let mut common = Vec::new();
    let (mut left, mut right) = (0, 0);
    while let (Some(one), Some(other)) = (one.get(left), other.get(right)) {
        let (from, to) = (one.0.max(other.0), one.1.min(other.1));
        if from < to {
            common.push((from, to));
        }
        if one.1 < other.1 { left += 1 } else { right += 1 }
    }
    common
}

/// Returns what lies in the one and not in the other.
pub(super) fn without(one: &[Stretch], other: &[Stretch]) -> Vec<Stretch> {
    let mut left = Vec::new();
    let mut next = 0;
    for (from, to) in one.iter().copied() {
        let mut from = from;
        while other.get(next).is_some_and(|taken| taken.1 <= from) {
            next += 1;
        }
        let mut place = next;
        while let Some(taken) = other.get(place).filter(|taken| taken.0 < to) {
            if taken.0 > from {
                left.push((from, taken.0));
            }
            from = from.max(taken.1);
            place += 1;
        }
        if from < to {
            left.push((from, to));
        }
    }
    left
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole numbers, and figures as they were written, are kept exactly")]
mod tests {
    use proptest::prelude::*;

    use super::{STRETCHES_MAX, Stretch, Stretches, both, either, length, without};

    fn joined(stretches: &[Stretch]) -> Vec<Stretch> {
        let mut all = Stretches::default();
        for (from, to) in stretches {
            all.add(*from, *to);
        }
        all.finish()
    }

    #[test]
    fn stretches_are_joined_and_compared() {
        let one = joined(&[(5.0, 7.0), (0.0, 2.0), (1.0, 3.0), (9.0, 9.0)]);
        assert_eq!(one, [(0.0, 3.0), (5.0, 7.0)]);
        let other = joined(&[(2.0, 6.0)]);
        assert_eq!(both(&one, &other), [(2.0, 3.0), (5.0, 6.0)]);
        assert_eq!(without(&one, &other), [(0.0, 2.0), (6.0, 7.0)]);
        assert_eq!(either(&one, &other), [(0.0, 7.0)]);
        assert!((length(&one) - 5.0).abs() < 1e-9 && length(&[]) == 0.0);
    }

    #[test]
    fn memory_is_bounded_and_long_rests_stay() {
        let mut all = Stretches::default();
        for place in 0..1_u32 << 18 {
            let from = f64::from(place) * 2.0 + if place > 1000 { 1e6 } else { 0.0 };
            all.add(from, from + 1.0);
        }
        assert!(all.is_coarse);
        let finished = all.finish();
        assert!(finished.len() <= STRETCHES_MAX);
        assert!(finished.windows(2).any(|pair| pair[1].0 - pair[0].1 > 9e5));
    }

    proptest! {
        #[test]
        fn parts_make_up_the_whole(
            one in prop::collection::vec((0_u16..500, 0_u16..40), 0..30),
            other in prop::collection::vec((0_u16..500, 0_u16..40), 0..30),
        ) {
            let stretches = |list: &[(u16, u16)]| {
                let all: Vec<Stretch> =
                    list.iter().map(|(from, length)| (f64::from(*from), f64::from(*from) + f64::from(*length))).collect();
                joined(&all)
            };
            let (one, other) = (stretches(&one), stretches(&other));
            let common = length(&both(&one, &other));
            prop_assert_eq!(length(&one), common + length(&without(&one, &other)));
            prop_assert_eq!(length(&either(&one, &other)), length(&one) + length(&other) - common);
        }
    }
}
