//! Tables with commas: output of `nvidia-smi --query-gpu`, `--query-compute-apps` and their like, and what people record
//! with such columns.
//!
//! Without a heading a row is understood only where the command above it names its columns.

mod apps;
mod cards;
mod cells;
mod columns;
mod looks;
mod times;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{NvmlSample, Sample, Section, TimedValue};
use gpuwhy_model::scene::Scene;
use gpuwhy_model::trend::Trend;

use super::nvidia_scene::{asked_for as cards_asked_for, container_of, names_cards, scene_of};
use super::{Block, Context, Remark};
use crate::Format;
use crate::nvidia_smi_xml::leave_unnumbered;
use crate::paste::{Line, command_after_prompt};
use apps::{AppRow, app, newest};
use cards::card;
use cells::{Row, row};
use columns::{Column, Columns};
use looks::{Arrangement, Look, Taken, looks};
use times::{loop_s, moment};

/// A heading may be wrapped over so many lines.
const HEADING_LINES: usize = 8;
/// More rows are read, and only the newest of them are kept.
const ROWS_KEPT: usize = 200_000;
/// The highest number that a card can have.
const INDEX_MAX: u32 = 4096;

/// Reads the table that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let (columns, heading) = begin(lines, context)?;
    let mut table = Table::new(&columns, heading > 0, context.command);
    let mut taken = heading;
    while let Some(length) = table.take(&lines[taken..], lines.len() - taken) {
        taken += length;
    }
    // One name alone may stand in any list.
    let needs_rows = heading == 0 || columns.list.len() == 1;
    if taken == 0 || table.is_empty() && needs_rows {
        return None;
    }
    let (scene, remarks) = table.finish();
    Some(Block { lines: taken, scene, remarks })
}

/// Returns the columns, and how many lines their heading takes; none for one that only the command names.
fn begin(lines: &[Line<'_>], context: &Context<'_>) -> Option<(Columns, usize)> {
    let first = lines.first()?.text.trim();
    if let Some(asked) = context.command.and_then(asked_for)
        && command_after_prompt(first).is_none()
    {
        let has_heading = Columns::heading(first).is_some();
        if !has_heading
            && first.contains(',') == (asked.list.len() > 1)
            && row(&asked, first, false).is_some()
        {
            return Some((asked, 0));
        }
    }
    if !first.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '"') {
        return None;
    }
    let mut text = String::new();
    for (line, number) in lines.iter().take(HEADING_LINES).zip(1..) {
        text.push_str(&line.text);
        if line.text.ends_with(',') {
            text.push(' ');
            continue;
        }
        return Columns::heading(&text).map(|columns| (columns, number));
    }
    None
}

/// Returns the columns that a command asks for without their heading.
fn asked_for(command: &str) -> Option<Columns> {
    if !command.contains("noheader") {
        return None;
    }
    let mut words = command.split_whitespace();
    let list = words.find_map(|word| {
        let word = word.trim_start_matches(['"', '\'']);
        let (name, list) = word.split_once('=').map_or((word, None), |(name, list)| (name, Some(list)));
        let is_query = name.starts_with("--query-") && !name.ends_with("pages");
        is_query.then_some(list)
    })?;
    let list = list.or_else(|| words.next())?.trim_matches(['"', '\'']);
    (!list.is_empty()).then(|| Columns::asked_for(list))
}

/// A table while its rows are read.
struct Table<'columns, 'text> {
    columns: &'columns Columns,
    command: Option<&'text str>,
    cards: Vec<Taken>,
    apps: Vec<AppRow>,
    is_first: bool,
    has_heading: bool,
    driver_version: Reading<String>,
    cuda_version: Reading<String>,
    hostname: Reading<String>,
    count: Option<u32>,
    remarks: Vec<Remark>,
    left_out: u64,
}

