//! Records of `/dev/kmsg`: `priority,sequence,microseconds,flags;text`, then lines of properties that begin with a blank.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::KernelLine;

use super::facts::fact;
use crate::Malformed;

/// The priority's low three bits are the severity, the others say who wrote the line.
const SEVERITY_BITS: u64 = 7;

/// Reads one record, as one read of `/dev/kmsg` returns it; the text's secrets are masked.
///
/// # Errors
/// Fails when the record has no head, or numbers are missing in it.
pub fn kmsg_record(record: &[u8]) -> Result<KernelLine, Malformed> {
    let malformed = Malformed::first_line("`priority,sequence,microseconds,flags;text`");
    let first_line = record.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let text_start = first_line.iter().position(|byte| *byte == b';').ok_or(malformed)?;
    let head = std::str::from_utf8(&first_line[..text_start]).map_err(|_| malformed)?;
    let mut numbers = head.split(',').map(|digits| digits.parse::<u64>().ok());
    let priority = numbers.next().flatten().ok_or(malformed)?;
    let boot_us = numbers.nth(1).flatten().ok_or(malformed)?;
    let severity = u32::try_from(priority & SEVERITY_BITS).map_err(|_| malformed)?;
    let text = masked_text(&text_of(&first_line[text_start + 1..]));
    let fact = fact(&text);
    Ok(KernelLine { boot_us, level: Reading::Known(severity), text, fact, ..KernelLine::default() })
}

/// Reads many records, one after the other, as a file holds them.
pub fn kmsg_records(records: &[u8]) -> impl Iterator<Item = Result<KernelLine, Malformed>> {
    (1..)
        .zip(records.split(|byte| *byte == b'\n'))
        .filter(|(_, line)| !line.is_empty() && line[0] != b' ')
        .map(|(number, line)| kmsg_record(line).map_err(|malformed| Malformed { line: number, ..malformed }))
}

/// Returns the text with the kernel's `\x0a` and its like taken back, line ends as blanks, other control characters
/// escaped.
fn text_of(escaped: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'\\'
            && let Some([b'x', high, low]) = tail.get(..3)
            && let Some(byte) = byte_of(*high, *low)
        {
            bytes.push(byte);
            rest = &tail[3..];
            continue;
        }
        bytes.push(*first);
        rest = tail;
    }
    on_one_line(&String::from_utf8_lossy(&bytes))
}

/// Returns a text with line ends as blanks and other control characters escaped.
pub(super) fn on_one_line(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    for character in raw.chars() {
        match character {
            '\n' | '\t' => text.push(' '),
            control if control.is_control() => text.extend(control.escape_default()),
            plain => text.push(plain),
        }
    }
    text
}

fn byte_of(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::{kmsg_record, kmsg_records};
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::KernelFact;

    #[test]
    fn a_record_has_time_severity_and_text() {
        let line = kmsg_record(
            b"3,3965,206764310,-;NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n \
              DEVICE=+pci:0000:65:00.0\n",
        )
        .unwrap();
        assert_eq!(line.boot_us, 206_764_310);
        assert_eq!(line.level, Reading::Known(3));
        assert_eq!(line.text, "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.");
        assert!(matches!(line.fact, Some(KernelFact::Xid { number: 79, .. })));
    }

    #[test]
    fn heads_may_grow_and_texts_may_hold_semicolons() {
        let line = kmsg_record(b"30,1,7,c,caller=T1;a;b").unwrap();
        assert_eq!((line.level, line.text.as_str()), (Reading::Known(6), "a;b"));
    }

    #[test]
    fn escapes_are_taken_back_but_nothing_can_reach_a_terminal() {
        assert_eq!(
            kmsg_record(b"6,1,7,-;a\\x0aNVRM: b\\x1b[31m\\x5cx").unwrap().text,
            "a NVRM: b\\u{1b}[31m\\x"
        );
        assert_eq!(kmsg_record(b"6,1,7,-;\\x4\\xzz\\").unwrap().text, "\\x4\\xzz\\");
        assert_eq!(kmsg_record(b"6,1,7,-;\xff").unwrap().text, "\u{fffd}");
    }

    #[test]
    fn secrets_do_not_stay() {
        assert_eq!(
            kmsg_record(b"6,1,7,-;Command line: ro token=hunter2 q").unwrap().text,
            "Command line: ro token=*** q"
        );
        let hung =
            kmsg_record(b"3,1,7,-;INFO: task token=hunter2 x:7 blocked for more than 120 seconds.").unwrap();
        assert!(hung.fact.is_some() && !format!("{hung:?}").contains("hunter2"), "{hung:?}");
    }

    #[test]
    fn a_file_of_records_goes_on_after_a_broken_one() {
        let file = b"6,1,7,-;one\n SUBSYSTEM=x\nbroken\n6,x,7,-;two\n6,3,x,-;three\n\n6,4,9,-;four";
        let lines: Vec<_> = kmsg_records(file).collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[1].as_ref().unwrap_err().line, 3);
        assert_eq!(lines[2].as_ref().unwrap().text, "two");
        assert_eq!(lines[3].as_ref().unwrap_err().line, 5);
        assert_eq!(lines[4].as_ref().unwrap().boot_us, 9);
    }
}
