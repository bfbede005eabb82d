//! One row of a table: its cells, and the numbers in them.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::units::Bytes;

use super::columns::{Column, Columns, Unit};
use super::times::moment;
use crate::nvidia_cell::said;

/// How a value at the end of a text ends if nothing of it is missing.
const WHOLE_ENDS: &[&str] =
    &[" MiB", " %", " W", " MHz", " us", " ms", "]", "Default", "Active", "Enabled", "Disabled"];

/// One row, cut into cells.
#[derive(Debug, Clone)]
pub(super) struct Row<'columns, 'line> {
    columns: &'columns Columns,
    cells: Vec<&'line str>,
    /// The last cell may be cut.
    is_open: bool,
}

/// Cuts a line into as many cells as there are columns; a process's name may hold the separator.
pub(super) fn row<'columns, 'line>(
    columns: &'columns Columns,
    text: &'line str,
    is_last: bool,
) -> Option<Row<'columns, 'line>> {
    let mut cells = cells(text, columns.separator);
    let wanted = columns.list.len();
    // A separator may end the row.
    if cells.len() == wanted + 1 && cells.last().is_some_and(|last| last.is_empty()) {
        cells.pop();
    }
    if cells.len() > wanted
        && let Some(name) = columns.place(Column::ProcessName)
    {
        cells = with_joined_name(text, &cells, name, wanted)?;
    }
    let is_row = cells.len() == wanted && cells.iter().any(|cell| !cell.is_empty()) && fits(columns, &cells);
    let is_open = is_last && !WHOLE_ENDS.iter().any(|end| text.ends_with(end));
    is_row.then_some(Row { columns, cells, is_open })
}

/// Returns whether most cells look like what their columns hold: text behind a table may have as many commas.
fn fits(columns: &Columns, cells: &[&str]) -> bool {
    let mut judged = 0;
    let mut fitting = 0;
    for ((column, _), cell) in columns.list.iter().zip(cells) {
        let fits = match column {
            Column::Index | Column::Count | Column::Card(_) => is_value(cell),
            Column::Time | Column::Elapsed => moment(cell).is_some(),
            Column::Uuid => cell.starts_with("GPU-") || cell.starts_with("MIG-"),
            Column::Address => cell.contains(':'),
            _ => continue,
        };
        judged += 1;
        fitting += usize::from(fits || said(cell).known().is_none());
    }
    fitting * 2 >= judged
}

/// Returns whether a text looks like the value of a card.
fn is_value(cell: &str) -> bool {
    const WORDS: &[&str] = &[
        "Enabled",
        "Disabled",
        "Active",
        "Not Active",
        "Yes",
        "No",
        "Default",
        "Exclusive_Process",
        "Exclusive_Thread",
        "Prohibited",
        "valid",
        "Completed",
        "In Progress",
        "Not Started",
        "Success",
    ];
    let number = cell.strip_prefix('P').unwrap_or(cell);
    number.starts_with(|first: char| first.is_ascii_digit() || first == '-') || WORDS.contains(&cell)
}

/// Cuts a line at separators that do not stand between quote marks.
fn cells(text: &str, separator: char) -> Vec<&str> {
    let mut cells = Vec::new();
    let mut start = 0;
    let mut is_quoted = false;
    for (place, character) in text.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            _ if character == separator && !is_quoted => {
                cells.push(bare(&text[start..place]));
                start = place + character.len_utf8();
            }
            _ => {}
        }
    }
    cells.push(bare(&text[start..]));
    cells
}

fn bare(cell: &str) -> &str {
    cell.trim().trim_matches('"').trim()
}

fn with_joined_name<'line>(
    text: &'line str,
    cells: &[&'line str],
    name: usize,
    wanted: usize,
) -> Option<Vec<&'line str>> {
    let extra = cells.len() - wanted;
    let at = |cell: &str| (cell.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
    let (first, last) = (cells.get(name)?, cells.get(name + extra)?);
    let joined = text.get(at(first)?..at(last)? + last.len())?;
    let mut all = cells[..name].to_vec();
    all.push(joined);
    all.extend(&cells[name + extra + 1..]);
    Some(all)
}

