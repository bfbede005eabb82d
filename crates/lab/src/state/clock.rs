//! The one clock of a box: monotonic nanoseconds, and the host time that NVML stamps its samples with.

use rustix::time::{ClockId, clock_gettime};

/// A point on the monotonic clock, in nanoseconds.
pub type Instant = u64;

/// Converts between the monotonic clock and the host clock; the offset is taken once, when the box comes up,
/// so that time stamps never step back.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Monotonic time at which the box came up.
    pub started: Instant,
    /// Host time minus monotonic time, in nanoseconds.
    pub offset: u64,
}

impl Clock {
    /// Reads both clocks.
    pub fn starting_now() -> Self {
        let started = Self::now();
        Self { started, offset: nanoseconds(ClockId::Realtime).saturating_sub(started) }
    }

    /// Reads the monotonic clock.
    pub fn now() -> Instant {
        nanoseconds(ClockId::Monotonic)
    }

    /// Host time of `instant` in microseconds since 1970.
    pub fn stamp_us(&self, instant: Instant) -> u64 {
        (instant + self.offset) / 1000
    }

    /// The monotonic time of a stamp in microseconds since 1970; 0 for stamps before the machine started.
    pub fn of_stamp_us(&self, stamp: u64) -> Instant {
        stamp.saturating_mul(1000).saturating_sub(self.offset)
    }

    /// Seconds since the box came up.
    pub fn seconds_since_start(&self, instant: Instant) -> f64 {
        instant.saturating_sub(self.started) as f64 / 1e9
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_convert_back() {
        let clock = Clock { started: 5_000_000, offset: 1_700_000_000_000_000_000 };
        let stamp = clock.stamp_us(7_000_000);
        assert_eq!(stamp, 1_700_000_000_007_000);
        assert_eq!(clock.of_stamp_us(stamp), 7_000_000);
        assert!((clock.seconds_since_start(1_005_000_000) - 1.0).abs() < 1e-9);
    }
}
