//! A text as far as it is kept: short ones whole, of long ones what could matter.

use std::borrow::Cow;
use std::io::{self, Read};

use super::Problem;
use super::long_text::{LongText, Passed};
use crate::decoding::decoded;
use crate::paste::Paste;

/// A longer text is sieved while it is read.
pub(super) const WHOLE_MAX: usize = 8 << 20;

/// A document is only understood as a whole.
pub(super) const DOCUMENT_MAX: usize = if cfg!(test) { 16 << 20 } else { 256 << 20 };

/// How many bytes are asked for at one time.
const STEP: usize = 1 << 20;

/// In which part of a text its head stands.
const HEAD: usize = 64 << 10;

/// How collections of other tools' outputs begin, which are longer than a paste and worth their memory.
const COLLECTION_MARKS: &[&[u8]] = &[b"nvidia-bug-report.log", b"NVIDIA bug report log file"];

/// A text, or what is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured(Kept);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    Whole(Vec<u8>),
    Lines(Vec<(u64, String)>),
}

impl Captured {
    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Kept::Whole(bytes) => bytes.trim_ascii().is_empty(),
            Kept::Lines(lines) => lines.is_empty(),
        }
    }

    /// Returns the text, if it was kept whole.
    pub fn whole(&self) -> Option<Cow<'_, str>> {
        match &self.0 {
            Kept::Whole(bytes) => Some(decoded(bytes)),
            Kept::Lines(_) => None,
        }
    }

    /// Cleans its lines and hands them over.
    pub fn with_paste<T>(&self, look: impl FnOnce(&Paste<'_>) -> T) -> T {
        match &self.0 {
            Kept::Whole(bytes) => look(&Paste::of(&decoded(bytes))),
            Kept::Lines(lines) => {
                look(&Paste::of_lines(lines.iter().map(|(number, text)| (*number, text.as_str()))))
            }
        }
    }
}

/// Reads a text to its end. What was read before an error stays.
pub(super) fn capture(reader: &mut dyn Read, problems: &mut Vec<Problem>) -> Captured {
    let mut bytes = Vec::new();
    let most = match read_up_to(reader, &mut bytes, WHOLE_MAX, problems) {
        End::Reached => return Captured(Kept::Whole(bytes)),
        End::Beyond if is_document(&bytes) => DOCUMENT_MAX,
        End::Beyond => {
            let mut long = LongText::default();
            long.add_all(bytes, reader, problems);
            let Passed { lines, passed } = long.finish();
            problems.extend(passed);
            return Captured(Kept::Lines(lines));
        }
    };
    if matches!(read_up_to(reader, &mut bytes, most, problems), End::Beyond) {
        bytes.truncate(most);
        problems.push(Problem::DocumentCut(most as u64));
    }
    Captured(Kept::Whole(bytes))
}

enum End {
    Reached,
    Beyond,
}

/// Reads on until there are more than `most` bytes.
fn read_up_to(reader: &mut dyn Read, bytes: &mut Vec<u8>, most: usize, problems: &mut Vec<Problem>) -> End {
    while bytes.len() <= most {
        match read_some(reader, bytes) {
            Ok(0) => return End::Reached,
            Ok(_) => {}
            Err(error) => {
                problems.push(Problem::Broken(error.to_string()));
                return End::Reached;
            }
        }
    }
    End::Beyond
}

/// Reads some more bytes to the end of those that are there; returns how many.
///
/// # Errors
/// Fails as the reader does, but for an interruption.
pub(super) fn read_some(reader: &mut dyn Read, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let before = bytes.len();
    bytes.reserve(STEP);
    reader.take(STEP as u64).read_to_end(bytes).map_or_else(
        // What came before the error is there already.
        |error| if bytes.len() > before { Ok(bytes.len() - before) } else { Err(error) },
        Ok,
    )
}

/// Returns whether a long text is only understood as a whole: JSON, XML, a collection of outputs.
fn is_document(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    let start = head.trim_ascii_start();
    if start.starts_with(b"<?xml") || start.starts_with(b"<nvidia_smi_log") {
        return true;
    }
    if COLLECTION_MARKS.iter().any(|mark| head.windows(mark.len()).any(|window| window == *mark)) {
        return true;
    }
    let is_array = start.strip_prefix(b"[").is_some_and(|rest| {
        // A log's line may begin with a bracket too.
        matches!(rest.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'))
    });
    (start.starts_with(b"{") || is_array) && !are_json_lines(bytes)
}

/// Returns whether every line is a document of its own, as a journal's export has it.
fn are_json_lines(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let is_whole = |line: &[u8]| line.starts_with(b"{") && line.ends_with(b"}");
    let first_two = [lines.next(), lines.next()];
    first_two.iter().all(|line| line.is_some_and(is_whole))
}

#[cfg(test)]
mod tests {
    use super::is_document;

    #[test]
    fn documents_are_told_from_logs() {
        for text in [
            &b"{\n  \"jobs\": ["[..],
            b" [{\"name\":",
            b"[\n[1,",
            b"<?xml version=\"1.0\"?>",
            b"{\"traceEvents\":[{},\n{},",
            b"____\nStart of NVIDIA bug report log file.  Please",
        ] {
            assert!(is_document(text), "{}", String::from_utf8_lossy(text));
        }
        for text in [
            &b"[    0.000000] Linux version"[..],
            b"[2026-11-30 10:00:00] x",
            b"{\"MESSAGE\":\"a\"}\n{\"MESSAGE\":\"b\"}\n",
            b"Nov 30 kernel",
            b"<6>[ 1.0] x",
            b"",
        ] {
            assert!(!is_document(text), "{}", String::from_utf8_lossy(text));
        }
    }
}
