//! Whether numbers can be believed that the library gives in fields and metrics, as any type of number.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::units::{BytesPerSecond, Celsius, Percent, Watts};

use super::{EVENTS_MAX, counter, implausible, power_limit, within};

/// From kibibytes ever moved.
pub(in crate::nvml) fn kibibytes(reading: Reading<f64>) -> Reading<u64> {
    counter(reading)
        .and_then(|kibibytes| within(Reading::Known(kibibytes), 0..=EVENTS_MAX >> 10))
        .map(|kibibytes| kibibytes << 10)
}

/// From a field in milliwatts; with a limit of nothing a card could not run.
pub(in crate::nvml) fn power_limit_field(reading: Reading<f64>) -> Reading<Watts> {
    counter(reading).and_then(|milliwatts| {
        let milliwatts = u32::try_from(milliwatts);
        milliwatts.map_or_else(
            |error| implausible(error.to_string()),
            |milliwatts| power_limit(Reading::Known(milliwatts)),
        )
    })
}

/// A temperature, or a distance between two, in a field.
pub(in crate::nvml) fn degrees_field(reading: Reading<f64>) -> Reading<Celsius> {
    reading.and_then(|degrees| {
        if degrees >= f64::from(i32::MAX) {
            Reading::Unsupported
        } else if (-250.0..=250.0).contains(&degrees) {
            Reading::Known(Celsius(degrees))
        } else {
            implausible(degrees.to_string())
        }
    })
}

/// A measured share of time or of a peak, which may be a little above the whole.
pub(in crate::nvml) fn measured_share(reading: Reading<f64>) -> Reading<Percent> {
    reading.and_then(|percent| {
        if (0.0..=101.0).contains(&percent) {
            Reading::Known(Percent(percent.min(100.0)))
        } else {
            implausible(percent.to_string())
        }
    })
}

/// From measured mebibytes per second.
pub(in crate::nvml) fn measured_rate(reading: Reading<f64>) -> Reading<BytesPerSecond> {
    reading.and_then(|mebibytes| {
        if (0.0..=2_000_000.0).contains(&mebibytes) {
            Reading::Known(BytesPerSecond(mebibytes * 1_048_576.0))
        } else {
            implausible(mebibytes.to_string())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{degrees_field, kibibytes, measured_rate, measured_share, power_limit_field};
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::units::{BytesPerSecond, Celsius, Percent, Watts};

    fn is_refused<T>(reading: &Reading<T>) -> bool {
        matches!(reading, Reading::Failed(Failure::Implausible { .. }))
    }

    #[test]
    fn fields_are_numbers_of_any_type() {
        assert_eq!(degrees_field(Reading::Known(-8.0)), Reading::Known(Celsius(-8.0)));
        assert_eq!(degrees_field(Reading::Known(f64::from(u32::MAX))), Reading::Unsupported);
        assert!(is_refused(&degrees_field(Reading::Known(f64::NAN))));
        assert_eq!(power_limit_field(Reading::Known(350_000.0)), Reading::Known(Watts(350.0)));
        assert_eq!(power_limit_field(Reading::Known(f64::from(u32::MAX))), Reading::Unsupported);
        assert!(is_refused(&power_limit_field(Reading::Known(0.0))));
        assert_eq!(kibibytes(Reading::Known(3.0)), Reading::Known(3072));
        assert!(is_refused(&kibibytes(Reading::Known(9e18))));
    }

    #[test]
    fn measured_shares_end_at_the_whole() {
        assert_eq!(measured_share(Reading::Known(100.4)), Reading::Known(Percent(100.0)));
        assert!(is_refused(&measured_share(Reading::Known(130.0))));
        assert!(is_refused(&measured_share(Reading::Known(f64::NAN))));
        assert_eq!(measured_rate(Reading::Known(1.0)), Reading::Known(BytesPerSecond(1_048_576.0)));
        assert!(is_refused(&measured_rate(Reading::Known(-1.0))));
    }
}
