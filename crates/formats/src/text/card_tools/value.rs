//! Values as these tools print them: a number with its unit, or words that say that there is none.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::units::Bytes;

use crate::nvidia_cell;

/// What stands where a tool has no value.
const NOTHING: &[&str] =
    &["-", "--", "?", "??", "na", "none", "null", "unknown", "unsupported", "(not supported)"];

/// Units of amounts; all of these tools count in powers of 1024, whatever they write.
const UNITS: &[(&str, u32)] = &[
    ("tib", 40),
    ("tb", 40),
    ("t", 40),
    ("gib", 30),
    ("gb", 30),
    ("g", 30),
    ("mib", 20),
    ("mb", 20),
    ("m", 20),
    ("kib", 10),
    ("kb", 10),
    ("k", 10),
    ("b", 0),
];

/// Returns a text, or why there is none.
pub(super) fn said(text: &str) -> Reading<&str> {
    let text = text.trim();
    if NOTHING.iter().any(|nothing| text.eq_ignore_ascii_case(nothing)) {
        return Reading::Unsupported;
    }
    nvidia_cell::said(text)
}

/// Returns the number in front of one of the units; a text without a unit is one too if an empty one is allowed.
pub(super) fn number(text: &str, units: &[&str]) -> Reading<f64> {
    said(text).and_then(|text| {
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-');
        let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = unit.trim();
        let is_right = units.iter().any(|known| known.eq_ignore_ascii_case(unit));
        // Someone else's word in front of a number that is none: `??'C`.
        let nothing = unit.starts_with('?').then_some(Reading::Unsupported);
        let number = digits.parse().ok().filter(|number: &f64| is_right && number.is_finite());
        nothing.unwrap_or_else(|| number.into())
    })
}

/// Returns an amount of memory; without a unit it is in the one that is given, as a power of two.
pub(super) fn bytes(text: &str, usual: u32) -> Reading<Bytes> {
    said(text).and_then(|text| {
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let unit = unit.trim().to_ascii_lowercase();
        let power = if unit.is_empty() {
            Some(usual)
        } else {
            UNITS.iter().find(|(known, _)| *known == unit).map(|(_, power)| *power)
        };
        let number: Option<f64> = digits.parse().ok();
        number
            .zip(power)
            .and_then(|(number, power)| amount(number * 2_f64.powi(power.try_into().ok()?)))
            .into()
    })
}

/// Returns a number of bytes.
pub(super) fn amount(bytes: f64) -> Option<Bytes> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    let whole = (0.0..1e18).contains(&bytes).then(|| Bytes(bytes.round() as u64));
    whole
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::units::Bytes;

    use super::{bytes, number};

    #[test]
    fn numbers_need_their_unit() {
        assert_eq!(number(" 45'C", &["'C", "°C"]), Reading::Known(45.0));
        assert_eq!(number("35.0°C", &["'C", "°C"]), Reading::Known(35.0));
        assert_eq!(
            (number("0%", &["%"]), number("7", &["", "%"])),
            (Reading::Known(0.0), Reading::Known(7.0))
        );
        assert_eq!(
            (number("N/A", &["W"]), number("??", &["W"])),
            (Reading::Unsupported, Reading::Unsupported)
        );
        assert!(number("5 W", &["%"]).is_not_in_source() && number("hot", &["C"]).is_not_in_source());
    }

    #[test]
    fn amounts_are_powers_of_1024() {
        assert_eq!(bytes("10.5GiB", 20), Reading::Known(Bytes(21 << 29)));
        assert_eq!(
            (bytes("283 MB", 20), bytes("283", 20)),
            (Reading::Known(Bytes(283 << 20)), Reading::Known(Bytes(283 << 20)))
        );
        assert_eq!((bytes("0.0 B", 20), bytes("7", 0)), (Reading::Known(Bytes(0)), Reading::Known(Bytes(7))));
        assert_eq!(bytes("N/A", 20), Reading::Unsupported);
        assert!(bytes("5 %", 20).is_not_in_source());
    }
}
