//! `/proc/PID/smaps_rollup`.

use super::bytes::{numbered_lines, value_of};
use super::meminfo::bytes_of;
use crate::Malformed;

/// Reads how many bytes a process holds, each shared page divided by those who share it.
///
/// # Errors
/// Fails when the file does not say.
pub fn proportional_set(file: &[u8]) -> Result<u64, Malformed> {
    numbered_lines(file)
        .find_map(|(_, line)| value_of(line, b"Pss:"))
        .and_then(bytes_of)
        .ok_or(Malformed::first_line("`Pss: <number> kB`"))
}

#[cfg(test)]
mod tests {
    use super::proportional_set;

    #[test]
    fn only_the_whole_counts() {
        let file = b"55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nPss: 5 kB\nPss_Dirty: 3 kB\n";
        assert_eq!(proportional_set(file), Ok(5 * 1024));
        assert!(proportional_set(b"Rss: 9 kB\n").is_err());
    }
}
