//! Entries of the journal with all their fields: JSON on one line or many, and the export format.

use crate::kernel_log::{Gatherer, JournalRecord, KeepLimits, journal_record};
use crate::paste::Line;

use super::Writers;

/// An entry has no more lines than these.
const LINES_OF_AN_ENTRY: usize = 200;

/// Gathers the entries that begin with the first line, if the first of them is the kernel's or that of a service that
/// matters, and returns how many lines they have. An entry of the kernel is none in a log of services.
pub(super) fn read(lines: &[Line<'_>], writers: Writers) -> Option<(Gatherer, usize)> {
    let may_be_here =
        |record: &JournalRecord| writers == Writers::Kernel || record.sender.as_deref() != Some("kernel");
    let (record, mut taken) = entry(lines).filter(|(record, _)| may_be_here(record))?;
    let mut gatherer = Gatherer::new(KeepLimits::PASTE);
    let mut boot = None;
    if !take(&mut gatherer, record, &mut boot) {
        return None;
    }
    while let Some(rest) = lines.get(taken..).filter(|rest| !rest.is_empty()) {
        if rest[0].text.trim().is_empty() {
            taken += 1;
            continue;
        }
        let Some((record, length)) = entry(rest) else {
            break;
        };
        if !may_be_here(&record) {
            return None;
        }
        take(&mut gatherer, record, &mut boot);
        taken += length;
    }
    Some((gatherer, taken))
}

/// Takes an entry in, and returns whether it is the kernel's or that of a service that matters.
fn take(gatherer: &mut Gatherer, record: JournalRecord, boot: &mut Option<String>) -> bool {
    if boot.is_some() && record.boot_id.is_some() && *boot != record.boot_id {
        gatherer.a_boot_begins();
    }
    *boot = record.boot_id.or(boot.take());
    match record.sender.as_deref() {
        Some("kernel") => {
            gatherer.push_entry(record.line, record.host.as_deref());
            true
        }
        Some(program) => {
            let says = crate::kernel_log::Units::are_told_by(program, &record.line.text);
            gatherer.push_program(program, &record.line.text);
            says
        }
        None => false,
    }
}

/// Reads one entry, and how many lines it has.
fn entry(lines: &[Line<'_>]) -> Option<(JournalRecord, usize)> {
    let first = lines.first()?.text.trim();
    if let Some(json) = first.strip_prefix("data: ").or(Some(first)).filter(|json| json.starts_with('{')) {
        if json.len() > 1 {
            return json.contains("\"MESSAGE\"").then(|| Some((journal_record(json)?, 1)))?;
        }
        let end =
            lines.iter().take(LINES_OF_AN_ENTRY).position(|line| matches!(line.text.trim(), "}" | "},"))?;
        let text: Vec<&str> =
            lines[..=end].iter().map(|line| line.text.trim_end_matches(',').trim()).collect();
        // Fields stand on lines of their own; the commas between them were taken off.
        let fields = text[1..end].join(",");
        return fields
            .contains("\"MESSAGE\"")
            .then(|| Some((journal_record(&format!("{{{fields}}}"))?, end + 1)))?;
    }
    exported(lines)
}

/// Reads an entry of `journalctl -o export`: `NAME=value` on lines of their own.
fn exported(lines: &[Line<'_>]) -> Option<(JournalRecord, usize)> {
    if !lines.first()?.text.starts_with("__CURSOR=") {
        return None;
    }
    let length = lines.iter().take(LINES_OF_AN_ENTRY).take_while(|line| line.text.contains('=')).count();
    let fields = lines[..length].iter().filter_map(|line| line.text.split_once('='));
    let object: serde_json::Map<String, serde_json::Value> =
        fields.map(|(name, value)| (name.to_owned(), value.into())).collect();
    let json = serde_json::to_string(&object).ok()?;
    Some((journal_record(&json)?, length))
}
