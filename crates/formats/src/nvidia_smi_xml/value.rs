//! Values of the document's elements, in the words of [`crate::nvidia_cell`].

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::units::Bytes;

use super::element::Element;
use crate::nvidia_cell;

/// What stands for the input in a failure: its XML and its text have the same values.
const INPUT: &str = "nvidia-smi -q";

/// Returns the text of an element, or why there is none.
pub(super) fn text(element: Option<&Element>) -> Reading<&str> {
    element.map_or_else(Reading::default, |element| nvidia_cell::said(&element.text))
}

/// Returns whether an element says that the card is lost.
pub(super) fn is_lost(element: &Element) -> bool {
    nvidia_cell::is_lost(&text(Some(element)))
}

/// Returns the number in front of a unit.
pub(super) fn number(element: Option<&Element>, unit: &'static str) -> Reading<f64> {
    parsed(element, &format!("a number and `{unit}`"), |text| nvidia_cell::number(text, unit))
}

/// Returns the whole number in front of a unit; the unit may be empty.
pub(super) fn whole(element: Option<&Element>, unit: &'static str) -> Reading<u64> {
    parsed(element, &format!("a whole number and `{unit}`"), |text| nvidia_cell::whole(text, unit))
}

/// Returns an amount of memory; drivers before 331 wrote `MB` and meant mebibytes.
pub(super) fn memory(element: Option<&Element>) -> Reading<Bytes> {
    parsed(element, "a whole number and `MiB`", nvidia_cell::memory)
}

/// Returns a small whole number around which letters may stand: `16x`, `P8`.
pub(crate) fn small(element: Option<&Element>, before: &'static str, after: &'static str) -> Reading<u32> {
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
            path: INPUT.to_owned(),
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
