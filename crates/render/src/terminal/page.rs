//! A page of text that grows line by line: indents, labels, broken lines.

use crate::flow;
use crate::paint::Paint;

/// Lines of a given width.
pub(super) struct Page {
    pub(super) width: usize,
    pub(super) paint: Paint,
    text: String,
}

/// Returns a label with the space that belongs behind it; a full-width colon has its own.
pub(crate) fn spaced(label: &str) -> String {
    if label.is_ascii() { format!("{label} ") } else { label.to_owned() }
}

impl Page {
    pub(super) fn new(width: usize, colour: bool) -> Self {
        Self { width, paint: Paint { colour }, text: String::new() }
    }

    /// Writes one line as it is, without trailing spaces.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end_matches(' '));
        self.text.push('\n');
    }

    /// Writes an empty line, if something stands above.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Writes running text at an indent.
    pub(super) fn paragraph(&mut self, indent: usize, text: &str) {
        self.labelled(indent, "", text);
    }

    /// Writes running text that steps back, at an indent.
    pub(super) fn quiet_paragraph(&mut self, indent: usize, text: &str) {
        for line in flow::lines(text, self.width - indent) {
            let line = self.paint.quiet(&line);
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// Writes running text behind a label; further lines stand below the text, not below the label.
    pub(super) fn labelled(&mut self, indent: usize, label: &str, text: &str) {
        let hanging = indent + flow::columns(label);
        let mut start = format!("{}{}", " ".repeat(indent), self.paint.strong(label));
        for line in flow::lines(text, self.width - hanging) {
            self.line(&format!("{start}{line}"));
            start = " ".repeat(hanging);
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
