//! Whether what a card says of its health can be believed.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{RemappedRows, RetiredPages, SpareRows};
use gpuwhy_model::units::Celsius;

use super::{degrees_field, events, implausible, within};
use crate::nvml::raw::{RowsOfSpares, RowsReplaced};

/// More rows or banks than any memory has.
const ROWS_MAX: u32 = 1 << 24;

/// Temperature of the memory; some products without a sensor there say 0.
pub(in crate::nvml) fn memory_heat(reading: Reading<f64>) -> Reading<Celsius> {
    degrees_field(reading)
        .and_then(|heat| if heat.0 > 0.0 { Reading::Known(heat) } else { Reading::Unsupported })
}

/// Rows that were replaced; `spare` is what is left, where the driver says it.
pub(in crate::nvml) fn rows(
    reading: Reading<RowsReplaced>,
    spare: &Reading<SpareRows>,
) -> Reading<RemappedRows> {
    reading.and_then(|rows| {
        let numbers = [rows.corrected, rows.uncorrected, rows.pending, rows.failed];
        if numbers.contains(&u32::MAX) {
            return Reading::Unsupported;
        }
        let are_flags = rows.pending <= 1 && rows.failed <= 1;
        if !are_flags || numbers.iter().any(|number| *number > ROWS_MAX) {
            return implausible(format!("{numbers:?} rows"));
        }
        Reading::Known(RemappedRows {
            corrected: u64::from(rows.corrected),
            uncorrected: u64::from(rows.uncorrected),
            pending: rows.pending == 1,
            failed: rows.failed == 1,
            spare_rows: spare.known().copied(),
        })
    })
}

/// Banks by how many spare rows they have left.
pub(in crate::nvml) fn spare_rows(reading: Reading<RowsOfSpares>) -> Reading<SpareRows> {
    reading.and_then(|rows| {
        let RowsOfSpares { max, high, partial, low, none } = rows;
        let numbers = [max, high, partial, low, none];
        if numbers.contains(&u32::MAX) {
            return Reading::Unsupported;
        }
        if numbers.iter().any(|number| *number > ROWS_MAX) {
            return implausible(format!("{numbers:?} banks"));
        }
        Reading::Known(SpareRows { all: max, high, partial, low, none })
    })
}

/// Pages that are not used any more, by their cause, and whether some wait for that.
pub(in crate::nvml) fn pages(
    single_bit: Reading<u64>,
    double_bit: Reading<u64>,
    pending: Reading<u64>,
) -> Reading<RetiredPages> {
    events(single_bit).and_then(|single_bit| {
        events(double_bit).and_then(|double_bit| {
            within(pending, 0..=1).map(|pending| RetiredPages {
                single_bit,
                double_bit,
                pending: pending == 1,
            })
        })
    })
}

/// A card has a few fans at most.
pub(in crate::nvml) fn fan_count(reading: Reading<u32>) -> Reading<u32> {
    within(reading, 0..=32)
}

/// Turns of a fan per minute.
pub(in crate::nvml) fn turns(reading: Reading<u32>) -> Reading<u32> {
    within(reading, 0..=200_000)
}

/// The version of the card's own configuration store.
pub(in crate::nvml) fn inforom(reading: Reading<String>) -> Reading<String> {
    reading
        .and_then(|version| if version.is_empty() { Reading::Unsupported } else { Reading::Known(version) })
}

#[cfg(test)]
mod tests {
    use super::{memory_heat, pages, rows, spare_rows};
    use crate::nvml::raw::{RowsOfSpares, RowsReplaced};
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::sample::{RetiredPages, SpareRows};
    use gpuwhy_model::units::Celsius;

    #[test]
    fn rows_come_with_their_flags() {
        let replaced =
            |pending, failed| Reading::Known(RowsReplaced { corrected: 1, uncorrected: 2, pending, failed });
        let left =
            spare_rows(Reading::Known(RowsOfSpares { max: 639, high: 1, partial: 0, low: 0, none: 0 }));
        let known = rows(replaced(1, 0), &left).into_known().unwrap();
        assert_eq!((known.corrected, known.uncorrected, known.pending, known.failed), (1, 2, true, false));
        assert_eq!(known.spare_rows, Some(SpareRows { all: 639, high: 1, ..SpareRows::default() }));
        assert_eq!(rows(replaced(0, 0), &Reading::Unsupported).into_known().unwrap().spare_rows, None);
        assert_eq!(rows(replaced(u32::MAX, 0), &left), Reading::Unsupported);
        assert!(matches!(rows(replaced(7, 0), &left), Reading::Failed(Failure::Implausible { .. })));
    }

    #[test]
    fn pages_are_known_together() {
        let known = |number| Reading::Known(number);
        let retired = RetiredPages { single_bit: 3, double_bit: 1, pending: true };
        assert_eq!(pages(known(3), known(1), known(1)), Reading::Known(retired));
        assert_eq!(pages(known(3), Reading::Unsupported, known(1)), Reading::Unsupported);
        assert!(matches!(pages(known(3), known(1), known(9)), Reading::Failed(_)));
    }

    #[test]
    fn memory_at_the_freezing_point_has_no_sensor() {
        assert_eq!(memory_heat(Reading::Known(0.0)), Reading::Unsupported);
        assert_eq!(memory_heat(Reading::Known(71.0)), Reading::Known(Celsius(71.0)));
    }
}
