//! Small counter files of a process: `io`, `schedstat`, and the places where it waits.

use gpuwhy_model::sample::IoCounters;

use super::bytes::{number, numbered_lines, printable, value_of, words};
use crate::Malformed;

/// Reads `/proc/PID/io`.
///
/// # Errors
/// Fails when one of the four counters is missing or is no number.
pub fn io(file: &[u8]) -> Result<IoCounters, Malformed> {
    // The kernel always writes them in this order, so that one pass finds them all.
    let mut lines = numbered_lines(file);
    let mut counter = |key: &[u8], expected| {
        lines
            .find_map(|(_, line)| value_of(line, key))
            .and_then(number)
            .ok_or(Malformed::first_line(expected))
    };
    Ok(IoCounters {
        read_chars: counter(b"rchar:", "`rchar: <number>`")?,
        written_chars: counter(b"wchar:", "`wchar: <number>`")?,
        read_bytes: counter(b"read_bytes:", "`read_bytes: <number>`")?,
        written_bytes: counter(b"write_bytes:", "`write_bytes: <number>`")?,
    })
}

/// Reads the time waited for a processor, in nanoseconds, from `/proc/PID/schedstat` or a thread's.
///
/// # Errors
/// Fails when there is no second number.
pub fn run_delay(file: &[u8]) -> Result<u64, Malformed> {
    words(file).nth(1).and_then(number).ok_or(Malformed::first_line("`<running> <waiting> <slices>`"))
}

/// Returns the kernel function of a `wchan` file; none when the thread does not wait, or we may not know where.
pub fn wait_channel(file: &[u8]) -> Option<String> {
    let name = file.trim_ascii();
    let says_nothing = name.is_empty() || name == b"0";
    (!says_nothing).then(|| printable(name))
}

/// Returns the name in a `comm` file, control characters escaped.
pub fn name(file: &[u8]) -> String {
    printable(file.strip_suffix(b"\n").unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use super::{io, name, run_delay, wait_channel};

    #[test]
    fn io_counters_are_read_by_key() {
        let file = b"rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\n\
                     cancelled_write_bytes: 1\n";
        let counters = io(file).unwrap();
        assert_eq!((counters.read_chars, counters.written_chars), (10, 20));
        assert_eq!((counters.read_bytes, counters.written_bytes), (4096, 8192));
        assert_eq!(io(b"rchar: 10\nwchar: 20\n").unwrap_err().expected, "`read_bytes: <number>`");
        assert!(io(b"rchar: -1\nwchar: 20\nread_bytes: 1\nwrite_bytes: 1\n").is_err());
    }

    #[test]
    fn run_delay_is_the_second_number() {
        assert_eq!(run_delay(b"123 456 7\n"), Ok(456));
        assert!(run_delay(b"123").is_err());
        assert!(run_delay(b"").is_err());
    }

    #[test]
    fn a_wait_channel_of_zero_is_none() {
        assert_eq!(wait_channel(b"0"), None);
        assert_eq!(wait_channel(b""), None);
        assert_eq!(wait_channel(b"request_wait_answer").as_deref(), Some("request_wait_answer"));
    }

    #[test]
    fn only_the_last_line_end_is_dropped() {
        assert_eq!(name(b"a\n\n"), "a\\n");
    }
}
