//! A document as a list of parts, before it is written in one markup or another.

/// One part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A heading of this level, 1 being the title.
    Heading(u8, Vec<Piece>),
    /// Running text.
    Paragraph(Vec<Piece>),
    /// Items, one a line.
    List(Vec<Vec<Piece>>),
    /// A command, ready to copy.
    Command(String),
    /// The first row names the columns.
    Table(Vec<Vec<String>>),
}

/// A piece of running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it is.
    Plain(String),
    /// Made to stand out.
    Strong(String),
    /// A name or command, in letters of equal width.
    Code(String),
}

/// Returns running text of one plain piece.
pub(super) fn plain(text: impl Into<String>) -> Vec<Piece> {
    vec![Piece::Plain(text.into())]
}
