//! What the rows and messages of one output say.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, NvmlSample};

use super::heading::{Part, is_column_heading, is_small_heading};
use super::message::{Message, message};
use super::panel::{self, PanelRow};
use super::row::{Row, cells};
use super::table::Reader;
use super::{card_row, instances};
use crate::text::Remark;

/// No machine has more cards.
const CARDS_MAX: usize = NvmlSample::CARDS_MAX as usize;

/// No machine has more instances of cards.
const PARTS_MAX: usize = NvmlSample::PARTS_MAX as usize - CARDS_MAX;

impl Reader {
    /// Takes a row between the headings.
    pub(super) fn inside(&mut self, row: &Row) {
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

    /// Gives the values above the first whole card to the card before it; alone they are those of a card of which the text
    /// does not say the number.
    pub(super) fn values_of_cut_card(&mut self, next: Option<u32>) {
        let Some((text, line)) = self.values_are_next.take() else {
            return;
        };
        let Some(index) = next.map_or(Some(0), |next| next.checked_sub(1)) else {
            self.table.remarks.push(Remark::NotUnderstood { line });
            return;
        };
        if next.is_none() {
            self.table.unnumbered.push(index);
        }
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

    pub(super) fn heading(&mut self, text: &str) {
        self.table.has_heading = true;
        let value = |labels: [&str; 2]| -> Reading<String> {
            let behind = labels.iter().find_map(|label| text.split_once(label)).map(|(_, behind)| behind);
            let word = behind.and_then(|behind| {
                let mut words = behind.split_whitespace();
                let word = words.next()?;
                // A word that ends the text may be cut.
                words.next().map(|_| word)
            });
            let is_version = |word: &&str| {
                let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                is_number && word.starts_with(|first: char| first.is_ascii_digit())
            };
            let word =
                word.filter(|word| is_version(word) || crate::nvidia_cell::said(word).known().is_none());
            word.map_or_else(Reading::default, crate::nvidia_cell::said).map(str::to_owned)
        };
        self.table.driver_version = value(["KMD Version:", "Driver Version:"]);
        self.table.cuda_version = value(["CUDA UMD Version:", "CUDA Version:"]);
    }

    /// Takes a message; returns whether the line is one.
    pub(super) fn message(&mut self, text: &str, line: u64) -> bool {
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
