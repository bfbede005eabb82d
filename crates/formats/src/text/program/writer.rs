//! What one writer of a log said: its lines, taken out of what others wrote between them.

use jiff::Timestamp;

use super::message::{self, Said};
use super::shape::{Shape, shape, without_group};
use super::standing::Error;
use super::system;

/// A line without what launchers and loggers put before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'line> {
    /// Its place among the lines of the block.
    pub(super) place: usize,
    /// When it was written.
    pub(super) at: Option<Timestamp>,
    /// The member of a job that wrote it.
    pub(super) rank: Option<u32>,
    /// Whether it begins a message: continued lines have no marks of their own.
    pub(super) begins: bool,
    /// Whether it shows a program that goes on as if nothing had happened.
    pub(super) goes_on: bool,
    /// The text.
    pub(super) text: &'line str,
}

/// No message is longer.
const MESSAGE_LINES_MAX: usize = 48;
const MESSAGE_BYTES_MAX: usize = 6000;

/// Reads everything that one writer said, in order.
pub(super) fn errors(entries: &[Entry<'_>]) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut reader = Reader::default();
    let mut next = 0;
    while let Some(entry) = entries.get(next) {
        next += reader.read(entry, &entries[next..], &mut errors).max(1);
    }
    errors
}

#[derive(Default)]
struct Reader {
    is_in_traceback: bool,
    is_linked: bool,
    is_taking_down: bool,
}

impl Reader {
    /// Reads what begins with an entry; returns how many entries it is.
    fn read(&mut self, entry: &Entry<'_>, rest: &[Entry<'_>], errors: &mut Vec<Error>) -> usize {
        match shape(entry.text, self.is_in_traceback) {
            Shape::Header | Shape::Frame => self.is_in_traceback = true,
            Shape::Link => (self.is_linked, self.is_in_traceback) = (true, false),
            Shape::TakingDown => self.is_taking_down = true,
            Shape::Detail | Shape::Blank => {}
            Shape::Exception { name, message } => return self.exception(name, message, rest, errors),
            Shape::Other => {
                self.is_in_traceback = false;
                return line(rest, errors);
            }
        }
        1
    }

    fn exception(&mut self, name: &str, first: &str, rest: &[Entry<'_>], errors: &mut Vec<Error>) -> usize {
        let (text, lines) = continued(first, rest);
        if let Some(code) = message::library_code(rest[0].text) {
            errors.push(Error::of_library(&rest[0], code));
            return lines;
        }
        let said = message::of_exception(name, &text);
        let mut error = Error::new(&rest[0], said, &format!("{name}: {text}"));
        error.is_exception = true;
        error.is_linked = std::mem::take(&mut self.is_linked);
        error.is_taking_down = std::mem::take(&mut self.is_taking_down);
        self.is_in_traceback = false;
        errors.push(error);
        lines
    }
}

/// Reads a line that is no part of a traceback; returns how many entries it is.
fn line(rest: &[Entry<'_>], errors: &mut Vec<Error>) -> usize {
    let first = &rest[0];
    // The C++ library says what was thrown on two lines.
    if let Some(name) = first.text.trim().strip_prefix("terminate called after throwing an instance of '") {
        let name = name.trim_end_matches('\'').replace("::", ".");
        let what = rest.get(1).and_then(|entry| entry.text.trim().strip_prefix("what():"));
        let (text, lines) = match what {
            Some(what) => continued(what.trim_start(), &rest[1..]),
            None => (String::new(), 0),
        };
        let said = message::of_exception(&name, &text);
        let mut error = Error::new(first, said, &format!("{name}: {text}"));
        error.is_exception = true;
        errors.push(error);
        return lines + 1;
    }
    if let Some(code) = message::library_code(first.text) {
        errors.push(Error::of_library(first, code));
        return 1;
    }
    // What is wrapped says more when it is read as one; what is not may have its own next line.
    let (joined, lines) = continued(first.text, rest);
    let alone = message::of_line(first.text);
    let whole = if lines > 1 { message::of_line(&joined) } else { None };
    let (said, text, lines) = match (alone, whole) {
        (Some(alone), Some(whole)) if is_more(&whole, &alone) => (whole, joined, lines),
        (Some(alone), _) => (alone, first.text.to_owned(), 1),
        (None, Some(whole)) if lines <= 4 => (whole, joined, lines),
        _ => return 1,
    };
    errors.push(Error::new(first, said, &text));
    lines
}

/// Returns whether a message as a whole says more of the same than its first line.
fn is_more(whole: &Said, first: &Said) -> bool {
    std::mem::discriminant(&whole.fact) == std::mem::discriminant(&first.fact) && whole != first
}

/// Returns a message with the lines that continue it, on one line, and how many entries that is.
fn continued(first: &str, rest: &[Entry<'_>]) -> (String, usize) {
    let mut text = first.trim_end().to_owned();
    let mut lines = 1;
    while let Some(entry) = rest.get(lines) {
        if entry.begins || lines >= MESSAGE_LINES_MAX || text.len() > MESSAGE_BYTES_MAX {
            break;
        }
        // A message may have one empty line in it, where text goes on behind it.
        let is_blank = entry.text.trim().is_empty();
        let goes_on = rest.get(lines + 1).is_some_and(|after| !after.begins && continues(after.text));
        if is_blank && !goes_on || !is_blank && !continues(entry.text) {
            break;
        }
        text.push(' ');
        text.push_str(without_group(entry.text).trim());
        lines += 1;
    }
    (text, lines)
}

/// Returns whether a line without marks can belong to the message before it.
pub(super) fn continues(text: &str) -> bool {
    let trimmed = text.trim();
    let begins_something = trimmed.starts_with(['$', '+', '|', '>', '#'])
        || trimmed.starts_with("Traceback (most")
        || crate::paste::command_after_prompt(text).is_some();
    !begins_something
        && !trimmed.is_empty()
        && matches!(shape(text, false), Shape::Other)
        && !says_its_own(trimmed)
}

/// Returns whether a line is a message of its own, by its words alone.
fn says_its_own(trimmed: &str) -> bool {
    const BEGINS: &[&str] = &[
        "terminate called",
        "Fatal Python error",
        "Segmentation fault",
        "Killed",
        "Aborted",
        "Bus error",
        "slurmstepd:",
        "srun:",
        "Exception in thread",
        "Process ",
        "make: ",
        "ERROR conda",
        "iteration ",
        "Epoch",
    ];
    let begins = BEGINS.iter().any(|begin| trimmed.starts_with(begin)) && !trimmed.contains(" has ");
    begins || system::is_of_shell(trimmed)
}
