//! One clock for the lines of a log, whatever times they bear.

use gpuwhy_model::sample::LogClock;
use jiff::Timestamp;

use super::stamp::{Stamp, Wall};

/// A clock that falls by more than this started anew, in microseconds: processors write their lines a little out of order.
const CLOCK_FALLS_US: u64 = 10_000_000;
/// A log without years whose time falls by more than this went into a new year, in microseconds.
const A_NEW_YEAR_US: i64 = 180 * 86_400 * 1_000_000;
/// Half a year of logs without years makes this jump, in microseconds.
const YEAR_US: i64 = 366 * 86_400 * 1_000_000;

/// Turns the times of a log into one clock.
#[derive(Debug, Default)]
pub(super) struct Clock {
    last_boot_us: Option<u64>,
    first_wall_us: Option<i64>,
    last_wall_us: i64,
    years: i64,
    at: Option<Timestamp>,
    now_us: u64,
    is_of_boot: bool,
}

impl Clock {
    /// Returns whether a line's time since boot is so far before that of the last line that the machine started anew.
    pub(super) fn falls_to(&self, stamp: &Stamp) -> bool {
        stamp.boot_us.is_some_and(|now| self.falls_to_boot(now))
    }

    /// Returns the same for a time since boot.
    pub(super) fn falls_to_boot(&self, now: u64) -> bool {
        self.last_boot_us.is_some_and(|last| last > now.saturating_add(CLOCK_FALLS_US))
    }

    /// Sets the time since boot.
    pub(super) fn set(&mut self, boot_us: u64) {
        self.last_boot_us = Some(boot_us);
    }

    /// Says that the machine started anew.
    pub(super) fn a_boot_begins(&mut self) {
        self.last_boot_us = None;
    }

    /// Takes the time of the next line.
    pub(super) fn advance(&mut self, stamp: &Stamp) {
        self.at = match stamp.wall {
            Some(Wall::Full(at)) => Some(at),
            Some(Wall::InSomeYear(_)) => None,
            None => self.at,
        };
        let wall_us = stamp.wall.map(|wall| self.on_one_line_of_years(wall));
        if let Some(boot_us) = stamp.boot_us {
            self.last_boot_us = Some(boot_us);
            (self.now_us, self.is_of_boot) = (boot_us, true);
            return;
        }
        if let Some(wall_us) = wall_us {
            let first = *self.first_wall_us.get_or_insert(wall_us);
            // A line before the first one in time comes from a clock that was set back.
            (self.now_us, self.is_of_boot) = (u64::try_from(wall_us - first).unwrap_or(0), false);
        } else if let Some(delta) = stamp.since_last_us {
            self.now_us = self.now_us.saturating_add(delta);
        }
    }

    /// Returns a calendar time in microseconds that goes on over the end of a year that is not written.
    fn on_one_line_of_years(&mut self, wall: Wall) -> i64 {
        let us = wall.microseconds();
        if let Wall::InSomeYear(_) = wall {
            if self.first_wall_us.is_some() && us + self.years * YEAR_US + A_NEW_YEAR_US < self.last_wall_us {
                self.years += 1;
            }
            self.last_wall_us = us + self.years * YEAR_US;
            return self.last_wall_us;
        }
        us
    }

    /// Returns the time of the last line.
    pub(super) fn now(&self) -> (u64, LogClock, Option<Timestamp>) {
        let clock = if self.is_of_boot { LogClock::Boot } else { LogClock::FirstLine };
        (self.now_us, clock, self.at)
    }
}
