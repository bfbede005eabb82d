//! Whether a number of the library can be believed.
//!
//! Drivers write all ones where a value is not available, and broken ones write anything. What a card cannot have
//! becomes a reason here, at the one place where numbers of the library become readings.

mod fields;
mod health;
mod link;

use std::fmt::Display;
use std::ops::RangeInclusive;

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardMemory, NvmlSample, TimedValue};
use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Joules, Megahertz, Percent, Watts};

pub(super) use fields::{degrees_field, kibibytes, measured_rate, measured_share, power_limit_field};
pub(super) use health::{fan_count, inforom, memory_heat, pages, rows, spare_rows, turns};
pub(super) use link::{fabric, nvlink_version, path, peer_to_peer, remote};

/// More memory than any card has: 1 PiB.
const BYTES_MAX: u64 = 1 << 50;

/// More events than can have happened: one each nanosecond for a century.
const EVENTS_MAX: u64 = 1 << 61;

/// Linux gives no higher process numbers.
const PID_MAX: u32 = 1 << 22;

/// The year 2255 in microseconds since 1970.
const TIME_US_MAX: u64 = 9_000_000_000_000_000;

/// A number as the library writes it.
pub(super) trait Raw: Copy + Display + PartialOrd {
    /// What the library writes for "not available".
    const NOT_AVAILABLE: Self;
}

impl Raw for u32 {
    const NOT_AVAILABLE: Self = Self::MAX;
}

impl Raw for u64 {
    const NOT_AVAILABLE: Self = Self::MAX;
}

impl Raw for i32 {
    const NOT_AVAILABLE: Self = Self::MAX;
}

fn implausible<T>(value: impl Into<String>) -> Reading<T> {
    Reading::Failed(Failure::Implausible { value: value.into() })
}

/// Returns the number, if it can be.
fn within<T: Raw>(reading: Reading<T>, range: RangeInclusive<T>) -> Reading<T> {
    reading.and_then(|value| {
        if value == T::NOT_AVAILABLE {
            Reading::Unsupported
        } else if range.contains(&value) {
            Reading::Known(value)
        } else {
            implausible(value.to_string())
        }
    })
}

/// Returns any number but the word for "not available".
pub(super) fn available<T: Raw>(reading: Reading<T>) -> Reading<T> {
    reading.and_then(
        |value| {
            if value == T::NOT_AVAILABLE { Reading::Unsupported } else { Reading::Known(value) }
        },
    )
}

pub(super) fn card_count(reading: Reading<u32>) -> Reading<u32> {
    // A number of cards is always available.
    reading.and_then(|count| {
        if count <= NvmlSample::CARDS_MAX {
            Reading::Known(count)
        } else {
            implausible(format!("{count} cards"))
        }
    })
}

/// `13000` is 13.0.
pub(super) fn cuda_version(reading: Reading<i32>) -> Reading<String> {
    within(reading, 1000..=1_000_000).map(|version| format!("{}.{}", version / 1000, version % 1000 / 10))
}

pub(super) fn percent(reading: Reading<u32>) -> Reading<Percent> {
    within(reading, 0..=100).map(|value| Percent(f64::from(value)))
}

/// A fan may be driven beyond what it is made for.
pub(super) fn fan(reading: Reading<u32>) -> Reading<Percent> {
    within(reading, 0..=200).map(|value| Percent(f64::from(value)))
}

/// From milliwatts; no module draws 100 kW.
pub(super) fn power(reading: Reading<u32>) -> Reading<Watts> {
    within(reading, 0..=100_000_000).map(|milliwatts| Watts(f64::from(milliwatts) / 1000.0))
}

/// From milliwatts; with a limit of nothing a card could not run.
pub(super) fn power_limit(reading: Reading<u32>) -> Reading<Watts> {
    within(reading, 1..=100_000_000).map(|milliwatts| Watts(f64::from(milliwatts) / 1000.0))
}

/// From millijoules since the driver was loaded: not more than 100 kW over 30 years.
pub(super) fn energy(reading: Reading<u64>) -> Reading<Joules> {
    within(reading, 0..=100_000_000_000_000_000).map(|millijoules| Joules(millijoules as f64 / 1000.0))
}

pub(super) fn heat(reading: Reading<u32>) -> Reading<Celsius> {
    within(reading, 0..=250).map(|degrees| Celsius(f64::from(degrees)))
}

pub(super) fn heat_or_margin(reading: Reading<i32>) -> Reading<Celsius> {
    within(reading, -250..=250).map(|degrees| Celsius(f64::from(degrees)))
}

pub(super) fn clock(reading: Reading<u32>) -> Reading<Megahertz> {
    within(reading, 0..=100_000).map(|clock| Megahertz(f64::from(clock)))
}

/// States go from 0 to 15; 32 is the library's word for an unknown one.
pub(super) fn performance_state(reading: Reading<u32>) -> Reading<u32> {
    reading.and_then(
        |state| if state == 32 { Reading::Unsupported } else { within(Reading::Known(state), 0..=15) },
    )
}

