//! One output of `nvidia-smi`: its heading, its cards, their instances, the panel of processes, and what is said around.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardSample, NvmlSample};
use jiff::Timestamp;

use super::card_row;
use super::heading::{
    Part, after_blanks, begins, below_drawn, is_column_heading, is_heading, is_own_row, is_small_heading,
    part_heading, time,
};
use super::instances::{self, Instance};
use super::message::{Message, message};
use super::panel::{self, Panel, PanelRow};
use super::row::{Row, begins_row, cells, is_drawn, printed_width, row};
use crate::paste::Line;
use crate::text::Remark;

/// No machine has more cards.
const CARDS_MAX: usize = NvmlSample::CARDS_MAX as usize;

/// No machine has more instances of cards.
const PARTS_MAX: usize = NvmlSample::PARTS_MAX as usize - CARDS_MAX;

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

struct Reader {
    table: Table,
    part: Part,
    /// At which column lines may have been wrapped.
    width: usize,
    /// The panel's rows have begun, and the line below them was not seen.
    is_open: bool,
    /// How many rows were taken.
    rows: usize,
    /// The values of a card whose first row is cut off, with their line.
    values_are_next: Option<(String, u64)>,
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

    /// Takes a row between the headings.
    fn inside(&mut self, row: &Row) {
        let cells = cells(&row.text);
        if is_column_heading(&row.text)
            || is_small_heading(&row.text)
            || cells.iter().all(|cell| cell.is_blank())
        {
            return;
        }
        let is_taken = match self.part {
            Part::Processes => self.process(row),
            Part::Instances => self.instance(row),
            Part::Cards => self.card(row) || self.instance(row) || self.lone_process(row),
        };
        if !is_taken {
            self.table.remarks.push(Remark::NotUnderstood { line: row.number });
        }
    }

    fn card(&mut self, row: &Row) -> bool {
        let cells = cells(&row.text);
        if let Some(card) = card_row::begin(&cells).filter(|_| self.table.cards.len() < CARDS_MAX) {
            self.values_of_cut_card(Some(card.index));
            self.table.cards.push(card);
            return true;
        }
        if card_row::is_mode(&cells) {
            if let Some(card) = self.table.cards.last_mut() {
                card_row::take_mode(&cells, card);
            }
            return true;
        }
        if !card_row::is_values(&cells) {
            return false;
        }
        match self.table.cards.last_mut() {
            Some(card) => card_row::take_values(&cells, row.number, card),
            None => self.values_are_next = Some((row.text.clone(), row.number)),
        }
        true
    }

    /// Gives the values above the first whole card to the card before it; alone they are card 0's.
    fn values_of_cut_card(&mut self, next: Option<u32>) {
        let Some((text, line)) = self.values_are_next.take() else {
            return;
        };
        let Some(index) = next.map_or(Some(0), |next| next.checked_sub(1)) else {
            self.table.remarks.push(Remark::NotUnderstood { line });
            return;
        };
        let mut card = CardSample { index, handle: Reading::Known(()), ..CardSample::default() };
        card_row::take_values(&cells(&text), line, &mut card);
        self.table.cards.push(card);
    }

    fn instance(&mut self, row: &Row) -> bool {
        let cells = cells(&row.text);
        if let Some(instance) = instances::begin(&cells).filter(|_| self.table.instances.len() < PARTS_MAX) {
            self.table.instances.push(instance);
            return true;
        }
        if row.text.contains("No MIG devices found") {
            return true;
        }
        let is_bar1 = instances::is_bar1(&cells);
        if let Some(instance) = self.table.instances.last_mut().filter(|_| is_bar1) {
            instances::take_bar1(&cells, instance);
            return true;
        }
        false
    }

    /// Takes a process whose panel has lost its heading.
    fn lone_process(&mut self, row: &Row) -> bool {
        let is_sure =
            matches!(cells(&row.text)[..], [only] if panel::is_unmistakable(only.text, only.is_whole));
        if is_sure {
            self.part = Part::Processes;
            self.table.cards_are_whole |= !self.table.cards.is_empty();
            self.is_open = true;
        }
        is_sure && self.process(row)
    }

    fn process(&mut self, row: &Row) -> bool {
        // A name may hold a bar: what is inside is between the first and the last.
        let text = row.text.trim().trim_start_matches('|');
        let (inside, is_whole) = match text.strip_suffix('|') {
            Some(inside) => (inside, true),
            None => (text, false),
        };
        match panel::row(inside, is_whole) {
            Some(PanelRow::Process(process)) => self.table.panel.processes.push(process),
            Some(PanelRow::None) => self.table.panel.says_none = true,
            Some(PanelRow::Unsupported(card)) => self.table.panel.unsupported.push(card),
            None => return false,
        }
        self.is_open = true;
        true
    }

    fn heading(&mut self, text: &str) {
        self.table.has_heading = true;
        let value = |labels: [&str; 2]| -> Reading<String> {
            let behind = labels.iter().find_map(|label| text.split_once(label)).map(|(_, behind)| behind);
            let word = behind.and_then(|behind| {
                let mut words = behind.split_whitespace();
                let word = words.next()?;
                // A word that ends the text may be cut.
                words.next().map(|_| word).filter(|word| *word != "|")
            });
            word.map_or_else(Reading::default, crate::nvidia_cell::said).map(str::to_owned)
        };
        self.table.driver_version = value(["KMD Version:", "Driver Version:"]);
        self.table.cuda_version = value(["CUDA UMD Version:", "CUDA Version:"]);
    }

    /// Takes a message; returns whether the line is one.
    fn message(&mut self, text: &str, line: u64) -> bool {
        let Some(message) = message(text) else {
            return false;
        };
        // What the library says for itself begins an output of its own.
        let is_of_another_output = self.rows > 0
            && matches!(message, Message::Library(_) | Message::LibraryVersion(_) | Message::NoDevices);
        if is_of_another_output {
            return false;
        }
        match message {
            Message::Library(failure) => {
                self.table.library.get_or_insert(failure);
            }
            Message::LibraryVersion(version) => self.table.library_version = Some(version),
            Message::NoDevices => self.table.has_no_card = true,
            Message::OtherWarning => self.table.remarks.push(Remark::NotUnderstood { line }),
            Message::Advice => {}
            other => self.table.keep(other),
        }
        true
    }
}