impl<'columns, 'text> Table<'columns, 'text> {
    fn new(columns: &'columns Columns, has_heading: bool, command: Option<&'text str>) -> Self {
        Self {
            columns,
            command,
            cards: Vec::new(),
            apps: Vec::new(),
            is_first: true,
            has_heading,
            driver_version: Reading::default(),
            cuda_version: Reading::default(),
            hostname: Reading::default(),
            count: None,
            remarks: Vec::new(),
            left_out: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.cards.is_empty() && self.apps.is_empty()
    }

    /// Takes the row at the first of these lines, of which so many are left; returns how many lines it has.
    fn take(&mut self, lines: &[Line<'_>], left: usize) -> Option<usize> {
        let line = lines.first()?;
        let text = line.text.trim();
        if text.is_empty() || command_after_prompt(&line.text).is_some() {
            return None;
        }
        if self.has_heading && Columns::heading(text).as_ref() == Some(self.columns) {
            self.is_first = true;
            return Some(1);
        }
        if let Some(row) = row(self.columns, text, left == 1) {
            self.add(&row, line.number);
            return Some(1);
        }
        // A row that a terminal wrapped.
        let next = lines.get(1)?;
        let joined = format!("{}{}", line.text, next.text);
        let is_part = self.columns.list.len() > 1 && text.contains(self.columns.separator);
        let row = row(self.columns, joined.trim(), left == 2).filter(|_| is_part)?;
        self.add(&row, line.number);
        Some(2)
    }

    fn add(&mut self, row: &Row<'_, '_>, line: u64) {
        let text = |column| row.text(column).map(str::to_owned);
        self.driver_version = text(Column::DriverVersion).or(std::mem::take(&mut self.driver_version));
        self.cuda_version = text(Column::CudaVersion).or(std::mem::take(&mut self.cuda_version));
        self.hostname = text(Column::Hostname).or(std::mem::take(&mut self.hostname));
        self.count = row.whole(Column::Count).or(self.count);
        let is_list = self.columns.place(Column::Accounted).is_some()
            || self.columns.place(Column::RetiredPage).is_some();
        if is_list {
            return;
        }
        if self.columns.is_of_processes() {
            match app(row) {
                Some(app) => self.apps.push(app),
                None => self.remarks.push(Remark::NotUnderstood { line }),
            }
            return;
        }
        let index = row.whole(Column::Index).filter(|index| *index < INDEX_MAX);
        let time = row.text(Column::Time).or(row.text(Column::Elapsed));
        let card = card(row, line);
        let moment = time.known().and_then(|text| moment(text));
        self.cards.push(Taken { moment, index, is_first: self.is_first, card });
        self.is_first = false;
        if self.cards.len() >= 2 * ROWS_KEPT {
            self.left_out += ROWS_KEPT as u64;
            self.cards.drain(..ROWS_KEPT);
        }
    }

    fn finish(mut self) -> (Scene, Vec<Remark>) {
        let arrangement = Arrangement {
            loop_s: self.command.and_then(loop_s),
            cards: self.count.and_then(|count| usize::try_from(count).ok()),
            is_of_tool: self.columns.is_of_tool,
        };
        let has_numbers = self.cards.iter().all(|row| row.index.is_some());
        let looks = looks(std::mem::take(&mut self.cards), arrangement);
        let mut scene = self.scene(&looks);
        if !has_numbers {
            match self.command.and_then(cards_asked_for).filter(|asked| asked.len() == scene.cards.len()) {
                Some(asked) => {
                    for (card, number) in scene.cards.iter_mut().zip(asked) {
                        card.index = number;
                    }
                }
                None if self.shows_all_cards(&looks) => {}
                None => leave_unnumbered(&mut scene),
            }
        }
        scene.unplaced_clients = newest(&self.apps);
        scene.machine.container = self.command.and_then(container_of).map(str::to_owned).into();
        scene.machine.hostname = self.hostname;
        if self.left_out > 0 {
            self.remarks.push(Remark::LeftOut { lines: self.left_out });
        }
        (scene, self.remarks)
    }

    /// Returns whether every look shows all cards of the machine, so that the places of rows are their numbers.
    fn shows_all_cards(&self, looks: &[Look]) -> bool {
        let (Some(most), Some(least)) = (
            looks.iter().map(|look| look.cards.len()).max(),
            looks.iter().map(|look| look.cards.len()).min(),
        ) else {
            return false;
        };
        if let Some(count) = self.count {
            return usize::try_from(count) == Ok(least);
        }
        match self.command {
            Some(command) => most == least && !names_cards(command) && !command.contains(['|', ';']),
            // Rows of several cards under the tool's own heading; a single one may be any card.
            None => most == least && most > 1 && self.columns.is_of_tool && self.has_heading,
        }
    }

    fn scene(&self, looks: &[Look]) -> Scene {
        let samples: Vec<Sample> = looks
            .iter()
            .map(|look| {
                let mut sample = Sample::empty(look.taken);
                let mut cards: Vec<_> = look.cards.iter().map(|row| row.sample.clone()).collect();
                cards.truncate(NvmlSample::CARDS_MAX as usize);
                let card_count = self.count.filter(|_| !self.command.is_some_and(names_cards)).into();
                let value = Reading::Known(NvmlSample {
                    driver_version: self.driver_version.clone(),
                    cuda_version: self.cuda_version.clone(),
                    card_count,
                    cards,
                    ..NvmlSample::default()
                });
                sample.nvml = Section { read: look.taken, value };
                sample
            })
            .collect();
        let has_time = looks.last().is_some_and(|look| look.has_calendar);
        let mut scene = scene_of(&samples, Format::NvidiaSmiCsv, has_time);
        let mut used: BTreeMap<u32, Vec<TimedValue>> = BTreeMap::new();
        for look in looks {
            let time_us = u64::try_from(look.taken.wall.as_microsecond()).unwrap_or_default();
            for card in &look.cards {
                if let Reading::Known(bytes) = card.used {
                    let value = bytes.0 as f64;
                    used.entry(card.sample.index).or_default().push(TimedValue { time_us, value });
                }
            }
        }
        for card in &mut scene.cards {
            if let Some(trend) = used.get(&card.index).and_then(|values| Trend::of(values)) {
                card.memory_used = Reading::Known(trend);
            }
        }
        scene
    }
}
