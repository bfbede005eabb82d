//! Why a small text could not be understood.

use gpuwhy_model::reading::Failure;

/// A text that is not what it should be: where, and what was expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}")]
pub struct Malformed {
    /// The line, from 1.
    pub line: u64,
    /// What should have stood there.
    pub expected: &'static str,
}

impl Malformed {
    /// Says that the first line should have held something else.
    pub(crate) const fn first_line(expected: &'static str) -> Self {
        Self { line: 1, expected }
    }

    /// Returns the failure of a reading from the file that held the text.
    pub fn in_file(self, path: impl Into<String>) -> Failure {
        Failure::Syntax { path: path.into(), line: self.line, expected: self.expected.to_owned() }
    }
}
