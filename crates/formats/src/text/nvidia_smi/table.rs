//! One output of `nvidia-smi`: its heading, its cards, their instances, the panel of processes, and what is said around.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardSample, NvmlSample};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::card_row;
use super::instances::{self, Instance};
use super::message::{Message, message};
use super::panel::{self, Panel, PanelRow};
use super::row::{Row, begins_row, cells, is_drawn, printed_width, row};
use crate::paste::Line;
use crate::text::Remark;

/// How the output writes its time, without a zone.
const TIME_FORMAT: &str = "%a %b %e %H:%M:%S %Y";

/// So many blank lines may stand between the parts of one output.
const BLANK_LINES_MAX: usize = 3;

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
    handles: Vec<Message>,
}

/// In which part of the output a row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Cards,
    Instances,
    Processes,
}

/// Returns the time that a line is, as the tool prints it above the table.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // "Fri Jun  8 07:42:08 2018"
    if text.len() != 24 || text.as_bytes()[13] != b':' {
        return None;
    }
    let local = DateTime::strptime(TIME_FORMAT, text).ok()?;
    TimeZone::UTC.to_timestamp(local).ok()
}

/// Returns whether an output begins with the first of these lines.
pub(super) fn begins(lines: &[Line<'_>]) -> bool {
    let Some(first) = lines.first() else {
        return false;
    };
    let text = first.text.trim();
    if text.starts_with('|') {
        return is_own_row(lines);
    }
    let next = || lines.get(1..).unwrap_or_default();
    if text.starts_with('+') {
        return is_drawn(text) && is_own_below(next());
    }
    if text.starts_with("Every ") && text.contains("nvidia-smi") || time(text).is_some() {
        let below = after_blanks(next());
        return below.first().is_some_and(|line| {
            time(&line.text).is_some() || stands_alone(&line.text) || is_own_row(below) || {
                line.text.trim_start().starts_with('+') && is_own_below(below.get(1..).unwrap_or_default())
            }
        });
    }
    stands_alone(text)
}

/// Returns whether a line is a message that needs no table.
fn stands_alone(text: &str) -> bool {
    message(text).is_some_and(|message| !matches!(message, Message::Advice | Message::OtherWarning))
}

fn after_blanks<'lines, 'text>(lines: &'lines [Line<'text>]) -> &'lines [Line<'text>] {
    let blanks = lines.iter().take(BLANK_LINES_MAX).take_while(|line| line.text.trim().is_empty()).count();
    &lines[blanks..]
}

/// Returns whether below a drawn line stands a row of this table; the line itself may be wrapped.
fn is_own_below(lines: &[Line<'_>]) -> bool {
    is_own_row(below_drawn(lines))
}

/// Returns what stands below a drawn line, which may be wrapped.
fn below_drawn<'lines, 'text>(lines: &'lines [Line<'text>]) -> &'lines [Line<'text>] {
    let is_part = |text: &str| is_drawn(text) || text.trim() == "+" || text.trim() == "|";
    let drawn = lines.iter().take(2).take_while(|line| is_part(&line.text)).count();
    &lines[drawn..]
}

