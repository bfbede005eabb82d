//! When the rows of a table were taken.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Forms in which tables write a calendar time without a zone.
const FORMS: &[&str] =
    &["%Y/%m/%d %H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%m/%d/%Y %H:%M:%S%.f"];

/// The tool looks so often when it is only told to go on looking.
const LOOP_S: f64 = 5.0;

/// Seconds since 1970 lie between these; milliseconds, a thousand times as high.
const UNIX: std::ops::Range<f64> = 1e9..1e10;

/// When a row was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// At a calendar time; without a zone it is taken as UTC.
    At(Timestamp),
    /// So many seconds after some begin.
    After(f64),
}

impl Moment {
    /// Returns the seconds from an earlier moment to this one; none when they are of different kinds.
    pub(super) fn since(self, earlier: Self) -> Option<f64> {
        match (self, earlier) {
            (Self::At(later), Self::At(earlier)) => Some(later.duration_since(earlier).as_secs_f64()),
            (Self::After(later), Self::After(earlier)) => Some(later - earlier),
            _ => None,
        }
    }
}

/// Reads a time: a calendar time, seconds since 1970 or since some begin, or a time of the day.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(Moment::At(at));
    }
    for form in FORMS {
        if let Ok(local) = DateTime::strptime(form, text) {
            return TimeZone::UTC.to_timestamp(local).ok().map(Moment::At);
        }
    }
    let time = Time::strptime("%H:%M:%S%.f", text).ok()?;
    Some(Moment::After(Time::midnight().duration_until(time).as_secs_f64()))
}

fn of_number(number: f64) -> Option<Moment> {
    let seconds = if UNIX.contains(&number) { number } else { number / 1e3 };
    if UNIX.contains(&seconds) {
        let since = SignedDuration::try_from_secs_f64(seconds).ok()?;
        return Timestamp::UNIX_EPOCH.checked_add(since).ok().map(Moment::At);
    }
    (0.0..1e9).contains(&number).then_some(Moment::After(number))
}

/// Returns how many seconds a command of the tool waits between two looks, if it looks again and again.
pub(super) fn loop_s(command: &str) -> Option<f64> {
    let mut words = command.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if word.starts_with("-l") && word[2..].starts_with(|first: char| first.is_ascii_digit()) => {
                ("-l", Some(&word[2..]))
            }
            None => (word, None),
        };
        let scale = match name {
            "-l" | "--loop" => 1.0,
            "-lms" | "--loop-ms" => 1e-3,
            _ => continue,
        };
        let value = value.or_else(|| words.peek().copied());
        let seconds = value.and_then(|value| value.parse::<f64>().ok()).map(|value| value * scale);
        return Some(seconds.filter(|seconds| (0.001..=86400.0).contains(seconds)).unwrap_or(LOOP_S));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Moment, loop_s, moment};

    #[test]
    fn times_are_read_in_many_forms() {
        for text in [
            "2026/07/14 09:00:27.792",
            "2026-07-14 09:00:27.792",
            "2026-07-14T09:00:27.792",
            "2026-07-14T09:00:27.792Z",
            "2026-07-14T11:00:27.792+02:00",
            "1784019627.792",
            "1784019627792",
        ] {
            let Some(Moment::At(at)) = moment(text) else { panic!("{text}") };
            assert_eq!(at.as_millisecond(), 1_784_019_627_792, "{text}");
        }
        assert_eq!(moment("06:14:46.500"), Some(Moment::After(22486.5)));
        assert_eq!((moment("12.5"), moment("-3"), moment("now")), (Some(Moment::After(12.5)), None, None));
    }

    #[test]
    fn commands_say_how_often_they_look() {
        assert_eq!(loop_s("nvidia-smi --query-gpu=index --format=csv -l 2"), Some(2.0));
        assert_eq!(loop_s("nvidia-smi -lms 250"), Some(0.25));
        assert_eq!((loop_s("nvidia-smi --loop=10"), loop_s("nvidia-smi -l")), (Some(10.0), Some(5.0)));
        assert_eq!((loop_s("nvidia-smi -l5"), loop_s("nvidia-smi -L")), (Some(5.0), None));
    }
}
