//! The columns that the heading names, and rows below it.

use gpuwhy_model::reading::Reading;

/// The columns of a monitor, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    names: Vec<String>,
}

/// One row, cut into its cells.
#[derive(Debug, Clone)]
pub(super) struct Row<'columns, 'line> {
    columns: &'columns Columns,
    cells: Vec<&'line str>,
    /// Its last cell may be cut.
    is_open: bool,
}

impl Columns {
    /// Reads a heading: `# gpu   pwr gtemp`, `#Date  Time  gpu`, with commas or without.
    pub(super) fn heading(text: &str) -> Option<Self> {
        let inside = text.trim_start().strip_prefix('#')?;
        let names: Vec<String> = words(inside).map(str::to_ascii_lowercase).collect();
        let before = names.iter().take_while(|name| *name == "date" || *name == "time").count();
        (names.get(before).is_some_and(|name| name == "gpu")).then_some(Self { names })
    }

    /// Returns whether at least half of the columns are among these: a remark may use one of the words.
    pub(super) fn are_mostly(&self, known: &[&str]) -> bool {
        let (mut all, mut of_them) = (0_usize, 0_usize);
        for name in self.names.iter().filter(|name| !["date", "time", "gpu"].contains(&name.as_str())) {
            all += 1;
            of_them += usize::from(known.contains(&name.as_str()));
        }
        of_them > 0 && of_them * 2 >= all
    }

    /// Returns whether a line only tells the units of the columns.
    pub(super) fn are_units(text: &str) -> bool {
        text.trim_start().starts_with('#') && Self::heading(text).is_none() && {
            let lower = text.to_ascii_lowercase();
            lower.contains("idx") || lower.contains("mm:ss")
        }
    }

    /// Returns whether there is such a column.
    pub(super) fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| own == name)
    }

    /// Cuts a row into its cells; the last column takes all that is left if it is a name.
    pub(super) fn row<'columns, 'line>(
        &'columns self,
        text: &'line str,
        is_open: bool,
    ) -> Option<Row<'columns, 'line>> {
        let ends_with_name = matches!(self.names.last().map(String::as_str), Some("command" | "name"));
        let mut cells: Vec<&str> = words(text).collect();
        if ends_with_name && cells.len() >= self.names.len() {
            let last = cells[self.names.len() - 1];
            let start = last.as_ptr() as usize - text.as_ptr() as usize;
            cells.truncate(self.names.len() - 1);
            cells.push(text.get(start..)?.trim_end());
        }
        let is_whole = cells.len() == self.names.len();
        // What begins with something else than a number or a time is no row.
        let begins_as_row = text.trim_start().starts_with(|first: char| first.is_ascii_digit());
        (is_whole && begins_as_row).then_some(Row { columns: self, cells, is_open })
    }
}

impl<'line> Row<'_, 'line> {
    /// Returns the text of a cell; a stroke stands where the card has no such value.
    pub(super) fn text(&self, name: &str) -> Reading<&'line str> {
        let Some(place) = self.columns.place(name) else {
            return Reading::default();
        };
        if self.is_open && place + 1 == self.cells.len() {
            return Reading::default();
        }
        match self.cells[place] {
            "-" => Reading::Unsupported,
            text => crate::nvidia_cell::said(text),
        }
    }

    /// Returns the number in a cell.
    pub(super) fn number(&self, name: &str) -> Reading<f64> {
        self.text(name).and_then(|text| text.parse().ok().filter(|number: &f64| number.is_finite()).into())
    }

    /// Returns the whole number in a cell.
    pub(super) fn whole(&self, name: &str) -> Reading<u64> {
        self.text(name).and_then(|text| text.parse().ok().into())
    }

    /// Returns the number of the card.
    pub(super) fn card(&self) -> Option<u32> {
        self.text("gpu").known()?.parse().ok().filter(|index| *index < 4096)
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| character.is_whitespace() || character == ',')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;

    use super::Columns;

    #[test]
    fn headings_are_read() {
        let columns = Columns::heading("# gpu   pwr gtemp").unwrap();
        assert!(columns.has("pwr") && !columns.has("sm"));
        assert!(Columns::heading("#Date       Time        gpu    sm").unwrap().has("time"));
        assert!(Columns::heading("#gpu, pwr, gtemp").unwrap().has("gtemp"));
        assert!(Columns::heading("# Idx     W     C").is_none() && Columns::are_units("# Idx     W     C"));
        assert!(Columns::are_units("#YYYYMMDD    HH:MM:SS    Idx   %") && !Columns::are_units("# a comment"));
        assert!(Columns::heading("gpu pwr").is_none());
    }

    #[test]
    fn cells_are_found_by_their_column() {
        let columns = Columns::heading("# gpu pwr mtemp").unwrap();
        let row = columns.row("    0    37     -", false).unwrap();
        assert_eq!((row.card(), row.number("pwr")), (Some(0), Reading::Known(37.0)));
        assert_eq!(row.number("mtemp"), Reading::Unsupported);
        assert!(row.number("sm").is_not_in_source());
        assert!(columns.row("    0    37", false).is_none());
        assert!(columns.row("  x  37  -", false).is_none());
        let open = columns.row("    0    37     4", true).unwrap();
        assert_eq!((open.number("pwr"), open.number("mtemp").is_known()), (Reading::Known(37.0), false));
    }

    #[test]
    fn names_may_have_blanks() {
        let columns = Columns::heading("# gpu pid type sm command").unwrap();
        let row = columns.row("  0  7  C+G  -  An Overlay.exe", false).unwrap();
        assert_eq!(row.text("command"), Reading::Known("An Overlay.exe"));
        let row = columns.row("0, 7, C, 5, python", false).unwrap();
        assert_eq!(row.text("command"), Reading::Known("python"));
    }
}
