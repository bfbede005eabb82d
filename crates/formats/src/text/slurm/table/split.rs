//! Cells of a line: between bars, commas, semicolons, tabs or blanks.

use super::super::tres;
use super::super::words::between_commas;

/// What stands between the cells of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `a|b|` as `--parsable` writes it, and `| a | b |` as people do.
    Bar,
    /// `a|#b`, as some collectors write it.
    BarHash,
    Comma,
    Semicolon,
    Tab,
    Blanks,
}

/// Marks in the order in which they are looked for.
pub(super) const MARKS: &[Mark] =
    &[Mark::BarHash, Mark::Bar, Mark::Tab, Mark::Semicolon, Mark::Comma, Mark::Blanks];

/// Returns the cells of a line that is split at a mark; none when the mark is not in it.
pub(super) fn cells(text: &str, mark: Mark) -> Option<Vec<&str>> {
    let text = text.trim();
    let cells: Vec<&str> = match mark {
        Mark::BarHash => text.contains("|#").then(|| text.split("|#").collect())?,
        Mark::Bar => {
            text.contains('|').then_some(())?;
            let text = text.strip_prefix('|').unwrap_or(text);
            text.strip_suffix('|').unwrap_or(text).split('|').collect()
        }
        Mark::Comma => text.contains(',').then(|| between_commas(text))?,
        Mark::Semicolon => text.contains(';').then(|| text.split(';').collect())?,
        Mark::Tab => text.contains('\t').then(|| text.split('\t').collect())?,
        Mark::Blanks => text.split_whitespace().collect(),
    };
    Some(cells.into_iter().map(unquoted).collect())
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
}

/// Returns cells between commas where a list of TRES that was not quoted is one cell again: `cpu=8,mem=4G`.
pub(super) fn rejoined(text: &str, columns: usize) -> Option<Vec<String>> {
    let cells = cells(text, Mark::Comma)?;
    let mut joined: Vec<String> = Vec::new();
    for cell in cells {
        match joined.last_mut() {
            Some(last) if tres::pairs(last).is_some() && tres::pairs(cell).is_some() => {
                last.push(',');
                last.push_str(cell);
            }
            _ => joined.push(cell.to_owned()),
        }
    }
    (joined.len() <= columns).then_some(joined)
}

/// Returns whether a line only rules: `----- ------`, `|---|:--|`, `+----+`.
pub(super) fn is_rule(text: &str) -> bool {
    text.contains("--") && text.bytes().all(|byte| b"-=|+: \t".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{Mark, cells, is_rule, rejoined};

    #[test]
    fn cells_are_split() {
        assert_eq!(cells("a|b||", Mark::Bar).unwrap(), ["a", "b", ""]);
        assert_eq!(cells("| a | b |", Mark::Bar).unwrap(), ["a", "b"]);
        assert_eq!(cells("a|#b", Mark::BarHash).unwrap(), ["a", "b"]);
        assert_eq!(cells("1,n[1,2],\"x,y\"", Mark::Comma).unwrap(), ["1", "n[1,2]", "x,y"]);
        assert_eq!(rejoined("1,cpu=8,mem=4G,PD", 3).unwrap(), ["1", "cpu=8,mem=4G", "PD"]);
        assert!(cells("a b", Mark::Comma).is_none() && rejoined("1,2,3", 2).is_none());
        assert!(is_rule("---- --- ") && is_rule("|---|:-:|") && !is_rule("a--b") && !is_rule("-"));
    }
}
