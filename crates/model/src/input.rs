//! What was read of the texts that an answer rests on: which outputs of which tools, and which lines nobody knew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of so many ranges of lines the numbers are kept; all are counted.
const RANGES_MAX: usize = 20;

/// What was read of one text: a file, a member of an archive, standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TextRead {
    /// The file, and the member within it.
    pub name: String,
    /// What was recognised in it, in the order of the first lines.
    pub formats: Vec<FormatRead>,
    /// Lines that were not understood.
    pub not_understood: Lines,
}

/// Outputs of one tool in a text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FormatRead {
    /// Of which tool.
    pub format: String,
    /// Where they stand.
    pub lines: Lines,
}

/// Lines of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    /// How many.
    pub count: u64,
    /// Where they stand, from 1; of very many ranges the first ones.
    pub ranges: Vec<LineRange>,
}

/// Lines that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct LineRange {
    /// The first one, from 1.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl TextRead {
    /// Adds an output of a tool.
    pub fn add_output(&mut self, format: &str, first: u64, last: u64) {
        if let Some(known) = self.formats.iter_mut().find(|known| known.format == format) {
            known.lines.add(first, last);
            return;
        }
        let mut lines = Lines::default();
        lines.add(first, last);
        self.formats.push(FormatRead { format: format.to_owned(), lines });
    }
}

impl Lines {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds lines, which stand behind those that are there, or are among them.
    pub fn add(&mut self, first: u64, last: u64) {
        let behind = self.ranges.last().map_or(0, |newest| newest.last + 1);
        let first = first.max(behind);
        if first > last {
            return;
        }
        self.count += last - first + 1;
        let has_room = self.ranges.len() < RANGES_MAX;
        match self.ranges.last_mut() {
            Some(newest) if first == behind => newest.last = last,
            _ if has_room => self.ranges.push(LineRange { first, last }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LineRange, Lines, RANGES_MAX, TextRead};

    #[test]
    fn lines_that_follow_each_other_are_one_range() {
        let mut lines = Lines::default();
        for (first, last) in [(3, 3), (4, 6), (9, 9), (9, 9), (8, 10)] {
            lines.add(first, last);
        }
        assert_eq!(lines.ranges, [LineRange { first: 3, last: 6 }, LineRange { first: 9, last: 10 }]);
        assert_eq!(lines.count, 6);
    }

    #[test]
    fn all_lines_are_counted_whatever_number_of_ranges_is_kept() {
        let mut lines = Lines::default();
        (0..1000).for_each(|place| lines.add(place * 2 + 1, place * 2 + 1));
        assert_eq!((lines.count, lines.ranges.len()), (1000, RANGES_MAX));
    }

    #[test]
    fn outputs_of_one_tool_stand_together() {
        let mut read = TextRead::default();
        for (format, first, last) in [("free", 1, 3), ("ps", 5, 9), ("free", 20, 22)] {
            read.add_output(format, first, last);
        }
        let formats: Vec<(&str, u64)> =
            read.formats.iter().map(|format| (format.format.as_str(), format.lines.count)).collect();
        assert_eq!(formats, [("free", 6), ("ps", 5)]);
    }
}