pub(super) fn link_generation(reading: Reading<u32>) -> Reading<u32> {
    within(reading, 0..=15)
}

pub(super) fn link_width(reading: Reading<u32>) -> Reading<u32> {
    within(reading, 0..=64)
}

/// From kilobytes per second; no link moves 2 TB in one.
pub(super) fn throughput(reading: Reading<u32>) -> Reading<BytesPerSecond> {
    within(reading, 0..=2_000_000_000).map(|kilobytes| BytesPerSecond(f64::from(kilobytes) * 1000.0))
}

pub(super) fn minor(reading: Reading<u32>) -> Reading<u32> {
    within(reading, 0..=0x000f_ffff)
}

/// Something that is on or off.
pub(super) fn switch(reading: Reading<u32>) -> Reading<bool> {
    within(reading, 0..=1).map(|value| value == 1)
}

/// A counter, which the library may give as any type of number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to lie between 0 and 2^63"
)]
pub(super) fn counter(reading: Reading<f64>) -> Reading<u64> {
    reading.and_then(|value| {
        if value >= u64::MAX as f64 {
            return Reading::Unsupported;
        }
        if (0.0..9.2e18).contains(&value) {
            Reading::Known(value as u64)
        } else {
            implausible(value.to_string())
        }
    })
}

/// A counter of things that happened.
pub(super) fn events(reading: Reading<u64>) -> Reading<u64> {
    within(reading, 0..=EVENTS_MAX)
}

/// As `9.0`.
pub(super) fn compute_capability(reading: Reading<(i32, i32)>) -> Reading<String> {
    reading.and_then(|(major, minor)| {
        let version = format!("{major}.{minor}");
        if (1..=99).contains(&major) && (0..=99).contains(&minor) {
            Reading::Known(version)
        } else {
            implausible(version)
        }
    })
}

/// The number of an error event; there are a few hundred.
pub(super) fn xid(number: u64) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| *number <= 100_000)
}

/// Memory of a card, or of its aperture.
pub(super) fn memory(reading: Reading<CardMemory>) -> Reading<CardMemory> {
    reading.and_then(|memory| {
        let CardMemory { total, used, free, reserved } = &memory;
        if total.0 == u64::MAX || total.0 == 0 {
            return Reading::Unsupported;
        }
        let parts = [used.0, free.0, reserved.known().map_or(0, |bytes| bytes.0)];
        if total.0 > BYTES_MAX || parts.iter().any(|part| *part > total.0) {
            return implausible(format!("{} of {} bytes used, {} free", used.0, total.0, free.0));
        }
        Reading::Known(memory)
    })
}

/// Memory that one process holds.
pub(super) fn held(bytes: u64) -> Reading<Bytes> {
    within(Reading::Known(bytes), 0..=BYTES_MAX).map(Bytes)
}

/// Where on the bus a card sits, by domain, bus and device.
pub(super) fn pci_address(reading: Reading<(u32, u32, u32)>) -> Reading<String> {
    reading.and_then(|(domain, bus, device)| {
        if bus == u32::MAX || device == u32::MAX {
            return Reading::Unsupported;
        }
        let address = format!("{domain:04x}:{bus:02x}:{device:02x}.0");
        if bus <= 0xff && device <= 0x1f { Reading::Known(address) } else { implausible(address) }
    })
}

/// Values of a buffer of percentages, those that can be; a reason where not one of them can.
pub(super) fn percentages(values: Vec<TimedValue>) -> Reading<Vec<TimedValue>> {
    some_of(values, |timed| timed.time_us <= TIME_US_MAX && (0.0..=100.0).contains(&timed.value))
}

/// Rows of work by process, those that can be; a reason where not one of them can.
pub(super) fn work(
    rows: Vec<gpuwhy_model::sample::ProcessUtilization>,
) -> Reading<Vec<gpuwhy_model::sample::ProcessUtilization>> {
    some_of(rows, |row| {
        row.time_us <= TIME_US_MAX
            && (1..=PID_MAX).contains(&row.pid.0)
            && [row.sm.0, row.memory.0].iter().all(|share| (0.0..=100.0).contains(share))
    })
}

