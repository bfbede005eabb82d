//! When the rows of a monitor were taken.

use std::collections::VecDeque;

use gpuwhy_model::sample::ReadTime;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::columns::Row;
use super::nvidia_scene::delay_s;

/// A monitor looks once a second unless it is told otherwise, and never more often without being told.
const DELAY_S: f64 = 1.0;

/// So many looks are kept, the newest ones.
const LOOKS_MAX: usize = 1024;

/// Seconds of a day.
const DAY_S: f64 = 86400.0;

/// The rows of one look.
#[derive(Debug)]
pub(super) struct Look<T> {
    /// Seconds since the first look.
    pub(super) since_s: f64,
    /// Calendar time, where the rows say it.
    pub(super) wall: Option<Timestamp>,
    pub(super) rows: Vec<T>,
}

/// Looks, one after the other.
#[derive(Debug)]
pub(super) struct Looks<T> {
    taken: VecDeque<Look<T>>,
    delay_s: f64,
    /// When the first look was, by what its rows say.
    first: Option<Moment>,
}

/// What a row says of its time.
#[derive(Debug, Clone, Copy)]
struct Moment {
    date: Option<Date>,
    time: Time,
}

impl<T> Looks<T> {
    /// Begins; the command may say how long the monitor waits between looks.
    pub(super) fn new(command: Option<&str>) -> Self {
        Self { taken: VecDeque::new(), delay_s: command.and_then(delay_s).unwrap_or(DELAY_S), first: None }
    }

    /// Returns the newest look.
    pub(super) fn newest(&self) -> Option<&Look<T>> {
        self.taken.back()
    }

    /// Adds a row to the newest look, or begins another one with it.
    pub(super) fn add(&mut self, row: &Row<'_, '_>, value: T, begins: bool) {
        if begins || self.taken.is_empty() {
            let moment = moment(row);
            if self.taken.is_empty() {
                self.first = moment;
            }
            let last_s = self.taken.back().map(|look| look.since_s);
            let since_s = match (self.first.zip(moment), last_s) {
                (Some((first, moment)), last_s) => since(first, moment, last_s.unwrap_or(0.0)),
                (None, Some(last_s)) => last_s + self.delay_s,
                (None, None) => 0.0,
            };
            let wall = moment.and_then(|moment| {
                let at = DateTime::from_parts(moment.date?, moment.time);
                TimeZone::UTC.to_timestamp(at).ok()
            });
            self.taken.push_back(Look { since_s, wall, rows: Vec::new() });
            if self.taken.len() > LOOKS_MAX {
                self.taken.pop_front();
            }
        }
        if let Some(look) = self.taken.back_mut() {
            look.rows.push(value);
        }
    }

    /// Returns the looks, oldest first; of a text that may be cut the last one only if it is as long as the one before.
    pub(super) fn finish(mut self, may_be_cut: bool) -> Vec<Look<T>> {
        let rows = |place: usize| self.taken.get(place).map_or(0, |look| look.rows.len());
        let number = self.taken.len();
        if may_be_cut && number > 1 && rows(number - 1) < rows(number - 2) {
            self.taken.pop_back();
        }
        self.taken.into()
    }
}

impl<T> Look<T> {
    /// Returns when it was, on both clocks; without a calendar time only its distance from the first look counts.
    pub(super) fn read_time(&self) -> ReadTime {
        let since = SignedDuration::try_from_secs_f64(self.since_s).unwrap_or_default();
        let wall = self.wall.or_else(|| Timestamp::UNIX_EPOCH.checked_add(since).ok()).unwrap_or_default();
        ReadTime { boot_ns: u64::try_from(since.as_nanos()).unwrap_or_default(), wall }
    }
}

/// Reads a row's time: `20260816` and `09:22:34`.
fn moment(row: &Row<'_, '_>) -> Option<Moment> {
    let time = Time::strptime("%H:%M:%S", row.text("time").known()?).ok()?;
    let date = row.text("date").known().and_then(|text| Date::strptime("%Y%m%d", text).ok());
    Some(Moment { date, time })
}

/// Returns the seconds from the first look; without a date, a time before the last one's is of the next day.
fn since(first: Moment, moment: Moment, last_s: f64) -> f64 {
    let between = |from: DateTime, to: DateTime| from.duration_until(to).as_secs_f64();
    if let (Some(first_date), Some(date)) = (first.date, moment.date) {
        let seconds =
            between(DateTime::from_parts(first_date, first.time), DateTime::from_parts(date, moment.time));
        return seconds.max(last_s);
    }
    let mut seconds = first.time.duration_until(moment.time).as_secs_f64();
    seconds += ((last_s - seconds) / DAY_S).ceil().max(0.0) * DAY_S;
    seconds
}
