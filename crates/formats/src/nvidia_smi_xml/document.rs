//! The XML of `nvidia-smi` as a small tree, with limits: depth, elements, no entities of its own.

use quick_xml::errors::IllFormedError;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Error, Reader};

use super::element::Element;
use crate::format::{Format, FormatError};

/// The real output is seven deep.
const MOST_DEPTH: usize = 32;

/// A node of sixteen cards has twenty thousand.
const MOST_ELEMENTS: usize = 1_000_000;

/// What the output begins with.
const ROOT: &str = "nvidia_smi_log";
const ROOT_START: &str = "<nvidia_smi_log";

/// What is worth to be read even if the rest is missing.
const CARD: &str = "gpu";

/// What could be read of a document.
#[derive(Debug)]
pub(super) struct Document {
    /// All of it that is whole.
    pub(super) root: Element,
    /// The line at which the rest is missing.
    pub(super) cut_at: Option<u64>,
}

/// Reads the first document. What stands before it (a prompt) and after it (warnings) is left out; of one that was cut
/// everything is read that is whole, if one card is.
pub(super) fn document(text: &str) -> Result<Document, FormatError> {
    let start = start_of_document(text);
    let mut parser = Parser {
        text,
        start,
        counted_to: start,
        line: 1 + lines_in(&text.as_bytes()[..start]),
        open: Vec::new(),
        elements: 0,
    };
    let mut reader = Reader::from_str(&text[start..]);
    // The names are compared here, for a clearer error.
    reader.config_mut().check_end_names = false;
    loop {
        let before = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                parser.count_lines_to(usize::try_from(reader.error_position()).unwrap_or(before));
                let is_end = is_end_of_text(&error);
                let error = parser.error("well-formed XML", error.to_string());
                return if is_end { parser.cut(error) } else { Err(error) };
            }
        };
        parser.count_lines_to(before);
        let closed = match event {
            Event::Start(tag) if parser.is_next_document(&tag) => {
                let error = parser.end_error(format!("another `<{ROOT}>`"));
                return parser.cut(error);
            }
            Event::Start(tag) => {
                parser.open(&tag)?;
                None
            }
            Event::Empty(tag) => {
                parser.open(&tag)?;
                parser.close()?
            }
            Event::End(tag) => {
                let name = tag.name().into_inner().to_owned();
                parser.check_end(&name)?;
                parser.close()?
            }
            Event::Eof => {
                parser.count_lines_to(text.len() - start);
                let error = parser.end_error("the end of the text".to_owned());
                return parser.cut(error);
            }
            other => {
                parser.add(&other)?;
                None
            }
        };
        if let Some(root) = closed {
            return Ok(Document { root, cut_at: None });
        }
    }
}

/// Returns whether an error only says that the text ends too early.
fn is_end_of_text(error: &Error) -> bool {
    matches!(error, Error::Syntax(_) | Error::IllFormed(IllFormedError::UnclosedReference))
}

/// Returns where the document begins: at its declaration, its type, or its root.
fn start_of_document(text: &str) -> usize {
    let Some(root) = text.find(ROOT_START) else {
        return 0;
    };
    let before = &text[..root];
    before.find("<?xml").or_else(|| before.find("<!DOCTYPE")).unwrap_or(root)
}

/// Returns how many line ends there are.
fn lines_in(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').skip(1).count() as u64
}

struct Parser<'text> {
    text: &'text str,
    start: usize,
    counted_to: usize,
    line: u64,
    open: Vec<Element>,
    elements: usize,
}

