//! Tables whose head names the columns, as `kubectl get` and its like print them.

/// Names of columns that are two words.
const TWO_WORDS: &[(&str, &str)] = &[
    ("LAST", "SEEN"),
    ("FIRST", "SEEN"),
    ("NOMINATED", "NODE"),
    ("READINESS", "GATES"),
    ("RESERVED", "IN"),
    ("ADMITTED", "BY"),
    ("PENDING", "WORKLOADS"),
    ("ADMITTED", "WORKLOADS"),
    ("CPU", "Requests"),
    ("CPU", "Limits"),
    ("Memory", "Requests"),
    ("Memory", "Limits"),
    ("CONTAINER", "ID"),
    ("CPU", "%"),
    ("MEM", "USAGE"),
    ("MEM", "%"),
    ("NET", "I/O"),
    ("BLOCK", "I/O"),
    ("NODE", "SELECTOR"),
];

/// The columns of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    names: Vec<String>,
    /// Where each begins; only of a head that still has its blanks.
    starts: Vec<usize>,
}

impl Columns {
    /// Reads the head of a table: names with blanks between them.
    pub(crate) fn of_head(head: &str) -> Option<Self> {
        let words = words(head);
        if words.len() < 2 {
            return None;
        }
        let is_spaced = words.windows(2).any(|pair| pair[1].0 - (pair[0].0 + pair[0].1.len()) >= 2);
        let mut names: Vec<String> = Vec::new();
        let mut starts: Vec<usize> = Vec::new();
        let mut end = 0;
        for (place, word) in words {
            let belongs_to_last = names.last().is_some_and(|last| {
                place - end == 1
                    && !head.as_bytes()[end..place].contains(&b'\t')
                    && (is_spaced || is_second(last, word))
            });
            if let Some(last) = names.last_mut().filter(|_| belongs_to_last) {
                last.push(' ');
                last.push_str(word);
            } else {
                names.push(word.to_owned());
                starts.push(place);
            }
            end = place + word.len();
        }
        let is_usable = is_spaced && !head.contains('\t') && head.is_ascii();
        (names.len() >= 2).then(|| Self { names, starts: if is_usable { starts } else { Vec::new() } })
    }

    /// Returns the columns of a head whose names are separated by commas.
    pub(crate) fn of_commas(head: &str) -> Option<Self> {
        let names: Vec<String> = split_at_commas(head).into_iter().map(str::to_owned).collect();
        let are_names = names.iter().all(|name| {
            !name.is_empty()
                && name.len() <= 40
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _-./()%[]".contains(&byte))
        });
        (names.len() >= 2 && are_names).then_some(Self { names, starts: Vec::new() })
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns whether there is a column of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Splits a row into its cells: by the places of the head where the row keeps to them, else by its blanks.
    pub(crate) fn cells<'row>(&self, row: &'row str) -> Vec<&'row str> {
        if let Some(cells) = self.by_places(row) {
            return cells;
        }
        let spaced = split_at_gaps(row);
        if spaced.len() == self.names.len() {
            return spaced;
        }
        by_words(row, self.names.len())
    }

    /// Returns the cell of a column, if it says something.
    pub(crate) fn cell<'row>(&self, cells: &[&'row str], name: &str) -> Option<&'row str> {
        let place = self.names.iter().position(|own| own == name)?;
        cells.get(place).copied().map(str::trim).filter(|cell| !cell.is_empty() && *cell != "<none>")
    }

    fn by_places<'row>(&self, row: &'row str) -> Option<Vec<&'row str>> {
        if self.starts.is_empty() || !row.is_ascii() || row.contains('\t') {
            return None;
        }
        let bytes = row.as_bytes();
        let keeps_to_them = self.starts.iter().skip(1).all(|start| {
            // A cell that begins to the right of its place belongs to another table.
            bytes.get(start - 1).is_none_or(|before| *before == b' ')
                && (bytes.get(*start).is_none_or(|first| *first != b' ')
                    || rest_of_cell_is_blank(self, bytes, *start))
        });
        if !keeps_to_them {
            return None;
        }
        let cells = self.starts.iter().enumerate().map(|(number, start)| {
            let end = self.starts.get(number + 1).copied().unwrap_or(row.len()).min(row.len());
            row.get(*start..end).unwrap_or_default().trim()
        });
        Some(cells.collect())
    }
}

