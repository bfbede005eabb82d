//! What messages of programs say, as the tables write it: plain words with holes for figures.
//!
//! Blanks, line ends and case do not count: terminals wrap messages anywhere, logs fold them, chats cut them. The holes
//! are `{size}` (a number with a unit of memory), `{count}` (whole), `{real}` and `{text}` (up to what follows).

use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// A message without its blanks, as phrases are looked for in it.
#[derive(Debug, Clone)]
pub struct Squeezed {
    plain: String,
    lower: String,
}

impl Squeezed {
    /// Makes one of a message.
    pub fn of(message: &str) -> Self {
        let plain: String = message.chars().filter(|character| !character.is_whitespace()).collect();
        let lower = plain.to_ascii_lowercase();
        Self { plain, lower }
    }

    /// Returns what stands behind the last of these words, which are in lower case and without blanks.
    pub fn after(&self, words: &str) -> Option<Self> {
        let place = self.lower.rfind(words)? + words.len();
        Some(Self { plain: self.plain[place..].to_owned(), lower: self.lower[place..].to_owned() })
    }
}

/// Words with holes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(String),
    Hole(Hole),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    Size,
    Count,
    Real,
    Text,
}

/// No text in a hole is longer.
const TEXT_MAX: usize = 300;

/// Units of memory: their names, and how often they are 1024 times the one before. Old versions write `MB` for `MiB`.
const UNITS: &[(&str, u32)] = &[
    ("bytes", 0),
    ("byte", 0),
    ("kib", 1),
    ("mib", 2),
    ("gib", 3),
    ("tib", 4),
    ("kb", 1),
    ("mb", 2),
    ("gb", 3),
    ("tb", 4),
    ("b", 0),
    ("k", 1),
    ("m", 2),
    ("g", 3),
    ("t", 4),
];

impl Phrase {
    /// Makes one of its written form; none when a hole has no such name or nothing but holes are there.
    pub fn parse(written: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = written;
        while let Some((words, after)) = rest.split_once('{') {
            let (hole, after) = after.split_once('}')?;
            push_words(&mut parts, words);
            parts.push(Part::Hole(match hole {
                "size" => Hole::Size,
                "count" => Hole::Count,
                "real" => Hole::Real,
                "text" => Hole::Text,
                _ => return None,
            }));
            rest = after;
        }
        push_words(&mut parts, rest);
        parts.iter().any(|part| matches!(part, Part::Words(_))).then_some(Self(parts))
    }

    /// Returns whether a message has these words, whatever stands in the holes.
    pub fn is_in(&self, message: &Squeezed) -> bool {
        self.find(message, 0).is_some()
    }

    /// Returns what stands in the holes where the phrase is first found.
    pub fn values<'message>(&self, message: &'message Squeezed) -> Option<Vec<&'message str>> {
        self.find(message, 0).map(|(values, _)| values)
    }

    /// Returns what stands in the holes wherever the phrase is found.
    pub fn all_values<'message>(&self, message: &'message Squeezed) -> Vec<Vec<&'message str>> {
        let mut all = Vec::new();
        let mut from = 0;
        while let Some((values, end)) = self.find(message, from) {
            all.push(values);
            from = end;
        }
        all
    }

    /// Finds the phrase from a place on, and where it ends.
    fn find<'message>(
        &self,
        message: &'message Squeezed,
        from: usize,
    ) -> Option<(Vec<&'message str>, usize)> {
        let (leads, rest) = match self.0.as_slice() {
            [Part::Hole(hole), rest @ ..] => (Some(*hole), rest),
            rest => (None, rest),
        };
        let [Part::Words(words), rest @ ..] = rest else {
            return None;
        };
        let mut start = from;
        loop {
            let place = start + message.lower.get(start..)?.find(words.as_str())?;
            let mut values = Vec::new();
            let is_led = match leads {
                None => true,
                Some(hole) => {
                    let value = before(hole, message, place).map(|begin| &message.plain[begin..place]);
                    values.extend(value);
                    value.is_some()
                }
            };
            if is_led && let Some(end) = follow(rest, message, place + words.len(), &mut values) {
                return Some((values, end));
            }
            start = place + words.len();
        }
    }
}

fn push_words(parts: &mut Vec<Part>, words: &str) {
    let words: String = words.chars().filter(|character| !character.is_whitespace()).collect();
    if !words.is_empty() {
        parts.push(Part::Words(words.to_ascii_lowercase()));
    }
}

/// Reads the rest of a phrase from a place on; returns where it ends.
fn follow<'message>(
    parts: &[Part],
    message: &'message Squeezed,
    mut place: usize,
    values: &mut Vec<&'message str>,
) -> Option<usize> {
    for (number, part) in parts.iter().enumerate() {
        match part {
            Part::Words(words) => {
                message.lower.get(place..)?.starts_with(words.as_str()).then_some(())?;
                place += words.len();
            }
            Part::Hole(Hole::Text) => {
                let rest = message.lower.get(place..)?;
                let length = match parts.get(number + 1) {
                    Some(Part::Words(words)) => rest.find(words.as_str())?,
                    _ => boundary(rest, TEXT_MAX),
                };
                (length <= TEXT_MAX).then_some(())?;
                values.push(&message.plain[place..place + length]);
                place += length;
            }
            Part::Hole(hole) => {
                let length = length_of(*hole, message.lower.get(place..)?)?;
                values.push(&message.plain[place..place + length]);
                place += length;
            }
        }
    }
    Some(place)
}

