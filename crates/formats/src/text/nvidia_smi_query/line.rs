//! What one line of the text is by its form.

use crate::kernel_log::pci_address;

use super::names::plain;

/// A longer label or heading is something else.
const LABEL_MAX: usize = 60;
/// No heading has more words.
const WORDS_MAX: usize = 7;
/// A tab goes to the next column that this divides.
const TAB: usize = 8;

/// What a line is by its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape<'line> {
    /// Nothing.
    Blank,
    /// `==============NVSMI LOG==============`
    Banner,
    /// `GPU 00000000:19:00.0`
    Card(&'line str),
    /// `Label       : value`
    Value {
        /// The label in its plain form.
        plain: String,
        value: &'line str,
        /// The column of the colon.
        column: usize,
        /// Whether blanks put the colon below others.
        is_aligned: bool,
    },
    /// A label without a colon.
    Heading(String),
    /// Anything else.
    Other,
}

/// Returns what a line is.
pub(super) fn shape(text: &str) -> Shape<'_> {
    let inside = text.trim();
    if inside.is_empty() {
        return Shape::Blank;
    }
    if inside.starts_with("==") && inside.contains("NVSMI LOG") {
        return Shape::Banner;
    }
    if let Some(address) = inside.strip_prefix("GPU ").map(str::trim)
        && address.contains(':')
        && pci_address(address).is_some()
    {
        return Shape::Card(address);
    }
    value(text).or_else(|| heading(inside)).unwrap_or(Shape::Other)
}

fn value(text: &str) -> Option<Shape<'_>> {
    let colon = text.find(" :").or_else(|| text.find("\t:"))?;
    let label = text[..colon].trim();
    let rest = &text[colon + 2..];
    let is_label = is_words(label) && label.len() <= LABEL_MAX;
    let is_separate = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_label && is_separate).then(|| Shape::Value {
        plain: plain(label),
        value: rest.trim(),
        column: columns(&text[..=colon]),
        is_aligned: text[..colon].ends_with(char::is_whitespace),
    })
}

fn heading(inside: &str) -> Option<Shape<'_>> {
    let is_heading = is_words(inside)
        && inside.len() <= LABEL_MAX
        && inside.split_whitespace().count() <= WORDS_MAX
        && !inside.ends_with('.');
    is_heading.then(|| Shape::Heading(plain(inside)))
}

/// Returns whether a text is made of words as labels are.
fn is_words(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .-/()".contains(&byte))
}

/// Returns how far a line is indented, in columns.
pub(super) fn indentation(text: &str) -> usize {
    columns(&text[..text.len() - text.trim_start().len()])
}

fn columns(text: &str) -> usize {
    let step = |column: usize, character: char| {
        if character == '\t' { (column / TAB + 1) * TAB } else { column + 1 }
    };
    text.chars().fold(0, step)
}

#[cfg(test)]
mod tests {
    use super::{Shape, indentation, shape};

    #[test]
    fn forms_are_known() {
        assert_eq!(shape("   "), Shape::Blank);
        assert_eq!(shape("==============NVSMI LOG=============="), Shape::Banner);
        assert_eq!(shape("GPU 00000000:19:00.0"), Shape::Card("00000000:19:00.0"));
        assert_eq!(shape("GPU 0000:0A:00.0"), Shape::Card("0000:0A:00.0"));
        assert_eq!(shape("    FB Memory Usage"), Shape::Heading("fb_memory_usage".into()));
        let Shape::Value { plain, value, column, is_aligned } = shape("    Bus Id      : 00000000:19:00.0")
        else {
            panic!("no value");
        };
        assert_eq!((plain.as_str(), value, column, is_aligned), ("bus_id", "00000000:19:00.0", 16, true));
        assert!(matches!(shape("Minor Number : "), Shape::Value { value: "", is_aligned: false, .. }));
    }

    #[test]
    fn other_lines_are_none_of_these() {
        for text in [
            "[...]",
            "GPU 0: Some Card (UUID: GPU-1)",
            "a, b, c",
            "key: value",
            "See you later.",
            "| a | b |",
        ] {
            assert_eq!(shape(text), Shape::Other, "{text}");
        }
        assert!(matches!(shape("GPU 0"), Shape::Heading(_)));
    }

    #[test]
    fn tabs_are_columns() {
        assert_eq!((indentation("\t x"), indentation("    x"), indentation("x")), (9, 4, 0));
    }
}
