//! `/proc/meminfo`.

use gpuwhy_model::sample::HostMemory;

use super::bytes::{number, numbered_lines, value_of, words};
use crate::Malformed;

/// Reads the memory of the machine.
///
/// # Errors
/// Fails when one of the values is missing (kernels before 3.14 do not say what is available).
pub fn meminfo(file: &[u8]) -> Result<HostMemory, Malformed> {
    let amount = |key: &[u8], expected| {
        numbered_lines(file)
            .find_map(|(_, line)| value_of(line, key))
            .and_then(bytes_of)
            .ok_or(Malformed::first_line(expected))
    };
    Ok(HostMemory {
        total: amount(b"MemTotal:", "`MemTotal: <number> kB`")?,
        available: amount(b"MemAvailable:", "`MemAvailable: <number> kB`")?,
        swap_total: amount(b"SwapTotal:", "`SwapTotal: <number> kB`")?,
        swap_free: amount(b"SwapFree:", "`SwapFree: <number> kB`")?,
        shared: amount(b"Shmem:", "`Shmem: <number> kB`")?,
        dirty: amount(b"Dirty:", "`Dirty: <number> kB`")?,
    })
}

/// Returns the bytes of a `<number> kB`, which are 1024 each.
pub(super) fn bytes_of(value: &[u8]) -> Option<u64> {
    let mut parts = words(value);
    let kibibytes = parts.next().and_then(number)?;
    (parts.next() == Some(b"kB")).then_some(())?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::meminfo;

    #[test]
    fn amounts_are_bytes() {
        let file = b"MemTotal:       49368368 kB\nMemFree:  1 kB\nMemAvailable:   40 kB\nSwapCached: 9 kB\n\
                     SwapTotal:  2 kB\nSwapFree: 0 kB\nDirty: 3 kB\nShmem: 5 kB\nShmemHugePages: 7 kB\n";
        let memory = meminfo(file).unwrap();
        assert_eq!(memory.total, 49_368_368 * 1024);
        assert_eq!(memory.available, 40 * 1024);
        assert_eq!((memory.swap_total, memory.swap_free), (2048, 0));
        assert_eq!((memory.shared, memory.dirty), (5120, 3072));
    }

    #[test]
    fn a_missing_amount_is_an_error_and_not_zero() {
        assert!(meminfo(b"MemTotal: 1 kB\n").unwrap_err().expected.contains("MemAvailable"));
        assert!(meminfo(b"MemTotal: 99999999999999999 kB\n").is_err());
    }
}
