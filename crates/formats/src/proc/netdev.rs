//! `/proc/net/dev`.

use std::collections::BTreeMap;

use super::bytes::{number, numbered_lines, printable, words};
use crate::Malformed;

/// What a network interface has done since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterfaceCounters {
    /// Bytes that came in.
    pub received_bytes: u64,
    /// Bytes that went out.
    pub sent_bytes: u64,
    /// Packets that were damaged or lost for want of room, and ones that could not be sent. Packets that came in and were
    /// dropped are left out: most of those are ones that nobody here wants.
    pub errors: u64,
}

/// Reads the counters of all interfaces, by name.
///
/// # Errors
/// Fails when a line has not the kernel's form.
pub fn interface_counters(file: &[u8]) -> Result<BTreeMap<String, InterfaceCounters>, Malformed> {
    let mut interfaces = BTreeMap::new();
    // Two lines of headings.
    for (line_number, line) in numbered_lines(file).skip(2) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let malformed = Malformed { line: line_number, expected: "`NAME: <16 numbers>`" };
        let colon = line.iter().rposition(|byte| *byte == b':').ok_or(malformed)?;
        let counters: Option<Vec<u64>> = words(&line[colon + 1..]).map(number).collect();
        let counters = counters.ok_or(malformed)?;
        let [received_bytes, _, damaged, _, overrun, _, _, _, sent_bytes, _, unsent, discarded, ..] =
            counters[..]
        else {
            return Err(malformed);
        };
        let errors = [damaged, overrun, unsent, discarded].into_iter().fold(0, u64::saturating_add);
        let name = printable(line[..colon].trim_ascii());
        interfaces.insert(name, InterfaceCounters { received_bytes, sent_bytes, errors });
    }
    Ok(interfaces)
}

#[cfg(test)]
mod tests {
    use super::{InterfaceCounters, interface_counters};

    const HEADINGS: &str = "Inter-|   Receive  |  Transmit\n face |bytes  packets errs drop|bytes packets\n";

    #[test]
    fn both_ways_are_read() {
        let file = format!(
            "{HEADINGS}  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n a:b:7 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n"
        );
        let interfaces = interface_counters(file.as_bytes()).unwrap();
        let expected = InterfaceCounters { received_bytes: 1, sent_bytes: 9, errors: 3 + 5 + 11 + 12 };
        assert_eq!(interfaces["eth0"], expected);
        assert_eq!(interfaces["a:b"].received_bytes, 7);
    }

    #[test]
    fn a_cut_line_is_named() {
        let file = format!("{HEADINGS}  eth0: 1 2 3\n");
        assert_eq!(interface_counters(file.as_bytes()).unwrap_err().line, 3);
        assert!(interface_counters(b"").unwrap().is_empty());
    }
}
