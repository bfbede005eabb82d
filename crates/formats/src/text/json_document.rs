//! JSON inside a paste: where a document ends, and what is whole of one that is cut.

use serde_json::Value;

use crate::paste::{Line, command_after_prompt};

/// No tool's document is deeper.
const DEPTH_MAX: usize = 48;
/// More than this is no output of a tool.
const BYTES_MAX: usize = 64 << 20;
/// So many lines are looked at for names that show whose document it is.
const LINES_LOOKED_AT: usize = 60;
/// So much of each of them.
const BYTES_LOOKED_AT: usize = 8192;

/// A document, or the whole beginning of one.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) value: Value,
    /// How many lines it takes.
    pub(super) lines: usize,
    /// Whether its end is missing.
    pub(super) is_cut: bool,
}

/// Returns whether a document begins with the first of these lines, in which one of the names stands.
pub(super) fn begins_with(lines: &[Line<'_>], names: &[&str]) -> bool {
    let Some(first) = lines.first().map(|line| line.text.trim_start()) else {
        return false;
    };
    first.starts_with(['{', '['])
        && lines.iter().take(LINES_LOOKED_AT).any(|line| {
            let start = beginning(&line.text);
            names.iter().any(|name| start.contains(name))
        })
}

fn beginning(text: &str) -> &str {
    let mut end = BYTES_LOOKED_AT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Reads the document that begins with the first of these lines.
pub(super) fn document(lines: &[Line<'_>]) -> Option<Document> {
    let mut scan = Scan::default();
    let mut text = String::new();
    let mut taken = 0;
    for line in lines {
        let is_another_tool = taken > 0 && !scan.in_text && command_after_prompt(&line.text).is_some();
        if is_another_tool || text.len() + line.text.len() > BYTES_MAX {
            break;
        }
        if !text.is_empty() {
            // A text that a terminal wrapped goes on without a break.
            if !scan.in_text {
                text.push('\n');
            }
        }
        let from = text.len();
        text.push_str(if taken == 0 { line.text.trim_start() } else { &line.text });
        taken += 1;
        match scan.go_on(&text, from) {
            Step::Inside => {}
            Step::Ended(end) => {
                // A list with something behind it is no document: `[ 12.5] message`.
                if text.starts_with('[') && !text[end..].trim().is_empty() {
                    return None;
                }
                text.truncate(end);
                let value = serde_json::from_str(&text).ok()?;
                return Some(Document { value, lines: taken, is_cut: false });
            }
            Step::Wrong => return None,
        }
    }
    let value = serde_json::from_str(&scan.closed(&text)?).ok()?;
    // What is no JSON any more behind the cut belongs to somebody else.
    let whole = text[..scan.whole_up_to?.0].matches('\n').count() + 1;
    let is_part = |line: &&Line<'_>| line.text.trim_start().starts_with(['"', '{', '}', '[', ']']);
    let more = lines.get(whole..taken).unwrap_or_default().iter().take_while(is_part).count();
    Some(Document { value, lines: (whole + more).min(taken), is_cut: true })
}

/// Where a text stands inside a document.
#[derive(Debug, Default)]
struct Scan {
    /// What closes each of the open parts, outermost first.
    open: Vec<u8>,
    in_text: bool,
    is_escaped: bool,
    /// Behind which place everything is whole, and how many parts are open there.
    whole_up_to: Option<(usize, usize)>,
}

enum Step {
    Inside,
    Ended(usize),
    Wrong,
}

impl Scan {
    fn go_on(&mut self, text: &str, from: usize) -> Step {
        for (place, byte) in text.bytes().enumerate().skip(from) {
            if self.in_text {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => {
                    if self.open.len() >= DEPTH_MAX {
                        return Step::Wrong;
                    }
                    self.open.push(if byte == b'{' { b'}' } else { b']' });
                }
                b'}' | b']' => {
                    if self.open.pop() != Some(byte) {
                        return Step::Wrong;
                    }
                    if self.open.is_empty() {
                        return Step::Ended(place + 1);
                    }
                    self.whole_up_to = Some((place + 1, self.open.len()));
                }
                b',' => self.whole_up_to = Some((place, self.open.len())),
                _ => {}
            }
        }
        Step::Inside
    }

    /// Returns what is whole of a text that is cut, with its open parts closed.
    fn closed(&self, text: &str) -> Option<String> {
        let (end, open) = self.whole_up_to?;
        let mut closed = text[..end].to_owned();
        // The parts that were open there are the first ones of those that were ever opened.
        closed.extend(self.open.get(..open)?.iter().rev().map(|byte| char::from(*byte)));
        Some(closed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{begins_with, document};
    use crate::paste::Paste;

    fn read(text: &str) -> Option<(serde_json::Value, usize, bool)> {
        let document = document(&Paste::of(text).lines)?;
        Some((document.value, document.lines, document.is_cut))
    }

    #[test]
    fn a_document_ends_with_its_last_bracket() {
        let text = "{\"a\": [1, \"}\"],\n \"b\": {}}\nmore { text\n";
        assert_eq!(read(text), Some((json!({"a": [1, "}"], "b": {}}), 2, false)));
        assert_eq!(read("[]"), Some((json!([]), 1, false)));
        assert_eq!(read("{\"a\": \"x\ny\"}"), Some((json!({"a": "xy"}), 2, false)));
    }

    #[test]
    fn what_is_whole_of_a_cut_one_is_read() {
        assert_eq!(
            read("{\"a\": [{\"b\": 1}, {\"b\": 2,\n\"c\": 3"),
            Some((json!({"a": [{"b": 1}, {"b": 2}]}), 2, true))
        );
        assert_eq!(read("[{\"b\": 1},\n{\"b\"\n$ free"), Some((json!([{"b": 1}]), 2, true)));
        assert_eq!(read("{\"a\""), None);
    }

    #[test]
    fn what_is_no_document_is_none() {
        for text in ["{a}", "{]", "[ 12.5] NVRM", "", "{"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"[".repeat(100_000)), None);
        assert!(begins_with(&Paste::of("{\n\"gpus\": 1}").lines, &["\"gpus\""]));
        assert!(!begins_with(&Paste::of("{\n\"x\": 1}").lines, &["\"gpus\""]));
    }
}
