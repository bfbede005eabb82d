//! Times as logs of the kernel write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

/// What a line says of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stamp {
    /// Microseconds since boot.
    pub(super) boot_us: Option<u64>,
    /// Calendar time.
    pub(super) wall: Option<Wall>,
    /// Microseconds since the line before.
    pub(super) since_last_us: Option<u64>,
}

/// A calendar time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wall {
    /// With its year; without a zone it is taken as UTC.
    Full(Timestamp),
    /// Without a year: as if in a leap year.
    InSomeYear(Timestamp),
}

impl Wall {
    /// Returns the microseconds since some fixed moment.
    pub(super) fn microseconds(self) -> i64 {
        match self {
            Self::Full(at) | Self::InSomeYear(at) => at.as_microsecond(),
        }
    }
}

/// Stands in for a year that a log does not write: a leap year.
const SOME_YEAR: i16 = 2000;

/// Names of months that logs in other languages write; English ones by their first three letters.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene", "janv"],
    &["feb", "fév", "févr"],
    &["mar", "mär", "mars", "mrz", "maart"],
    &["apr", "avr", "abr", "avril"],
    &["may", "mai", "mag", "mei"],
    &["jun", "juin", "giu", "juni"],
    &["jul", "juil", "lug", "juli"],
    &["aug", "août", "ago"],
    &["sep", "sept", "set"],
    &["oct", "okt", "ott", "out"],
    &["nov"],
    &["dec", "dez", "déc", "dic"],
];

/// Returns the month that a word names: `Oct`, `okt.`, `10月`.
pub(super) fn month(word: &str) -> Option<i8> {
    if let Some(digits) = word.strip_suffix('月').or_else(|| word.strip_suffix('월')) {
        return digits.parse().ok().filter(|month| (1..=12).contains(month));
    }
    let word = word.trim_end_matches('.').to_lowercase();
    let place = MONTHS.iter().position(|names| names.contains(&word.as_str()))?;
    i8::try_from(place + 1).ok()
}

/// Reads `123456.789012`; the kernel writes six places.
pub(super) fn seconds(word: &str) -> Option<u64> {
    let (whole, fraction) = word.split_once('.')?;
    let is_exact = fraction.len() == 6 && is_number(fraction) && is_number(whole);
    is_exact
        .then(|| whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction.parse().ok()?))?
}

/// Reads what stands between the brackets of `dmesg`.
pub(super) fn bracketed(inside: &str) -> Option<Stamp> {
    let inside = inside.trim();
    let first = inside.split_ascii_whitespace().next()?;
    if let Some(boot_us) = seconds(first) {
        // With `--show-delta` the time since the line before follows.
        return Some(Stamp { boot_us: Some(boot_us), ..Stamp::default() });
    }
    if let Some(delta) = inside.strip_prefix('+') {
        return Some(Stamp { since_last_us: Some(seconds(delta)?), ..Stamp::default() });
    }
    if inside.chars().all(|sign| sign == '.' || sign == '…') {
        return Some(Stamp::default());
    }
    let wall = human(inside)?;
    Some(Stamp { wall: Some(wall), ..Stamp::default() })
}

/// Reads `Sat Oct 12 18:35:32 2024` in several languages, and `Oct12 18:35`.
fn human(text: &str) -> Option<Wall> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if let [month_day, clock] = words[..] {
        let digits = month_day.find(|sign: char| sign.is_ascii_digit())?;
        let (name, day) = month_day.split_at(digits);
        return in_some_year(name, day, clock);
    }
    let clock = words.iter().position(|word| time(word).is_some())?;
    let year: i16 = words.iter().skip(clock + 1).find(|word| word.len() == 4)?.parse().ok()?;
    // The name of a day may be that of a month in another language: it stands first.
    let named = words[..clock].iter().rev().find_map(|word| month(word))?;
    let day = words[..clock].iter().rev().find_map(|word| day(word))?;
    let date = Date::new(year, named, day).ok()?;
    Some(Wall::Full(utc(DateTime::from_parts(date, time(words[clock])?))?))
}

/// Returns the day of a month: `12`, `12.`, `12日`.
fn day(word: &str) -> Option<i8> {
    word.trim_end_matches(['.', ',', '日', '일']).parse().ok().filter(|day| (1..=31).contains(day))
}

/// Reads `Oct`, `12` and `18:35:32`, without a year.
pub(super) fn in_some_year(month_name: &str, day_of_month: &str, clock: &str) -> Option<Wall> {
    let date = Date::new(SOME_YEAR, month(month_name)?, day(day_of_month)?).ok()?;
    Some(Wall::InSomeYear(utc(DateTime::from_parts(date, time(clock)?))?))
}

/// Reads `18:35`, `18:35:32` and `18:35:32.123456`.
fn time(word: &str) -> Option<Time> {
    let mut parts = word.split(':');
    let hour: i8 = number(parts.next()?)?;
    let minute: i8 = number(parts.next()?)?;
    let (second, fraction) = match parts.next() {
        Some(second) => second.split_once(['.', ',']).unwrap_or((second, "")),
        None => ("0", ""),
    };
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, number(second)?, nanoseconds(fraction)?).ok()
}

fn number(digits: &str) -> Option<i8> {
    (is_number(digits) && digits.len() <= 2).then(|| digits.parse().ok())?
}

