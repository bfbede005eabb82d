//! Why gpuwhy could not look: what was tried, on what, why it failed, and what helps.

use std::error::Error;

use gpuwhy_model::text::Text;
use gpuwhy_render::{Words, broken_lines, message, safe};

/// Exit code of a look that could not be made.
pub(crate) const COULD_NOT_LOOK: u8 = 2;

/// Something that ends the program with [`COULD_NOT_LOOK`].
#[derive(Debug)]
pub(crate) struct Failure {
    what: Text,
    why: Option<Why>,
    hints: Vec<Text>,
}

/// The reason below a failure.
#[derive(Debug)]
enum Why {
    /// In the system's or a library's own words.
    Said(String),
    /// In our words.
    Text(Text),
}

impl Failure {
    /// Makes a failure.
    pub(crate) fn new(what: Text) -> Self {
        Self { what, why: None, hints: Vec::new() }
    }

    /// Adds the error that led to the failure, with all errors below it.
    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        self.why = Some(Why::Said(chain(error)));
        self
    }

    /// Adds the reason in our words.
    pub(crate) fn because_of(mut self, why: Text) -> Self {
        self.why = Some(Why::Text(why));
        self
    }

    /// Adds what helps.
    pub(crate) fn hint(mut self, hint: Text) -> Self {
        self.hints.push(hint);
        self
    }

    /// Returns the failure in words, each line ended by a line feed; lines are broken where a width is given.
    pub(crate) fn worded(&self, words: &Words<'_>, width: Option<usize>) -> String {
        let what = self.what.clone();
        let first = match &self.why {
            None => message::error(what),
            Some(Why::Said(why)) => message::error_because(what, one_line(why)),
            Some(Why::Text(why)) => message::error_because(what, why.clone()),
        };
        let hints = self.hints.iter().map(|hint| message::hint(hint.clone()));
        std::iter::once(first).chain(hints).map(|line| laid_out(&words.sentence(&line), width)).collect()
    }
}

/// Returns a line of talk as lines of a terminal; behind the first they are indented.
pub(crate) fn laid_out(line: &str, width: Option<usize>) -> String {
    const INDENT: &str = "  ";
    let lines = match width {
        Some(width) => broken_lines(line, width.saturating_sub(INDENT.len())),
        None => vec![line.to_owned()],
    };
    lines.join(&format!("\n{INDENT}")) + "\n"
}

/// Returns an error and all errors below it in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut chain = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        chain.push_str(": ");
        chain.push_str(&error.to_string());
        below = error.source();
    }
    chain
}

/// Returns a message of many lines in one.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    safe(&lines.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::laid_out;

    #[test]
    fn talk_is_broken_for_a_terminal_alone() {
        let hint = "hint: notes in your own words cannot be read";
        assert_eq!(laid_out(hint, None), format!("{hint}\n"));
        assert_eq!(laid_out(hint, Some(24)), "hint: notes in your\n  own words cannot be\n  read\n");
    }
}
