//! Rows of a table that is drawn with bars and dashes, also where a terminal or a letter wrapped them.

use crate::paste::Line;

/// So many lines show how wide a table is printed.
const LINES_FOR_WIDTH: usize = 200;

/// No printed table is wider.
const WIDTH_MAX: usize = 400;

/// One row, put together from the lines that it was wrapped over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The number of its first line in the text, from 1.
    pub(super) number: u64,
    /// How many lines it takes.
    pub(super) lines: usize,
    /// What it says.
    pub(super) text: String,
}

/// One cell of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell<'row> {
    pub(super) text: &'row str,
    /// Whether the bar behind it is there: else its end may be missing.
    pub(super) is_whole: bool,
}

impl<'row> Cell<'row> {
    /// Returns its words.
    pub(super) fn words(self) -> impl Iterator<Item = &'row str> {
        self.text.split_whitespace()
    }

    /// Returns its text if all of it is there.
    pub(super) fn whole(self) -> Option<&'row str> {
        self.is_whole.then(|| self.text.trim())
    }

    /// Returns whether nothing stands in it.
    pub(super) fn is_blank(self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Returns whether a line begins a row of a table.
pub(super) fn begins_row(text: &str) -> bool {
    text.trim_start().starts_with(['|', '+'])
}

/// Returns how wide a table is printed that begins here: at this column its lines may have been wrapped.
pub(super) fn printed_width(lines: &[Line<'_>]) -> usize {
    let rows = lines.iter().take(LINES_FOR_WIDTH).filter(|line| begins_row(&line.text));
    rows.map(|line| line.text.chars().count()).max().unwrap_or(0).min(WIDTH_MAX)
}

/// Returns the row that begins with the first of these lines; none where none does.
pub(super) fn row(lines: &[Line<'_>], width: usize) -> Option<Row> {
    let first = lines.first().filter(|line| begins_row(&line.text))?;
    let mut row = Row { number: first.number, lines: 1, text: first.text.clone().into_owned() };
    if let Some(next) = lines.get(1).filter(|next| goes_on(&row.text, &next.text, width)) {
        let missing = width.saturating_sub(row.text.chars().count());
        row.text.extend(std::iter::repeat_n(' ', missing));
        row.text.push_str(&next.text);
        row.lines = 2;
    }
    Some(row)
}

/// Returns whether a line is the wrapped rest of a row: it ends as rows do, and begins as none does.
fn goes_on(row: &str, line: &str, width: usize) -> bool {
    let rest = line.trim();
    let is_only_the_end = (rest == "|" || rest == "+") && row.trim().len() > 1;
    let blanks = |text: &str| text.len() - text.trim_start().len();
    let has_begin = begins_row(line) && blanks(line) <= blanks(row);
    let ends_as_row = rest.ends_with(['|', '+']);
    is_only_the_end || !has_begin && ends_as_row && line.chars().count() < width && row.trim() != rest
}

/// Returns whether a row is only a line that is drawn.
pub(super) fn is_drawn(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 3 && text.bytes().all(|byte| b"+-=|".contains(&byte)) && text.contains(['-', '='])
}

/// Returns the cells between the bars.
pub(super) fn cells(text: &str) -> Vec<Cell<'_>> {
    let text = text.trim();
    let inside = text.strip_prefix('|').unwrap_or(text);
    let mut parts = inside.split('|').peekable();
    let mut cells = Vec::new();
    while let Some(part) = parts.next() {
        let is_whole = parts.peek().is_some();
        // Behind the last bar stands nothing.
        if is_whole || !part.trim().is_empty() {
            cells.push(Cell { text: part, is_whole });
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::{Cell, cells, is_drawn, printed_width, row};
    use crate::paste::Paste;

    fn rows(text: &str) -> Vec<String> {
        let paste = Paste::of(text);
        let width = printed_width(&paste.lines);
        let mut rows = Vec::new();
        let mut next = 0;
        while let Some(row) = row(&paste.lines[next..], width) {
            next += row.lines;
            rows.push(row.text);
        }
        rows
    }

    #[test]
    fn wrapped_rows_are_put_together() {
        assert_eq!(
            rows("+--------\n---+\n| 0  abc\n   7 |\n|\n   9 |\n+--------\n---+"),
            ["+-----------+", "| 0  abc    7 |", "|           9 |", "+-----------+"]
        );
        assert_eq!(rows("| a b\n|\n| c d\n|"), ["| a b|", "| c d|"]);
    }

    #[test]
    fn whole_rows_stay() {
        assert_eq!(rows("| a |\n| b |\nx | y"), ["| a |", "| b |"]);
        assert_eq!(rows("+---+\n| a |\n+---+"), ["+---+", "| a |", "+---+"]);
    }

    #[test]
    fn cells_know_whether_they_are_whole() {
        assert_eq!(
            cells("| a | b "),
            [Cell { text: " a ", is_whole: true }, Cell { text: " b", is_whole: false }]
        );
        assert_eq!(cells("|  |x|").len(), 2);
        assert_eq!(cells("|").len(), 0);
    }

    #[test]
    fn drawn_lines_are_known() {
        for text in ["+---+", "|===+===|", "|---+", "+--", "======"] {
            assert!(is_drawn(text), "{text}");
        }
        for text in ["| a |", "|   |", "+", "||", "+-x-+"] {
            assert!(!is_drawn(text), "{text}");
        }
    }
}
