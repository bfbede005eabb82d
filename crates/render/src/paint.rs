//! Colour for terminals. It repeats what the words say and is never needed.

use gpuwhy_model::verdict::Severity;

/// Adds colour, or leaves texts as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    /// Colours a text by how bad it is.
    pub(crate) fn severity(self, severity: Severity, text: &str) -> String {
        let code = match severity {
            Severity::Ok => "32",
            Severity::Note => "36",
            Severity::Warn => "33",
            Severity::Fault => "31;1",
        };
        self.wrapped(code, text)
    }

    /// Makes a text stand out.
    pub(crate) fn strong(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    /// Makes a text step back.
    pub(crate) fn quiet(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    fn wrapped(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
