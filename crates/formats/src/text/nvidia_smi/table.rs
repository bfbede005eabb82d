//! One output of `nvidia-smi`: its heading, its cards, their instances, the panel of processes, and what is said around.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::CardSample;
use jiff::Timestamp;

use super::heading::{Part, after_blanks, begins, below_drawn, is_heading, is_own_row, part_heading, time};
use super::instances::Instance;
use super::message::{Message, message};
use super::panel::Panel;
use super::row::{Row, begins_row, is_drawn, printed_width, row};
use crate::paste::Line;
use crate::text::Remark;

/// What one output says.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// How many lines it takes.
    pub(super) lines: usize,
    /// Its time; its zone is not printed.
    pub(super) time: Option<Timestamp>,
    pub(super) driver_version: Reading<String>,
    pub(super) cuda_version: Reading<String>,
    pub(super) cards: Vec<CardSample>,
    pub(super) instances: Vec<Instance>,
    pub(super) panel: Panel,
    /// Why the library cannot be asked.
    pub(super) library: Option<Failure>,
    pub(super) library_version: Option<String>,
    /// The library answers and counts no card.
    pub(super) has_no_card: bool,
    /// The heading was seen.
    pub(super) has_heading: bool,
    /// A part below the cards was seen: none of them is cut off.
    pub(super) cards_are_whole: bool,
    pub(super) remarks: Vec<Remark>,
    /// Cards of which only the address is said: their numbers only tell them apart.
    pub(super) unnumbered: Vec<u32>,
    /// What is said of cards outside of their rows.
    pub(super) told: Vec<Message>,
}

/// Reads the output that begins with the first of these lines.
pub(super) fn table(lines: &[Line<'_>]) -> Option<Table> {
    if !begins(lines) {
        return None;
    }
    let mut reader = Reader {
        table: Table::default(),
        part: Part::Cards,
        width: printed_width(lines),
        is_open: false,
        rows: 0,
        values_are_next: None,
    };
    let mut next = 0;
    while let Some(taken) = reader.take(&lines[next..]) {
        next += taken;
    }
    reader.table.lines = next;
    if reader.table.cards.is_empty() {
        reader.values_of_cut_card(None);
    }
    reader.table.put_together();
    reader.table.says_something().then_some(reader.table)
}

impl Table {
    /// Returns whether anything of it was understood: other tools draw like headings.
    fn says_something(&self) -> bool {
        self.has_heading
            || self.panel.is_there
            || self.has_no_card
            || !self.cards.is_empty()
            || !self.instances.is_empty()
            || self.library.is_some()
            || self.library_version.is_some()
    }
}

/// Goes through the lines of one output.
pub(super) struct Reader {
    pub(super) table: Table,
    pub(super) part: Part,
    /// At which column lines may have been wrapped.
    width: usize,
    /// The panel's rows have begun, and the line below them was not seen.
    pub(super) is_open: bool,
    /// How many rows were taken.
    pub(super) rows: usize,
    /// The values of a card whose first row is cut off, with their line.
    pub(super) values_are_next: Option<(String, u64)>,
}

impl Reader {
    /// Takes what stands at the first of these lines; none: it belongs to something else.
    fn take(&mut self, lines: &[Line<'_>]) -> Option<usize> {
        let first = lines.first()?;
        let text = first.text.trim();
        if text.is_empty() {
            return self.blanks(lines);
        }
        if begins_row(text) {
            return self.row(lines);
        }
        if let Some(time) = time(text) {
            // A second time belongs to the next output.
            let is_first = self.table.time.is_none() && self.rows == 0;
            self.table.time = is_first.then_some(time);
            return is_first.then_some(1);
        }
        if text.starts_with("Every ") && text.contains("nvidia-smi") {
            return (self.rows == 0 && self.table.time.is_none()).then_some(1);
        }
        self.message(text, first.number).then_some(1)
    }

    /// Takes blank lines if the output goes on behind them.
    fn blanks(&self, lines: &[Line<'_>]) -> Option<usize> {
        let below = after_blanks(lines);
        let number = lines.len() - below.len();
        let text = below.first()?.text.trim();
        let goes_on = if text.starts_with('+') {
            is_drawn(text) && self.goes_on_with(below.get(1..)?)
        } else if text.starts_with('|') {
            self.goes_on_with(below)
        } else {
            // What is said belongs to the table above it; without a table it would be another output's.
            let is_told_here = self.rows > 0 || self.table.time.is_some() || !self.table.told.is_empty();
            let is_first_time = self.rows == 0 && self.table.time.is_none() && time(text).is_some();
            is_first_time
                || is_told_here
                    && matches!(message(text), Some(Message::Inforom { .. } | Message::OtherWarning))
        };
        (goes_on && number > 0).then_some(number)
    }

    /// Returns whether rows below a gap belong to this output.
    fn goes_on_with(&self, lines: &[Line<'_>]) -> bool {
        let lines = below_drawn(lines);
        let Some(text) = lines.first().map(|line| line.text.trim()) else {
            return false;
        };
        if is_heading(text) {
            return !self.table.has_heading && self.rows == 0;
        }
        match part_heading(text) {
            Some(Part::Instances) => self.part == Part::Cards,
            Some(_) => !self.table.panel.is_there,
            // A gap inside the cards: somebody left rows out.
            None => self.part == Part::Cards && is_own_row(lines),
        }
    }

    fn row(&mut self, lines: &[Line<'_>]) -> Option<usize> {
        // Below the panel nothing follows.
        if self.table.panel.is_whole {
            return None;
        }
        let row = row(lines, self.width)?;
        let text = row.text.trim();
        if is_drawn(text) || text == "+" || text == "|" {
            return self.drawn(&row, lines);
        }
        if is_heading(text) {
            if self.table.has_heading || self.rows > 0 {
                return None;
            }
            self.heading(text);
        } else if let Some(part) = part_heading(text) {
            if part == Part::Processes && self.table.panel.is_there {
                return None;
            }
            self.part = part;
            self.table.cards_are_whole |= !self.table.cards.is_empty();
            self.table.panel.is_there |= part == Part::Processes;
        } else {
            self.inside(&row);
        }
        self.rows += 1;
        Some(row.lines)
    }

    /// Takes a drawn line. Below the panel it ends the output, unless more of it follows.
    fn drawn(&mut self, row: &Row, lines: &[Line<'_>]) -> Option<usize> {
        let is_end = row.text.trim().starts_with('+') && row.text.contains('-');
        let below = after_blanks(lines.get(row.lines..).unwrap_or_default());
        if is_end && self.part == Part::Processes && self.is_open {
            self.table.panel.is_whole = true;
            self.is_open = false;
        }
        // The line below the panel's heading.
        self.is_open |= self.part == Part::Processes && row.text.contains('=');
        let begins_another = self.rows > 0
            && below.first().is_some_and(|line| is_heading(line.text.trim()))
            && !self.table.has_heading;
        (!begins_another).then_some(row.lines)
    }
}