/// Returns the length of a text that is no longer than this and ends between characters.
fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// Returns how long the value of a hole is at the begin of a text in lower case.
fn length_of(hole: Hole, text: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    if whole == 0 {
        return None;
    }
    if hole == Hole::Count {
        return Some(whole);
    }
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let number = if fraction > 0 { whole + 1 + fraction } else { whole };
    if hole == Hole::Real {
        return Some(number);
    }
    let (unit, _) = UNITS.iter().find(|(unit, _)| text[number..].starts_with(unit))?;
    Some(number + unit.len())
}

/// Returns where the value of a hole begins that ends at a place.
fn before(hole: Hole, message: &Squeezed, end: usize) -> Option<usize> {
    let text = message.lower.get(..end)?;
    let number_end = if hole == Hole::Size {
        let unit = UNITS.iter().find(|(unit, _)| {
            text.strip_suffix(unit).is_some_and(|rest| rest.ends_with(|last: char| last.is_ascii_digit()))
        });
        end - unit?.0.len()
    } else {
        end
    };
    let may_have_point = hole != Hole::Count;
    let length = text[..number_end]
        .bytes()
        .rev()
        .take_while(|byte| byte.is_ascii_digit() || may_have_point && *byte == b'.')
        .count();
    let begin = number_end - length;
    // A full stop before a number is no part of it.
    let stops = text[begin..number_end].bytes().take_while(|byte| *byte == b'.').count();
    (begin + stops < number_end).then_some(begin + stops)
}

/// Returns how many bytes a value of `{size}` is.
pub fn size_in_bytes(value: &str) -> Option<u64> {
    let value = value.to_ascii_lowercase();
    let (number, power) = UNITS
        .iter()
        .find_map(|(unit, power)| value.strip_suffix(unit).map(|number| (number, *power)))
        .filter(|(number, _)| number.ends_with(|last: char| last.is_ascii_digit()))?;
    if power == 0 && !number.contains('.') {
        return number.parse().ok();
    }
    let bytes = number.parse::<f64>().ok()? * 1024_f64.powi(i32::try_from(power).ok()?);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked against the largest"
    )]
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes.round() as u64)
}

impl<'de> Deserialize<'de> for Phrase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        Self::parse(&written).ok_or_else(|| D::Error::custom(format!("`{written}` is no phrase")))
    }
}

#[cfg(test)]
mod tests {
    use super::{Phrase, Squeezed, size_in_bytes};

    fn values(phrase: &str, message: &str) -> Option<Vec<String>> {
        let message = Squeezed::of(message);
        let values = Phrase::parse(phrase).unwrap().values(&message)?;
        Some(values.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn blanks_and_case_do_not_count() {
        let message = "CUDA out of mem\nory. Tried to allocate 1\n.71 GiB. GPU 0";
        assert_eq!(values("tried to allocate {size}", message).unwrap(), ["1.71GiB"]);
        assert_eq!(values("OUT OF MEMORY", message).unwrap(), [""; 0]);
        assert_eq!(values("tried to free {size}", message), None);
    }

    #[test]
    fn a_hole_may_lead() {
        let message = "(GPU 0; 7.92 GiB total capacity; 69.17 MiB already allocated; 0 bytes free)";
        assert_eq!(values("{size} already allocated", message).unwrap(), ["69.17MiB"]);
        assert_eq!(values("{size} free", message).unwrap(), ["0bytes"]);
        assert_eq!(values("gpu {count}; {size} total", message).unwrap(), ["0", "7.92GiB"]);
        assert_eq!(values("{count} total", message), None);
        assert_eq!(values("{real} s later", "in 1.2.3.5 s later").unwrap(), ["1.2.3.5"]);
    }

    #[test]
    fn several_and_text() {
        let message = Squeezed::of("Process 7 has 1 MiB in use. Process 9 has 2.50 GiB in use.");
        let phrase = Phrase::parse("process {count} has {size} in use").unwrap();
        assert_eq!(phrase.all_values(&message), [["7", "1MiB"], ["9", "2.50GiB"]]);
        assert_eq!(values("op={text}, in", "Op=ALL REDUCE, In=7").unwrap(), ["ALLREDUCE"]);
        assert_eq!(values("no {text}", "no Ünïcode").unwrap(), ["Ünïcode"]);
        assert_eq!(values("a{count}b", "a1 a22b").unwrap(), ["22"]);
    }

    #[test]
    fn sizes_are_binary() {
        for (value, bytes) in [
            ("0bytes", Some(0)),
            ("17179869184bytes", Some(17_179_869_184)),
            ("1.50GiB", Some(1_610_612_736)),
            ("216.00MB", Some(226_492_416)),
            ("10.91G", Some(11_714_523_300)),
            ("5", None),
            ("GiB", None),
        ] {
            assert_eq!(size_in_bytes(value), bytes, "{value}");
        }
    }

    #[test]
    fn what_is_no_phrase_is_refused() {
        assert!(["{size}", "a{b}", "a{size", ""].into_iter().all(|written| Phrase::parse(written).is_none()));
    }
}
