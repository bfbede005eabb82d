//! Lines of the kernel log as the system's journal keeps them: `journalctl -k -o json`.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::KernelLine;
use jiff::Timestamp;
use serde::Deserialize;

use super::facts::fact;
use super::record::on_one_line;
use crate::Malformed;

/// One entry, as far as it matters here.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "MESSAGE")]
    message: Message,
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    wall_us: Option<String>,
    #[serde(rename = "_HOSTNAME")]
    host: Option<String>,
    #[serde(rename = "_TRANSPORT")]
    transport: Option<String>,
    #[serde(rename = "SYSLOG_IDENTIFIER")]
    sender: Option<String>,
    #[serde(rename = "_BOOT_ID")]
    boot_id: Option<String>,
    #[serde(rename = "PRIORITY")]
    priority: Option<String>,
    #[serde(rename = "_SOURCE_MONOTONIC_TIMESTAMP")]
    source_us: Option<String>,
    #[serde(rename = "__MONOTONIC_TIMESTAMP")]
    received_us: Option<String>,
}

/// A text; bytes where it is no UTF-8 or holds control characters.
#[derive(Deserialize)]
#[serde(untagged)]
enum Message {
    Text(String),
    Bytes(Vec<u8>),
}

/// Reads one entry; the text's secrets are masked.
///
/// # Errors
/// Fails when the line is no entry with a text and a time since boot.
pub fn journal_entry(line: &[u8]) -> Result<KernelLine, Malformed> {
    let malformed = Malformed::first_line("an entry of the journal as JSON");
    let entry: Entry = serde_json::from_slice(line).map_err(|_| malformed)?;
    kernel_line(entry).ok_or(malformed)
}

/// An entry with what stands around its line.
pub(crate) struct JournalRecord {
    /// The line.
    pub(crate) line: KernelLine,
    /// The machine.
    pub(crate) host: Option<String>,
    /// Who wrote it: the kernel, or a program by its name.
    pub(crate) sender: Option<String>,
    /// In which boot.
    pub(crate) boot_id: Option<String>,
}

/// Reads one entry of any sender; none when it has no text or no time since boot.
pub(crate) fn journal_record(json: &str) -> Option<JournalRecord> {
    let entry: Entry = serde_json::from_str(json).ok()?;
    let (host, boot_id) = (entry.host.clone(), entry.boot_id.clone());
    let of_kernel = entry.transport.as_deref() == Some("kernel");
    let sender = if of_kernel { Some("kernel".to_owned()) } else { entry.sender.clone() };
    let wall_us = entry.wall_us.as_deref().and_then(|time| time.parse().ok());
    let at = wall_us.and_then(|us| Timestamp::from_microsecond(us).ok());
    let line = KernelLine { at, ..kernel_line(entry)? };
    Some(JournalRecord { line, host, sender, boot_id })
}

/// Reads the text, time and severity of an entry.
fn kernel_line(entry: Entry) -> Option<KernelLine> {
    // The time that the kernel itself gave, else the time at which the journal took the line.
    let times = [entry.source_us, entry.received_us];
    let boot_us = times.iter().flatten().find_map(|time| time.parse().ok())?;
    let text = match entry.message {
        Message::Text(text) => on_one_line(&text),
        Message::Bytes(bytes) => on_one_line(&String::from_utf8_lossy(&bytes)),
    };
    let text = masked_text(&text);
    let level = Reading::from(entry.priority.and_then(|priority| priority.parse().ok()));
    let fact = fact(&text);
    Some(KernelLine { boot_us, level, text, fact, ..KernelLine::default() })
}

#[cfg(test)]
mod tests {
    use super::journal_entry;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::KernelFact;

    #[test]
    fn an_entry_has_time_severity_and_text() {
        let line = br#"{"PRIORITY":"3","_SOURCE_MONOTONIC_TIMESTAMP":"206764310","__MONOTONIC_TIMESTAMP":"9","MESSAGE":"NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.","_TRANSPORT":"kernel"}"#;
        let line = journal_entry(line).unwrap();
        assert_eq!((line.boot_us, line.level), (206_764_310, Reading::Known(3)));
        assert!(matches!(line.fact, Some(KernelFact::Xid { number: 79, .. })));
    }

    #[test]
    fn a_text_may_be_bytes_and_hold_secrets() {
        let line = br#"{"__MONOTONIC_TIMESTAMP":"9","MESSAGE":[97,10,255,27,32,116,111,107,101,110,61,120]}"#;
        let line = journal_entry(line).unwrap();
        assert_eq!(line.text, "a \u{fffd}\\u{1b} token=***");
        assert!(line.level.is_not_in_source());
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for line in
            [&b""[..], b"-- No entries --", b"{}", br#"{"MESSAGE":"x"}"#, br#"{"MESSAGE":"x","__MONO"#]
        {
            assert!(journal_entry(line).is_err());
        }
    }
}
