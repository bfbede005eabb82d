//! A trace inside a text: where it begins and ends.

use std::io::{self, Read};

use super::{TraceRead, read, read_text};
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context, Remark};

/// So much of a text is looked at for what only a trace has.
const LOOKED_AT: usize = 64 << 10;

/// Names of which a trace has one near its begin.
const MARKS: &[&str] = &["\"traceEvents\"", "\"deviceProperties\"", "\"distributedInfo\""];

/// Reads the trace that begins with the first line.
pub(crate) fn read_lines(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    if !begins(lines) {
        return None;
    }
    let length = length(lines);
    let own = &lines[..length];
    let TraceRead { scene, cut_at } = match own {
        [only] => read_text(&only.text)?,
        several => read(Joined { lines: several, place: 0 })?,
    };
    let number = |line: u64| {
        let place = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        own.get(place).or(own.last()).map_or(0, |line| line.number)
    };
    let remarks = cut_at.map(|line| Remark::Cut { line: number(line), cards: scene.traces.len() });
    Some(Block { lines: length, scene, remarks: remarks.into_iter().collect() })
}

/// Returns whether a trace begins here: an object with its names, or a list of events.
fn begins(lines: &[Line<'_>]) -> bool {
    let Some(first) = lines.first() else { return false };
    let is_object = first.text.starts_with('{');
    if !is_object && !first.text.starts_with('[') {
        return false;
    }
    // A document on one line is over there.
    let is_one_line = first.text.len() > 1 && first.text.trim_end().ends_with(['}', ']']);
    let mut looked_at = 0;
    for line in lines.iter().take(if is_one_line { 1 } else { usize::MAX }) {
        let mut end = line.text.len().min(LOOKED_AT - looked_at);
        while !line.text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &line.text[..end];
        if MARKS.iter().any(|mark| text.contains(mark))
            && (!is_one_line || line.text.contains("\"traceEvents\""))
        {
            return true;
        }
        let is_event = text.contains("\"ph\"") && (text.contains("\"ts\"") || text.contains("\"name\""));
        if !is_object && (is_event || text.trim_start().starts_with("\"ph\"")) {
            return true;
        }
        looked_at += end;
        if looked_at >= LOOKED_AT {
            return false;
        }
    }
    false
}

/// Returns the number of lines up to the last bracket; of a trace that is cut up to what is no JSON.
fn length(lines: &[Line<'_>]) -> usize {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    let mut last = 0;
    for (place, line) in lines.iter().enumerate() {
        let trimmed = line.text.trim_start();
        let is_json = trimmed.is_empty()
            || trimmed.starts_with(['"', '{', '}', '[', ']', ',', '-', 't', 'f', 'n'])
            || in_text
            || trimmed.starts_with(|first: char| first.is_ascii_digit());
        if place > 0 && (!is_json || !in_text && command_after_prompt(&line.text).is_some()) {
            break;
        }
        for byte in line.text.bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_text => is_escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return place + 1;
                    }
                }
                _ => {}
            }
        }
        last = place;
    }
    last + 1
}

/// Lines as one text again.
struct Joined<'lines, 'text> {
    lines: &'lines [Line<'text>],
    /// How much of the first line was read; one more than its length stands for its end.
    place: usize,
}

impl Read for Joined<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < buffer.len() {
            let Some(line) = self.lines.first() else { break };
            let text = line.text.as_bytes();
            if self.place >= text.len() {
                buffer[written] = b'\n';
                written += 1;
                self.lines = &self.lines[1..];
                self.place = 0;
                continue;
            }
            let rest = &text[self.place..];
            let number = rest.len().min(buffer.len() - written);
            buffer[written..written + number].copy_from_slice(&rest[..number]);
            written += number;
            self.place += number;
        }
        Ok(written)
    }
}