impl<'line> Row<'_, 'line> {
    /// Returns all columns with their cells.
    pub(super) fn readings(&self) -> impl Iterator<Item = (Column, Unit, Reading<&'line str>)> {
        let last = self.cells.len().saturating_sub(1);
        self.columns.list.iter().zip(&self.cells).enumerate().map(move |(place, ((column, unit), cell))| {
            let is_cut = self.is_open && place == last;
            (*column, *unit, if is_cut { Reading::default() } else { said(cell) })
        })
    }

    /// Returns the text in a column.
    pub(super) fn text(&self, wanted: Column) -> Reading<&'line str> {
        self.readings().find(|(column, ..)| *column == wanted).map_or_else(Reading::default, |found| found.2)
    }

    /// Returns the whole number in a column.
    pub(super) fn whole(&self, wanted: Column) -> Option<u32> {
        self.text(wanted).known()?.parse().ok()
    }
}

/// Returns the number that a cell begins with, its unit left out; with a unit only that one is right.
pub(super) fn number(cell: &str, unit: &str) -> Option<f64> {
    let cell = cell.trim();
    let end =
        cell.find(|letter: char| !letter.is_ascii_digit() && !"+-.eE".contains(letter)).unwrap_or(cell.len());
    let (number, rest) = cell.split_at(end);
    let rest = rest.trim();
    let is_right = rest.is_empty() || unit.is_empty() || rest.eq_ignore_ascii_case(unit);
    number.trim().parse().ok().filter(|number: &f64| is_right && number.is_finite())
}

/// Returns an amount of memory in a cell, by the unit behind it or that of its column.
pub(super) fn amount(cell: &str, unit: Unit) -> Option<Bytes> {
    let number = number(cell, "")?;
    let lower = cell.trim().to_ascii_lowercase();
    let factor: f64 = if lower.ends_with("gib") || lower.ends_with("gb") {
        1_073_741_824.0
    } else if lower.ends_with("kib") || lower.ends_with("kb") {
        1024.0
    } else if lower.ends_with("mib") || lower.ends_with("mb") {
        1_048_576.0
    } else {
        match unit {
            Unit::Bytes => 1.0,
            Unit::Kibibytes => 1024.0,
            Unit::Gibibytes => 1_073_741_824.0,
            Unit::Usual | Unit::Mebibytes => 1_048_576.0,
            Unit::Percent | Unit::Milliwatts | Unit::Milliseconds | Unit::Other => return None,
        }
    };
    let bytes = number * factor;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    let whole = (0.0..1e18).contains(&bytes).then(|| Bytes(bytes.round() as u64));
    whole
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::units::Bytes;

    use super::super::columns::{Column, Columns, Unit};
    use super::{amount, number, row};

    #[test]
    fn cells_are_cut_at_separators() {
        let columns = Columns::heading("pid, process_name, used_gpu_memory [MiB]").unwrap();
        let row = |text| row(&columns, text, false);
        let whole = row("77, python a,b.py --x, 5 MiB").unwrap();
        assert_eq!(whole.text(Column::ProcessName), Reading::Known("python a,b.py --x"));
        assert_eq!(whole.whole(Column::Pid), Some(77));
        let quoted = row("77,\"python, x\",5 MiB").unwrap();
        assert_eq!(quoted.text(Column::ProcessName), Reading::Known("python, x"));
        assert!(row("77, python").is_none() && row(", ,").is_none());
        assert_eq!(row("77, [Not Found], 1 MiB,").unwrap().whole(Column::Pid), Some(77));
    }

    #[test]
    fn numbers_bear_units_or_not() {
        assert_eq!(
            (number("81.5 W", "W"), number("81", "W"), number("81 %", "W")),
            (Some(81.5), Some(81.0), None)
        );
        assert_eq!((number("-", ""), number("inf", ""), number("300W", "W")), (None, None, Some(300.0)));
        assert_eq!(amount("10 MiB", Unit::Mebibytes), Some(Bytes(10 << 20)));
        assert_eq!(amount("1.5", Unit::Gibibytes), Some(Bytes(3 << 29)));
        assert_eq!((amount("5", Unit::Percent), amount("-5", Unit::Usual)), (None, None));
    }

    #[test]
    fn the_last_cell_of_a_text_may_be_cut() {
        let columns = Columns::heading("index, memory.used [MiB]").unwrap();
        let value = |text| {
            let row = row(&columns, text, true).unwrap();
            row.readings().last().unwrap().2.known().copied()
        };
        assert_eq!((value("0, 5 MiB"), value("0, 51")), (Some("5 MiB"), None));
    }
}
