//! What begins an output, and which part of it a row belongs to.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::message::{Message, message};
use super::row::{cells, is_drawn, printed_width, row};
use super::{card_row, instances, panel};
use crate::paste::Line;

/// How the output writes its time, without a zone.
const TIME_FORMAT: &str = "%a %b %e %H:%M:%S %Y";

/// So many blank lines may stand between the parts of one output.
const BLANK_LINES_MAX: usize = 3;

/// In which part of the output a row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Cards,
    Instances,
    Processes,
}

/// Returns the time that a line is, as the tool prints it above the table.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    // "Fri Jun  8 07:42:08 2018"
    if !(23..=24).contains(&text.trim().len()) {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let looks_like_time = matches!(words[..], [_, _, _, clock, _] if clock.as_bytes().get(2) == Some(&b':'));
    let local = looks_like_time.then(|| DateTime::strptime(TIME_FORMAT, words.join(" ")).ok())??;
    TimeZone::UTC.to_timestamp(local).ok()
}

/// Returns whether an output begins with the first of these lines.
pub(super) fn begins(lines: &[Line<'_>]) -> bool {
    let Some(first) = lines.first() else {
        return false;
    };
    let text = first.text.trim();
    if text.starts_with('|') {
        return is_own_row(lines);
    }
    let next = || lines.get(1..).unwrap_or_default();
    if text.starts_with('+') {
        return is_drawn(text) && is_own_below(next());
    }
    if text.starts_with("Every ") && text.contains("nvidia-smi") || time(text).is_some() {
        let below = after_blanks(next());
        return below.first().is_some_and(|line| {
            time(&line.text).is_some() || stands_alone(&line.text) || is_own_row(below) || {
                line.text.trim_start().starts_with('+') && is_own_below(below.get(1..).unwrap_or_default())
            }
        });
    }
    stands_alone(text)
}

/// Returns whether a line is a message that needs no table.
fn stands_alone(text: &str) -> bool {
    message(text).is_some_and(|message| !matches!(message, Message::Advice | Message::OtherWarning))
}

pub(super) fn after_blanks<'lines, 'text>(lines: &'lines [Line<'text>]) -> &'lines [Line<'text>] {
    let blanks = lines.iter().take(BLANK_LINES_MAX).take_while(|line| line.text.trim().is_empty()).count();
    &lines[blanks..]
}

/// Returns whether below a drawn line stands a row of this table; the line itself may be wrapped.
fn is_own_below(lines: &[Line<'_>]) -> bool {
    is_own_row(below_drawn(lines))
}

/// Returns what stands below a drawn line, which may be wrapped.
pub(super) fn below_drawn<'lines, 'text>(lines: &'lines [Line<'text>]) -> &'lines [Line<'text>] {
    let is_part = |text: &str| is_drawn(text) || text.trim() == "+" || text.trim() == "|";
    let drawn = lines.iter().take(2).take_while(|line| is_part(&line.text)).count();
    &lines[drawn..]
}

/// Returns whether a row is surely one of this table, whatever stands above it.
pub(super) fn is_own_row(lines: &[Line<'_>]) -> bool {
    let Some(text) = lines.first().map(|line| line.text.trim()) else {
        return false;
    };
    if !text.starts_with('|') {
        return false;
    }
    if is_heading(text) || is_column_heading(text) {
        return true;
    }
    match part_heading(text) {
        // Other tools call their panels so too: this one says what its last column is.
        Some(Part::Processes) => return lines.iter().take(2).any(|line| line.text.contains("GPU Memory")),
        Some(_) => return true,
        None => {}
    }
    let Some(row) = row(lines, printed_width(&lines[..lines.len().min(4)])) else {
        return false;
    };
    let cells = cells(&row.text);
    card_row::begin(&cells).is_some()
        || card_row::is_values(&cells) && row.text.contains("MiB /")
        || instances::begin(&cells).is_some_and(|instance| instance.sample.memory.is_known())
        || matches!(cells[..], [only] if panel::is_unmistakable(only.text, only.is_whole))
}

pub(super) fn is_heading(text: &str) -> bool {
    text.starts_with("| NVIDIA-SMI") || text.starts_with("|NVIDIA-SMI")
}

pub(super) fn is_column_heading(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    has(&["GPU", "Name", "Bus-Id"]) && !text.contains("HL-SMI")
        || has(&["Fan", "Temp", "Perf"])
        || has(&["MIG M."])
}

/// Returns which part begins with a heading.
pub(super) fn part_heading(text: &str) -> Option<Part> {
    let inside = text.trim_start_matches('|').trim_start();
    if inside.starts_with("MIG devices:") {
        return Some(Part::Instances);
    }
    (inside.starts_with("Processes:") || inside.starts_with("Compute processes:")).then_some(Part::Processes)
}

/// Returns whether a row only names columns of the lower parts.
pub(super) fn is_small_heading(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    has(&["GPU", "PID"]) && has(&["rocess name"])
        || has(&["ID", "ID", "Usage"])
        || has(&["GPU", "GI", "CI"])
        || has(&["BAR1-Usage"])
        || has(&["ECC|"])
}