impl Parser<'_> {
    /// Moves the line number on to a place in the document.
    fn count_lines_to(&mut self, offset: usize) {
        let place = self.start.saturating_add(offset).min(self.text.len());
        if place > self.counted_to {
            self.line += lines_in(&self.text.as_bytes()[self.counted_to..place]);
            self.counted_to = place;
        }
    }

    fn error(&self, expected: impl Into<String>, found: String) -> FormatError {
        FormatError { format: Format::NvidiaSmiXml, line: self.line, expected: expected.into(), found }
    }

    /// Returns the error of a text that ends, or begins anew, before it should.
    fn end_error(&self, found: String) -> FormatError {
        let expected = match self.open.last() {
            Some(element) => format!("`</{}>`", element.name),
            None => format!("`<{ROOT}>`"),
        };
        self.error(expected, found)
    }

    /// Returns what is whole of a document whose end is missing, or the error if no card is.
    fn cut(self, error: FormatError) -> Result<Document, FormatError> {
        match self.open.into_iter().next() {
            Some(root) if root.child(&[CARD]).is_some() => Ok(Document { root, cut_at: Some(self.line) }),
            _ => Err(error),
        }
    }

    /// Returns whether a tag begins another document within this one, whose end is missing then.
    fn is_next_document(&self, tag: &BytesStart<'_>) -> bool {
        !self.open.is_empty() && tag.name().into_inner() == ROOT
    }

    /// Adds what stands between tags.
    fn add(&mut self, event: &Event<'_>) -> Result<(), FormatError> {
        match event {
            Event::Text(piece) => self.add_text(&piece.xml10_content()),
            Event::CData(piece) => self.add_text(&piece.xml10_content()),
            Event::GeneralRef(reference) => self.add_reference(reference)?,
            Event::DocType(definition) if definition.borrow().into_inner().contains('[') => {
                return Err(self.error("no definitions in the document type", "some".to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), FormatError> {
        let name = tag.name().into_inner().to_owned();
        if self.open.is_empty() && name != ROOT {
            return Err(self.error(format!("`<{ROOT}>`"), format!("`<{}>`", shortened(&name))));
        }
        self.elements += 1;
        if self.open.len() >= MOST_DEPTH {
            return Err(self.error(format!("elements at most {MOST_DEPTH} deep"), "deeper ones".to_owned()));
        }
        if self.elements > MOST_ELEMENTS {
            return Err(self.error(format!("at most {MOST_ELEMENTS} elements"), "more".to_owned()));
        }
        let id = match tag.try_get_attribute("id") {
            Ok(id) => id.map(|id| id.value.into_owned()),
            Err(error) => return Err(self.error("well-formed attributes", error.to_string())),
        };
        self.open.push(Element { name, id, line: self.line, ..Element::default() });
        Ok(())
    }

    fn check_end(&self, name: &str) -> Result<(), FormatError> {
        match self.open.last() {
            Some(element) if element.name == name => Ok(()),
            Some(element) => {
                Err(self.error(format!("`</{}>`", element.name), format!("`</{}>`", shortened(name))))
            }
            None => Err(self.error(format!("`<{ROOT}>`"), format!("`</{}>`", shortened(name)))),
        }
    }

    /// Closes the innermost element; returns it when it is the root.
    fn close(&mut self) -> Result<Option<Element>, FormatError> {
        let Some(element) = self.open.pop() else {
            return Err(self.error(format!("`<{ROOT}>`"), "an end".to_owned()));
        };
        let text = element.text.trim().to_owned();
        let element = Element { text, ..element };
        match self.open.last_mut() {
            Some(parent) => {
                parent.children.push(element);
                Ok(None)
            }
            None => Ok(Some(element)),
        }
    }

    fn add_text(&mut self, piece: &str) {
        let Some(element) = self.open.last_mut() else {
            return;
        };
        for character in piece.chars() {
            if character.is_control() && !character.is_ascii_whitespace() {
                element.text.extend(character.escape_default());
            } else {
                element.text.push(character);
            }
        }
    }

    fn add_reference(&mut self, reference: &BytesRef<'_>) -> Result<(), FormatError> {
        let character = match reference.resolve_char_ref() {
            Ok(Some(character)) => Some(character),
            Ok(None) => predefined(&reference.borrow().into_inner()),
            Err(_) => None,
        };
        let Some(character) = character else {
            let name = reference.borrow().into_inner().into_owned();
            return Err(self.error("one of XML's own entities", format!("`&{};`", shortened(&name))));
        };
        self.add_text(character.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}

fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}

/// Returns the begin of a name that a stranger chose.
fn shortened(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_default).collect()
}
