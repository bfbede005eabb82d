//! A look: the samples of a window.

use std::time::Duration;

use gpuwhy_model::sample::Sample;

use crate::clock;
use crate::observer::{Depth, Observer};

/// How often somebody who waits is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// How long and how often to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// From the first sample to the last; zero: one sample.
    pub window: Duration,
    /// From one sample to the next.
    pub interval: Duration,
}

impl Look {
    /// One sample.
    pub const ONCE: Self = Self { window: Duration::ZERO, interval: Duration::from_millis(500) };
}

impl Default for Look {
    /// Five seconds with eleven samples: enough for shares of states.
    fn default() -> Self {
        Self { window: Duration::from_secs(5), interval: Duration::from_millis(500) }
    }
}

/// A moment of a look, for those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The driver has been starting for this long.
    DriverStarts(Duration),
    /// Of the window this much has passed.
    Looks(Duration),
}

/// Looks for a window, which begins when the driver is ready: everything at its ends, what changes quickly between.
pub fn look(observer: &mut Observer, look: &Look, progress: &mut dyn FnMut(Progress)) -> Vec<Sample> {
    let waits_since = clock::awake();
    while !observer.wait_for_driver(PROGRESS_EVERY) {
        progress(Progress::DriverStarts(clock::since(waits_since)));
    }
    let begun = clock::awake();
    let first = if look.window.is_zero() { Depth::Alone } else { Depth::Full };
    let mut samples = vec![observer.sample(first)];
    let mut due = Duration::ZERO;
    while due < look.window {
        due = next_due(due, clock::since(begun), look);
        std::thread::sleep((begun + due).saturating_sub(clock::awake()));
        let depth = if due >= look.window { Depth::Full } else { Depth::Calm };
        samples.push(observer.sample(depth));
        progress(Progress::Looks(clock::since(begun)));
    }
    samples
}

/// Returns when the next sample is due. Those that a slow one has made impossible are left out, but never the last.
fn next_due(due: Duration, passed: Duration, look: &Look) -> Duration {
    let interval = look.interval.max(Duration::from_millis(1));
    let mut next = due + interval;
    while next < passed {
        next += interval;
    }
    // A rest that is shorter than half an interval belongs to the last one.
    if next + interval / 2 > look.window { look.window } else { next }
}

#[cfg(test)]
mod tests {
    use super::{Look, next_due};
    use std::time::Duration;

    fn dues(look: &Look, mut passed: impl FnMut(Duration) -> Duration) -> Vec<u128> {
        let mut dues = Vec::new();
        let mut due = Duration::ZERO;
        while due < look.window {
            due = next_due(due, passed(due), look);
            dues.push(due.as_millis());
        }
        dues
    }

    #[test]
    fn a_window_ends_with_a_sample() {
        let millis = Duration::from_millis;
        assert_eq!(dues(&Look::default(), |due| due).len(), 10);
        let odd = Look { window: millis(1200), interval: millis(500) };
        assert_eq!(dues(&odd, |due| due), [500, 1200]);
        let slow = Look { window: millis(2000), interval: millis(500) };
        assert_eq!(dues(&slow, |due| due + millis(1100)), [1500, 2000]);
        assert_eq!(dues(&Look::ONCE, |due| due), [0_u128; 0]);
    }
}
