//! Picks values out of a sequence of samples: the newest, and the first and last of a counter.

use crate::reading::{Absence, Failure, Reading};
use crate::sample::{ReadTime, Sample};

/// Counters closer together than this give no rate.
const SHORTEST_SPAN_S: f64 = 0.05;

/// Returns the newest reading that the samples carry; one that a sample does not carry at all is passed over.
pub(super) fn newest<'samples, T: Clone + 'samples>(
    samples: &'samples [Sample],
    pick: impl Fn(&'samples Sample) -> Reading<&'samples T>,
) -> Reading<T> {
    newest_of(samples.iter().map(pick))
}

/// Returns the last reading that is carried at all.
pub(super) fn newest_of<'value, T: Clone + 'value>(
    readings: impl DoubleEndedIterator<Item = Reading<&'value T>>,
) -> Reading<T> {
    readings
        .rev()
        .find(|reading| !reading.is_not_in_source())
        .map_or_else(Reading::default, |reading| reading.map(Clone::clone))
}

/// How a counter moved from its first known value to its last.
#[derive(Clone, Copy)]
pub(super) struct Growth {
    /// By how much.
    pub amount: f64,
    /// In how many seconds.
    pub seconds: f64,
}

impl Growth {
    /// Returns the growth per second.
    pub(super) fn per_second(&self) -> f64 {
        self.amount / self.seconds
    }

    /// Returns the growth of a whole counter.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "growth of a whole counter is whole and not negative"
    )]
    pub(super) fn whole(self) -> u64 {
        self.amount as u64
    }
}

/// Returns how a counter grew; the reason for its absence when it was never known.
pub(super) fn growth(points: impl Iterator<Item = (ReadTime, Reading<u64>)>) -> Reading<Growth> {
    let mut known: Option<((ReadTime, u64), (ReadTime, u64))> = None;
    let mut absence = Absence::Failed(Failure::NotInSource);
    for (at, reading) in points {
        if let Reading::Known(value) = reading {
            let first = known.map_or((at, value), |(first, _)| first);
            known = Some((first, (at, value)));
            continue;
        }
        if !reading.is_not_in_source() {
            absence = reading.absence().unwrap_or(absence);
        }
    }
    let Some(((first_at, first), (last_at, last))) = known else {
        return absence.reading();
    };
    let seconds = last_at.seconds_since(&first_at);
    if seconds < SHORTEST_SPAN_S {
        return Failure::TooFewSamples.into_reading();
    }
    let Some(amount) = last.checked_sub(first) else {
        return Failure::Implausible { value: format!("counter fell from {first} to {last}") }.into_reading();
    };
    Reading::Known(Growth { amount: amount as f64, seconds })
}
