//! Pressure files of the machine and of control groups.

use gpuwhy_model::sample::{Pressure, PressureLine};

use super::bytes::{number, numbered_lines, value_of, words};
use crate::Malformed;

/// Reads `/proc/pressure/*` or `*.pressure` of a control group.
///
/// # Errors
/// Fails when there is no `some` line with a total, or a `full` line without one.
pub fn pressure(file: &[u8]) -> Result<Pressure, Malformed> {
    let mut some = None;
    let mut full = None;
    for (number, line) in numbered_lines(file) {
        if let Some(values) = value_of(line, b"some") {
            some = Some(total(values, number)?);
        } else if let Some(values) = value_of(line, b"full") {
            full = Some(total(values, number)?);
        }
    }
    Ok(Pressure { some: some.ok_or(Malformed::first_line("`some avg10=… total=<number>`"))?, full })
}

fn total(values: &[u8], line: u64) -> Result<PressureLine, Malformed> {
    let total_us = words(values).find_map(|word| word.strip_prefix(b"total=")).and_then(number);
    let total_us = total_us.ok_or(Malformed { line, expected: "`total=<number>`" })?;
    Ok(PressureLine { total_us })
}

#[cfg(test)]
mod tests {
    use super::pressure;
    use gpuwhy_model::sample::PressureLine;

    #[test]
    fn totals_are_kept() {
        let file =
            b"some avg10=0.01 avg60=0.11 avg300=0.17 total=4140807\nfull avg10=0.01 avg60=0.0 total=12\n";
        let pressure = pressure(file).unwrap();
        assert_eq!(pressure.some, PressureLine { total_us: 4_140_807 });
        assert_eq!(pressure.full, Some(PressureLine { total_us: 12 }));
    }

    #[test]
    fn a_missing_total_is_an_error_and_not_zero() {
        assert_eq!(pressure(b"some avg10=0.01 total=1\n").unwrap().full, None);
        assert_eq!(pressure(b"some avg10=0.01 total=1\nfull avg10=0.0\n").unwrap_err().line, 2);
        assert!(pressure(b"").is_err());
        assert!(pressure(b"somewhat total=1\n").is_err());
    }
}