/// Some drivers leave single rows of a buffer unwritten: those are left out.
fn some_of<T>(mut rows: Vec<T>, can_be: impl Fn(&T) -> bool) -> Reading<Vec<T>> {
    let given = rows.len();
    rows.retain(can_be);
    if rows.is_empty() && given > 0 {
        return implausible(format!("none of {given} values"));
    }
    Reading::Known(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::sample::ProcessUtilization;

    fn is_refused<T>(reading: &Reading<T>) -> bool {
        matches!(reading, Reading::Failed(Failure::Implausible { .. }))
    }

    #[test]
    fn all_ones_are_no_value() {
        let ones = || Reading::Known(u32::MAX);
        assert_eq!(percent(ones()), Reading::Unsupported);
        assert_eq!(fan(ones()), Reading::Unsupported);
        assert_eq!(power(ones()), Reading::Unsupported);
        assert_eq!(power_limit(ones()), Reading::Unsupported);
        assert_eq!(energy(Reading::Known(u64::MAX)), Reading::Unsupported);
        assert_eq!(heat(ones()), Reading::Unsupported);
        assert_eq!(clock(ones()), Reading::Unsupported);
        assert_eq!(performance_state(ones()), Reading::Unsupported);
        assert_eq!(link_generation(ones()), Reading::Unsupported);
        assert_eq!(link_width(ones()), Reading::Unsupported);
        assert_eq!(throughput(ones()), Reading::Unsupported);
        assert_eq!(minor(ones()), Reading::Unsupported);
        assert_eq!(switch(ones()), Reading::Unsupported);
        assert_eq!(available(ones()), Reading::Unsupported);
        assert_eq!(held(u64::MAX), Reading::Unsupported);
        assert_eq!(counter(Reading::Known(u64::MAX as f64)), Reading::Unsupported);
        assert_eq!(pci_address(Reading::Known((u32::MAX, u32::MAX, u32::MAX))), Reading::Unsupported);
        assert_eq!(memory(of_bytes(u64::MAX, u64::MAX)), Reading::Unsupported);
    }

    #[test]
    fn what_no_card_can_have_is_refused() {
        assert_eq!(events(Reading::Known(u64::MAX)), Reading::Unsupported);
        assert!(is_refused(&events(Reading::Known(u64::MAX - 1))));
        assert_eq!(compute_capability(Reading::Known((9, 0))), Reading::Known("9.0".to_owned()));
        assert!(is_refused(&compute_capability(Reading::Known((0, 0)))));
        assert_eq!((xid(79), xid(1 << 40)), (Some(79), None));
        assert!(is_refused(&percent(Reading::Known(101))));
        assert!(is_refused(&power(Reading::Known(u32::MAX - 1))));
        assert!(is_refused(&power_limit(Reading::Known(0))), "shares of it are judged");
        assert!(is_refused(&energy(Reading::Known(u64::MAX - 1))));
        assert!(is_refused(&heat(Reading::Known(4000))));
        assert!(is_refused(&heat_or_margin(Reading::Known(-3000))));
        assert!(is_refused(&switch(Reading::Known(2))));
        assert!(is_refused(&counter(Reading::Known(f64::NAN))));
        assert!(is_refused(&counter(Reading::Known(-1.0))));
        assert!(is_refused(&cuda_version(Reading::Known(-1))));
        assert!(
            is_refused(&card_count(Reading::Known(20_000)))
                && is_refused(&card_count(Reading::Known(u32::MAX)))
        );
        assert!(is_refused(&memory(of_bytes(80, 81))));
        assert!(is_refused(&memory(of_bytes(u64::MAX - 1, 81))));
    }

    #[test]
    fn what_cards_have_is_kept() {
        assert_eq!(percent(Reading::Known(100)), Reading::Known(Percent(100.0)));
        assert_eq!(power(Reading::Known(412_500)), Reading::Known(Watts(412.5)));
        assert_eq!(heat_or_margin(Reading::Known(-12)), Reading::Known(Celsius(-12.0)));
        assert_eq!(counter(Reading::Known(0.0)), Reading::Known(0));
        assert_eq!(cuda_version(Reading::Known(12_080)), Reading::Known("12.8".to_owned()));
        assert_eq!(
            pci_address(Reading::Known((0x1_0000, 0x65, 0))),
            Reading::Known("10000:65:00.0".to_owned())
        );
        assert_eq!(memory(of_bytes(80, 80)), of_bytes(80, 80));
        assert_eq!(card_count(Reading::Known(16)), Reading::Known(16));
        assert_eq!(percent(Reading::Unsupported), Reading::Unsupported);
    }

    #[test]
    fn single_rows_that_cannot_be_are_left_out_and_all_of_them_are_no_list() {
        let timed = |time_us, value| TimedValue { time_us, value };
        let mixed = vec![timed(1, 30.0), timed(2, f64::NAN), timed(u64::MAX, 5.0), timed(3, 4e9)];
        assert_eq!(percentages(mixed), Reading::Known(vec![timed(1, 30.0)]));
        assert!(is_refused(&percentages(vec![timed(1, f64::INFINITY)])));
        assert_eq!(percentages(Vec::new()), Reading::Known(Vec::new()));
        let row =
            |pid, sm| ProcessUtilization { pid: Pid(pid), time_us: 1, sm: Percent(sm), memory: Percent(0.0) };
        assert_eq!(work(vec![row(7, 50.0), row(8, 4e9)]), Reading::Known(vec![row(7, 50.0)]));
        assert!(is_refused(&work(vec![row(u32::MAX, 50.0)])));
    }

    fn of_bytes(total: u64, used: u64) -> Reading<CardMemory> {
        let free = Bytes(total.saturating_sub(used));
        Reading::Known(CardMemory {
            total: Bytes(total),
            used: Bytes(used),
            free,
            reserved: Reading::Unsupported,
        })
    }
}