/// Returns whether a row is surely one of this table, whatever stands above it.
fn is_own_row(lines: &[Line<'_>]) -> bool {
    let Some(text) = lines.first().map(|line| line.text.trim()) else {
        return false;
    };
    if !text.starts_with('|') {
        return false;
    }
    if is_heading(text) || is_column_heading(text) {
        return true;
    }
    match part_heading(text) {
        // Other tools call their panels so too: this one says what its last column is.
        Some(Part::Processes) => return lines.iter().take(2).any(|line| line.text.contains("GPU Memory")),
        Some(_) => return true,
        None => {}
    }
    let Some(row) = row(lines, printed_width(&lines[..lines.len().min(4)])) else {
        return false;
    };
    let cells = cells(&row.text);
    card_row::begin(&cells).is_some()
        || card_row::is_values(&cells) && row.text.contains("MiB /")
        || instances::begin(&cells).is_some_and(|instance| instance.sample.memory.is_known())
        || matches!(cells[..], [only] if panel::is_unmistakable(only.text, only.is_whole))
}

fn is_heading(text: &str) -> bool {
    text.starts_with("| NVIDIA-SMI") || text.starts_with("|NVIDIA-SMI")
}

fn is_column_heading(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    has(&["GPU", "Name", "Bus-Id"]) && !text.contains("HL-SMI")
        || has(&["Fan", "Temp", "Perf"])
        || has(&["MIG M."])
}

/// Returns which part begins with a heading.
fn part_heading(text: &str) -> Option<Part> {
    let inside = text.trim_start_matches('|').trim_start();
    if inside.starts_with("MIG devices:") {
        return Some(Part::Instances);
    }
    (inside.starts_with("Processes:") || inside.starts_with("Compute processes:")).then_some(Part::Processes)
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
    reader.finish();
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
            let is_told_here = self.rows > 0 || self.table.time.is_some() || !self.table.handles.is_empty();
            let is_first_time = self.rows == 0 && self.table.time.is_none() && time(text).is_some();
            is_first_time || is_told_here && matches!(message(text), Some(Message::Inforom { .. } | Message::OtherWarning))
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
        if is_column_heading(&row.text) || is_small_heading(&row.text) || cells.iter().all(|cell| cell.is_blank()) {
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
        if let Some(card) = card_row::begin(&cells) {
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
        if let Some(instance) = instances::begin(&cells) {
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
        let is_sure = matches!(cells(&row.text)[..], [only] if panel::is_unmistakable(only.text, only.is_whole));
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
            other => self.table.handles.push(other),
        }
        true
    }

    /// Puts together what was told in different places.
    fn finish(&mut self) {
        if self.table.cards.is_empty() {
            self.values_of_cut_card(None);
        }
        let listed: Vec<u32> = self.table.panel.processes.iter().map(|process| process.card).collect();
        for index in listed {
            self.card_of(Some(index), None);
        }
        for message in std::mem::take(&mut self.table.handles) {
            self.told_of_a_card(message);
        }
        self.give_processes();
        self.table.cards.sort_by_key(|card| card.index);
        self.table.cards.dedup_by_key(|card| card.index);
        self.table.cards.truncate(NvmlSample::CARDS_MAX as usize);
        self.table.instances.truncate((NvmlSample::PARTS_MAX - NvmlSample::CARDS_MAX) as usize);
    }

    fn told_of_a_card(&mut self, message: Message) {
        match message {
            Message::Handle { index, address, failure } => {
                self.card_of(index, address).handle = super::message::unanswered(&failure);
            }
            Message::Lost(failure) => self.card_of(None, None).handle = super::message::unanswered(&failure),
            Message::Inforom { address, failure } => {
                let card = self.card_of(None, Some(address));
                card.inforom = Reading::Failed(failure);
                if card.handle.is_not_in_source() {
                    card.handle = Reading::Known(());
                }
            }
            _ => {}
        }
    }

    /// Returns the card with this number or address; a new one where the table has none.
    fn card_of(&mut self, index: Option<u32>, address: Option<String>) -> &mut CardSample {
        let cards = &mut self.table.cards;
        let has_address = |card: &CardSample| {
            address.as_ref().is_some_and(|address| card.pci_address.known() == Some(address))
        };
        let place = cards.iter().position(has_address).or_else(|| {
            let index = index?;
            cards.iter().position(|card| card.index == index)
        });
        let place = place.unwrap_or_else(|| {
            let is_taken = |number: u32| cards.iter().any(|card| card.index == number);
            // The lowest number that no row has.
            let number = index.or_else(|| (0..).find(|number| !is_taken(*number))).unwrap_or_default();
            cards.push(CardSample { index: number, ..CardSample::default() });
            cards.len() - 1
        });
        let card = &mut cards[place];
        if let Some(address) = address {
            card.pci_address = Reading::Known(address);
        }
        card
    }

    fn give_processes(&mut self) {
        let Table { cards, instances, panel, .. } = &mut self.table;
        for card in &mut *cards {
            card.clients = panel.clients(card.index);
            // Whoever has a process answers.
            if card.handle.is_not_in_source() && card.clients.is_known() {
                card.handle = Reading::Known(());
            }
        }
        for instance in instances {
            let card = instance.sample.parent.unwrap_or_default();
            instance.sample.clients = panel.clients_of_instance(card, instance.ids);
        }
    }
}

/// Returns whether a row only names columns of the lower parts.
fn is_small_heading(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    has(&["GPU", "PID"]) && has(&["rocess name"])
        || has(&["ID", "ID", "Usage"])
        || has(&["GPU", "GI", "CI"])
        || has(&["BAR1-Usage"])
        || has(&["ECC|"])
}