/// Returns the nanoseconds that the places behind the point make.
fn nanoseconds(fraction: &str) -> Option<i32> {
    if fraction.is_empty() {
        return Some(0);
    }
    if !is_number(fraction) {
        return None;
    }
    let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A time as ISO 8601 writes it, with what follows in the line.
pub(super) struct Iso<'line> {
    /// The time.
    pub(super) wall: Wall,
    /// Whether a comma stands before the fraction, as only `dmesg` writes it.
    pub(super) has_comma: bool,
    /// What follows.
    pub(super) rest: &'line str,
}

/// Reads `2025-01-21T04:41:44,283302+00:00 ` at the beginning of a line, with or without fraction and zone; a blank may
/// stand for the `T`.
pub(super) fn iso(line: &str) -> Option<Iso<'_>> {
    let date = line.get(..10)?;
    let bytes = date.as_bytes();
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year: i16 = date[..4].parse().ok()?;
    let date = Date::new(year, number(&date[5..7])?, number(&date[8..10])?).ok()?;
    let rest = line.get(10..)?.strip_prefix(['T', ' '])?;
    let end = rest.find(' ').unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    let zone_at = word.find(['Z', '+', '-']).unwrap_or(word.len());
    let (clock, zone) = word.split_at(zone_at);
    let offset = offset(zone)?;
    let at = DateTime::from_parts(date, time(clock)?);
    let at = TimeZone::fixed(offset).to_timestamp(at).ok()?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    Some(Iso { wall: Wall::Full(at), has_comma: clock.contains(','), rest })
}

/// Reads `Z`, `+02:00`, `+0200`, `-07`, and nothing at all.
fn offset(zone: &str) -> Option<Offset> {
    if zone.is_empty() || zone == "Z" {
        return Some(Offset::UTC);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: String = zone[1..].chars().filter(|sign| *sign != ':').collect();
    let hours: i32 = number(digits.get(..2)?)?.into();
    let minutes: i32 = if digits.len() > 2 { number(digits.get(2..)?)?.into() } else { 0 };
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

/// Returns a calendar time as if it were UTC.
pub(super) fn utc(local: DateTime) -> Option<Timestamp> {
    TimeZone::UTC.to_timestamp(local).ok()
}

#[cfg(test)]
mod tests {
    use super::{Stamp, Wall, bracketed, iso, month, seconds};

    fn full(text: &str) -> Wall {
        Wall::Full(text.parse().unwrap())
    }

    #[test]
    fn times_since_boot_have_six_places() {
        assert_eq!(seconds("188497.595099"), Some(188_497_595_099));
        for word in ["188497.595", "188497", "a.123456", ".123456", "99999999999999.123456", "1.12345６"] {
            assert_eq!(seconds(word), None, "{word}");
        }
    }

    #[test]
    fn brackets_hold_times_in_several_forms() {
        let boot = |boot_us| Some(Stamp { boot_us: Some(boot_us), ..Stamp::default() });
        let wall = |wall| Some(Stamp { wall, ..Stamp::default() });
        for (inside, expected) in [
            ("    5.000001", boot(5_000_001)),
            ("12345.678901 <    0.000012>", boot(12_345_678_901)),
            ("  +0.000012", Some(Stamp { since_last_us: Some(12), ..Stamp::default() })),
            ("Sat Oct 12 18:35:32 2024", wall(Some(full("2024-10-12T18:35:32Z")))),
            ("六 10月 12 18:35:32 2024", wall(Some(full("2024-10-12T18:35:32Z")))),
            ("Sa Okt 12 18:35:32 2024", wall(Some(full("2024-10-12T18:35:32Z")))),
            ("...", Some(Stamp::default())),
            ("INFO", None),
            ("2024-10-12 18:35:32", None),
            ("Sat Oct 12 18:35:32.123456 core", None),
            ("", None),
        ] {
            assert_eq!(bracketed(inside), expected, "{inside}");
        }
        assert!(matches!(bracketed("Oct12 18:35"), Some(Stamp { wall: Some(Wall::InSomeYear(_)), .. })));
    }

    #[test]
    fn iso_times_have_zones_or_none() {
        for (line, expected, has_comma, rest) in [
            ("2025-01-21T04:41:44,283302+00:00 NVRM: x", "2025-01-21T04:41:44.283302Z", true, "NVRM: x"),
            ("2025-01-02T15:20:12+0800 n kernel: x", "2025-01-02T07:20:12Z", false, "n kernel: x"),
            ("2025-01-02 15:20:12 n", "2025-01-02T15:20:12Z", false, "n"),
            ("2025-01-02T15:20:12.5Z n", "2025-01-02T15:20:12.5Z", false, "n"),
        ] {
            let read = iso(line).unwrap();
            assert_eq!((read.wall, read.has_comma, read.rest), (full(expected), has_comma, rest));
        }
        for line in
            ["2025-13-02T15:20:12 x", "2025-01-02", "2025-01-02T99:00:00 x", "", "２０２５-01-02T15:20:12"]
        {
            assert!(iso(line).is_none(), "{line}");
        }
    }

    #[test]
    fn months_are_known_in_several_languages() {
        for (word, number) in [("Oct", 10), ("okt.", 10), ("10月", 10), ("déc.", 12), ("Mai", 5)] {
            assert_eq!(month(word), Some(number), "{word}");
        }
        assert_eq!((month("13月"), month("Foo")), (None, None));
    }
}