fn rest_of_cell_is_blank(columns: &Columns, row: &[u8], start: usize) -> bool {
    let next =
        columns.starts.iter().find(|other| **other > start).copied().unwrap_or(row.len()).min(row.len());
    row.get(start..next).is_none_or(|cell| cell.iter().all(|byte| *byte == b' '))
}

fn is_second(last: &str, word: &str) -> bool {
    TWO_WORDS.contains(&(last, word))
}

/// Returns words with the places where they begin.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut rest = text;
    let mut place = 0;
    loop {
        let blanks = rest.len() - rest.trim_start().len();
        place += blanks;
        rest = &rest[blanks..];
        if rest.is_empty() {
            return words;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        words.push((place, &rest[..end]));
        place += end;
        rest = &rest[end..];
    }
}

/// Splits at tabs and at two or more blanks.
fn split_at_gaps(row: &str) -> Vec<&str> {
    row.split('\t').flat_map(|part| part.split("  ")).map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Splits at every blank; what stands in brackets belongs to the word before it, and the last cell takes the rest.
fn by_words(row: &str, number: usize) -> Vec<&str> {
    let mut cells: Vec<(usize, usize)> = Vec::new();
    let mut in_brackets = false;
    for (place, word) in words(row) {
        let end = place + word.len();
        if (in_brackets || word.starts_with('(') || cells.len() >= number)
            && let Some(last) = cells.last_mut()
        {
            last.1 = end;
        } else {
            cells.push((place, end));
        }
        in_brackets = (in_brackets || word.starts_with('(')) && !word.ends_with(')');
    }
    cells.into_iter().map(|(begin, end)| &row[begin..end]).collect()
}

/// Splits at commas outside of quotes.
pub(crate) fn split_at_commas(row: &str) -> Vec<&str> {
    let mut cells = Vec::new();
    let mut is_quoted = false;
    let mut begin = 0;
    for (place, character) in row.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                cells.push(&row[begin..place]);
                begin = place + 1;
            }
            _ => {}
        }
    }
    cells.push(&row[begin..]);
    cells.into_iter().map(|cell| cell.trim().trim_matches('"')).collect()
}

#[cfg(test)]
mod tests {
    use super::{Columns, split_at_commas};

    #[test]
    fn heads_name_columns_of_one_or_two_words() {
        let columns = Columns::of_head(
            "NAME      READY   STATUS    RESTARTS   AGE   IP    NODE   NOMINATED NODE   READINESS GATES",
        )
        .unwrap();
        assert_eq!(columns.names().len(), 9);
        assert_eq!(Columns::of_head("LAST SEEN TYPE REASON OBJECT MESSAGE").unwrap().names()[0], "LAST SEEN");
        assert_eq!(Columns::of_head("NAME\tGPU").unwrap().names(), ["NAME", "GPU"]);
        assert_eq!(Columns::of_head("alone"), None);
    }

    #[test]
    fn rows_are_split_by_places_or_by_blanks() {
        let columns = Columns::of_head("NAME    READY   STATUS    RESTARTS      AGE   NODE").unwrap();
        let cells = columns.cells("a-0     1/1     Running   3 (5m ago)    2d");
        assert_eq!((cells[3], columns.cell(&cells, "NODE")), ("3 (5m ago)", None));
        let cells = columns.cells("a-1     0/1     Pending   0             96m   <none>");
        assert_eq!((columns.cell(&cells, "AGE"), columns.cell(&cells, "NODE")), (Some("96m"), None));
        let cells = columns.cells("a-very-long-name-that-moves-it   1/1   Running   0   2d   n1");
        assert_eq!(columns.cell(&cells, "NODE"), Some("n1"));
        let cells = columns.cells("a-2 1/1 Running 3 (5m ago) 2d n2");
        assert_eq!(
            (columns.cell(&cells, "RESTARTS"), columns.cell(&cells, "NODE")),
            (Some("3 (5m ago)"), Some("n2"))
        );
    }

    #[test]
    fn commas_separate_too() {
        assert_eq!(split_at_commas("a,\"b,c\", d"), ["a", "b,c", "d"]);
        let columns = Columns::of_commas("pod,status,gpus_requested").unwrap();
        assert!(columns.has("status") && Columns::of_commas("hello, world! how").is_none());
    }
}
