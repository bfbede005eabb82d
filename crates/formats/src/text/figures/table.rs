//! A table in any of the forms in which people write one: strokes, commas, tabs, or blanks.

use crate::paste::{Line, command_after_prompt};

/// A longer line is a text.
const LINE_MAX: usize = 300;
/// More rows are no table that somebody made.
const ROWS_MAX: usize = 20_000;

/// A table: as many cells in each row as in the heading.
pub(super) struct Table {
    pub(super) heading: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    /// How many lines it takes.
    pub(super) lines: usize,
}

#[derive(Clone, Copy)]
enum Split {
    At(char),
    /// At two blanks or more.
    Wide,
    Blank,
}

impl Table {
    /// Reads the table that begins with the first of these lines; it has at least two columns and two rows.
    pub(super) fn of(lines: &[Line<'_>]) -> Option<Self> {
        let first = lines.first()?.text.trim();
        if first.len() > LINE_MAX || command_after_prompt(first).is_some() {
            return None;
        }
        let sign = ['|', '\t', ';', ','].into_iter().find(|sign| inside(first).contains(*sign));
        let splits: &[Split] = match sign {
            Some(sign) => &[Split::At(sign)],
            None => &[Split::Wide, Split::Blank],
        };
        splits.iter().find_map(|split| Self::split(lines, *split))
    }

    fn split(lines: &[Line<'_>], split: Split) -> Option<Self> {
        let heading = cells(&lines.first()?.text, split);
        let is_name = |cell: &String| number(cell).is_none();
        if heading.len() < 2 || !heading.iter().all(is_name) {
            return None;
        }
        let mut table = Self { heading, rows: Vec::new(), lines: 1 };
        for (place, line) in lines.iter().enumerate().skip(1).take(ROWS_MAX) {
            let text = line.text.trim();
            let is_rule = !text.is_empty() && text.bytes().all(|byte| b"-=|:+ \t".contains(&byte));
            if is_rule {
                continue;
            }
            let mut row = if text.len() <= LINE_MAX { cells(text, split) } else { Vec::new() };
            if row.len() != table.heading.len() && matches!(split, Split::Wide) {
                row = cells(text, Split::Blank);
            }
            if text.is_empty() || row.len() != table.heading.len() {
                break;
            }
            table.rows.push(row);
            table.lines = place + 1;
        }
        (table.rows.len() >= 2).then_some(table)
    }

    /// Returns a column's cells.
    pub(super) fn column(&self, place: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[place].as_str())
    }

    /// Returns the names of the columns in small letters.
    pub(super) fn names(&self) -> Vec<String> {
        self.heading.iter().map(|name| name.to_ascii_lowercase()).collect()
    }
}

fn inside(text: &str) -> &str {
    text.trim().trim_matches('|')
}

fn cells(text: &str, split: Split) -> Vec<String> {
    let owned = |cell: &str| cell.trim().trim_matches(['"', '`', '*']).trim().to_owned();
    let text = inside(text);
    match split {
        Split::At(',') => quoted(text).iter().map(|cell| owned(cell)).collect(),
        Split::At(sign) => text.split(sign).map(owned).collect(),
        Split::Wide => text.split("  ").filter(|cell| !cell.trim().is_empty()).map(owned).collect(),
        Split::Blank => text.split_whitespace().map(owned).collect(),
    }
}

/// Splits at commas that do not stand in quotes.
fn quoted(text: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_inside = false;
    for letter in text.chars() {
        is_inside ^= letter == '"';
        match cells.last_mut() {
            Some(cell) if letter != ',' || is_inside => cell.push(letter),
            _ => cells.push(String::new()),
        }
    }
    cells
}

/// Reads a cell that is a number, with its unit behind it where one stands there; thousands may be set apart.
pub(super) fn number(cell: &str) -> Option<(f64, &str)> {
    let length = cell.bytes().take_while(|byte| byte.is_ascii_digit() || b".,".contains(byte)).count();
    let unit = cell[length..].trim_start();
    let is_unit = unit.len() <= 12 && !unit.starts_with(|first: char| "-:/_".contains(first));
    let number = cell[..length].replace(',', "");
    let number: f64 = number.parse().ok()?;
    (is_unit && number.is_finite()).then_some((number, unit))
}

/// Returns whether a name has a word in it, apart from other letters.
pub(super) fn has_word(name: &str, word: &str) -> bool {
    let mut from = 0;
    while let Some(place) = name[from..].find(word).map(|place| place + from) {
        let end = place + word.len();
        let is_letter = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
        if !is_letter(name[..place].chars().next_back()) && !is_letter(name[end..].chars().next()) {
            return true;
        }
        from = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{has_word, number};

    #[test]
    fn cells_are_numbers_with_units() {
        assert_eq!(number("1,093 MiB"), Some((1093.0, "MiB")));
        assert_eq!(number("53.9"), Some((53.9, "")));
        for cell in ["GPU0", "10:00:01", "1-2", "2026-01-02", "", "."] {
            assert_eq!(number(cell), None, "{cell}");
        }
        assert!(has_word("vram_used (mib)", "mib") && !has_word("embed", "mb"));
    }
}
