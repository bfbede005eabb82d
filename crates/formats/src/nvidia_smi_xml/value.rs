//! Values as `nvidia-smi` writes them: a number with its unit, or words that say why there is none.

use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::units::Bytes;

use super::document::Element;

/// Codes of the library behind the words that `nvidia-smi` prints instead of a value.
const FAILURES: &[(&str, u32)] = &[
    ("GPU is lost", LOST),
    ("GPU requires reset", 16),
    ("Timeout", 10),
    ("Unknown Error", 999),
    ("ERR!", 999),
];

/// `NVML_ERROR_GPU_IS_LOST`.
const LOST: u32 = 15;

/// What it prints where a card has no such value.
const UNSUPPORTED: &[&str] = &[
    "N/A",
    "Not Supported",
    "Requested functionality has been deprecated",
    "Not available in WDDM driver model",
];

/// Returns the text of an element, or why there is none.
pub(super) fn text(element: Option<&Element>) -> Reading<&str> {
    let Some(element) = element else {
        return Reading::default();
    };
    let text = element.text.trim_start_matches('[').trim_end_matches(']');
    if text.is_empty() {
        return Reading::default();
    }
    if UNSUPPORTED.iter().any(|words| text.eq_ignore_ascii_case(words)) {
        return Reading::Unsupported;
    }
    if text.eq_ignore_ascii_case("Insufficient Permissions") {
        return Reading::Denied(Access::Root);
    }
    match FAILURES.iter().find(|(words, _)| text.eq_ignore_ascii_case(words)) {
        Some((_, code)) => Reading::Failed(failure(*code)),
        None => Reading::Known(element.text.as_str()),
    }
}

/// Returns whether an element says that the card is lost.
pub(super) fn is_lost(element: &Element) -> bool {
    matches!(text(Some(element)), Reading::Failed(Failure::Nvml { code: LOST, .. }))
}

/// The text does not tell which call failed: the tool stands for it.
fn failure(code: u32) -> Failure {
    Failure::Nvml { call: "nvidia-smi".to_owned(), code }
}

/// Returns the number in front of a unit.
pub(super) fn number(element: Option<&Element>, unit: &'static str) -> Reading<f64> {
    parsed(element, &format!("a number and `{unit}`"), |text| {
        text.strip_suffix(unit)?.trim_end().parse().ok().filter(|number: &f64| number.is_finite())
    })
}

/// Returns the whole number in front of a unit; the unit may be empty.
pub(super) fn whole(element: Option<&Element>, unit: &'static str) -> Reading<u64> {
    parsed(element, &format!("a whole number and `{unit}`"), |text| {
        text.strip_suffix(unit)?.trim_end().parse().ok()
    })
}

/// Returns an amount of memory; drivers before 331 wrote `MB` and meant mebibytes.
pub(super) fn memory(element: Option<&Element>) -> Reading<Bytes> {
    parsed(element, "a whole number and `MiB`", |text| {
        let number = text.strip_suffix("MiB").or_else(|| text.strip_suffix("MB"))?;
        number.trim_end().parse::<u64>().ok()?.checked_mul(1 << 20).map(Bytes)
    })
}

/// Returns a small whole number around which letters may stand: `16x`, `P8`.
pub(super) fn small(element: Option<&Element>, before: &'static str, after: &'static str) -> Reading<u32> {
    parsed(element, "a small whole number", |text| {
        text.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
    })
}

/// Returns whether a switch is on.
pub(super) fn switch(element: Option<&Element>, on: &str, off: &str) -> Reading<bool> {
    parsed(element, &format!("`{on}` or `{off}`"), |text| match text {
        _ if text == on => Some(true),
        _ if text == off => Some(false),
        _ => None,
    })
}

fn parsed<T>(element: Option<&Element>, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Reading<T> {
    text(element).and_then(|text| match parse(text) {
        Some(value) => Reading::Known(value),
        None => Reading::Failed(Failure::Syntax {
            path: crate::Format::NvidiaSmiXml.to_string(),
            line: element.map_or(1, |element| element.line),
            expected: expected.to_owned(),
        }),
    })
}

/// Returns the first of several elements for one value that has it; else why the first that is there has none.
pub(super) fn first_known<T>(readings: impl IntoIterator<Item = Reading<T>>) -> Reading<T> {
    let mut reason = Reading::default();
    for reading in readings {
        if reading.is_known() {
            return reading;
        }
        if reason.is_not_in_source() {
            reason = reading;
        }
    }
    reason
}
