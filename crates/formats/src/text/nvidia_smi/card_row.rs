//! The two or three rows of one card in the table.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardMemory, CardSample};
use gpuwhy_model::units::{Bytes, Celsius, Percent, Watts};

use super::row::Cell;
use crate::kernel_log::pci_address;
use crate::nvidia_cell::{self, compute_mode, is_lost, memory, number, said, whole};

/// What stands behind a card's name: whether the driver keeps it, or which driver model Windows uses.
const BEHIND_NAME: &[&str] = &["On", "Off", "N/A", "ERR!", "TCC", "WDDM", "MCDM", "Enabled", "Disabled"];

/// Driver models of Windows, which has no persistence mode.
const DRIVER_MODELS: &[&str] = &["TCC", "WDDM", "MCDM"];

/// What stands behind an address: whether a display is on.
const BEHIND_ADDRESS: &[&str] = &["On", "Off", "N/A", "ERR!"];

/// Names of other vendors' cards whose tools draw the same table.
const OTHERS: &[&str] = &["HL-", "Iluvatar", "MTT ", "MXC", "Enflame"];

/// The highest number that a card can have here.
const INDEX_MAX: u32 = 4096;

/// Returns the number, the name and what stands behind it, if cells are a card's first row.
fn first_row<'row>(cells: &[Cell<'row>]) -> Option<(u32, &'row str, Option<&'row str>)> {
    let [named, placed, ..] = cells else {
        return None;
    };
    let text = named.whole()?;
    let (index, rest) = text.split_once(char::is_whitespace)?;
    let index: u32 = index.parse().ok().filter(|index| *index < INDEX_MAX)?;
    let rest = rest.trim();
    let (name, behind) = match rest.rsplit_once(char::is_whitespace) {
        Some((name, last)) if BEHIND_NAME.contains(&last) => (name.trim(), Some(last)),
        // A name that is missing leaves only what stands behind it.
        _ => (rest, None),
    };
    let mut words = placed.words();
    let address = words.next()?;
    let display = words.next();
    // Other tools draw a number, a name and an address too; this one says behind one of them what is on.
    let says_what_is_on = display.is_some() || behind.is_some() || !placed.is_whole;
    let has_address = pci_address(address).is_some() && says_what_is_on;
    let has_words =
        said(address).known().is_none() && display.is_some_and(|word| BEHIND_ADDRESS.contains(&word));
    let is_other = OTHERS.iter().any(|begin| name.starts_with(begin));
    ((has_address || has_words && behind.is_some()) && !is_other && !name.is_empty())
        .then_some((index, name, behind))
}

/// Returns a card of which the first row is read.
pub(super) fn begin(cells: &[Cell<'_>]) -> Option<CardSample> {
    let (index, name, behind) = first_row(cells)?;
    let placed = cells.get(1)?;
    let mut words = placed.words();
    let address = words.next().map_or_else(Reading::default, said);
    let display = words.next().filter(|_| placed.is_whole);
    let mut card = CardSample {
        index,
        handle: Reading::Known(()),
        name: said(name).map(str::to_owned),
        pci_address: address.and_then(|text| pci_address(text).into()),
        display_active: display.map_or_else(Reading::default, on_or_off),
        persistence: behind.map_or_else(Reading::default, persistence),
        ..CardSample::default()
    };
    if let Some(errors) = cells.get(2).and_then(|cell| cell.whole()) {
        take_errors(errors, &mut card);
    }
    Some(card)
}

fn persistence(word: &str) -> Reading<bool> {
    if DRIVER_MODELS.contains(&word) { Reading::Unsupported } else { on_or_off(word) }
}

fn on_or_off(word: &str) -> Reading<bool> {
    said(word).and_then(|word| match word {
        "On" | "Enabled" => Reading::Known(true),
        "Off" | "Disabled" => Reading::Known(false),
        _ => Reading::default(),
    })
}

/// Reads the number of errors that were not corrected; words say whether correction is on.
fn take_errors(text: &str, card: &mut CardSample) {
    match said(text) {
        Reading::Known("Off") => {
            card.ecc.enabled = Reading::Known(false);
            card.ecc.volatile.uncorrected = Reading::Unsupported;
        }
        // In multi-instance mode the instances count.
        Reading::Known("On") => card.ecc.enabled = Reading::Known(true),
        Reading::Known(text) => {
            if let Some(errors) = whole(text, "") {
                card.ecc.enabled = Reading::Known(true);
                card.ecc.volatile.uncorrected = Reading::Known(errors);
            }
        }
        absent => {
            card.ecc.enabled = absent.clone().and_then(|_| Reading::default());
            card.ecc.volatile.uncorrected = absent.and_then(|_| Reading::default());
        }
    }
}

/// Returns whether cells are the row with a card's values.
pub(super) fn is_values(cells: &[Cell<'_>]) -> bool {
    let [heat, held, ..] = cells else {
        return false;
    };
    let values = values(heat);
    let is_value = |word: &str| said(word).known().is_none() || has_unit(word) || is_state(word);
    let looks_hot = (3..=6).contains(&values.len()) && values.iter().all(|word| is_value(word));
    looks_hot && is_memory(held.text)
}

fn has_unit(word: &str) -> bool {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '%');
    digits.len() < word.len() && digits.parse::<f64>().is_ok()
}

fn is_state(word: &str) -> bool {
    word.strip_prefix('P').is_some_and(|number| number.parse::<u8>().is_ok())
}

fn is_memory(text: &str) -> bool {
    match text.split_once('/') {
        Some((used, total)) if memory(used).is_some() => memory(total).is_some() || total.trim().is_empty(),
        _ => !text.trim().is_empty() && said(text).known().is_none(),
    }
}

/// Returns the values of the first cell, blanks and strokes between them left out.
fn values<'row>(cell: &Cell<'row>) -> Vec<&'row str> {
    let mut values = Vec::new();
    for word in cell.words() {
        let is_absent = |word: &str| word == "N/A";
        match word.split_once('/') {
            _ if is_absent(word) => values.push(word),
            Some((one, other)) => values.extend([one, other].into_iter().filter(|part| !part.is_empty())),
            None => values.push(word),
        }
    }
    values
}

/// Reads the row with a card's values.
pub(super) fn take_values(cells: &[Cell<'_>], line: u64, card: &mut CardSample) {
    if let Some(heat) = cells.first() {
        take_heat(heat, line, card);
    }
    if let Some(held) = cells.get(1) {
        card.memory = memory_of(held);
    }
    if let Some(work) = cells.get(2) {
        take_work(*work, card);
    }
    card.handle = handle(card);
}

/// Reads fan, temperature, state, power and its limit.
fn take_heat(cell: &Cell<'_>, line: u64, card: &mut CardSample) {
    let values = values(cell);
    // With all five the place tells which one is which; else only the unit does.
    let by_place = values.len() == 5;
    let expected = |what: &str| Failure::Syntax {
        path: crate::Format::NvidiaSmi.to_string(),
        line,
        expected: what.to_owned(),
    };
    let at = |place: usize, unit: &str| {
        if by_place {
            let reading = said(values[place]);
            return reading.and_then(|text| match number(text, unit) {
                Some(value) => Reading::Known(value),
                None => Reading::Failed(expected(&format!("a number and `{unit}`"))),
            });
        }
        let places = [("%", 0), ("C", 0), ("", 0), ("W", 0), ("W", 1)];
        let (unit, which) = places[place];
        values.iter().filter_map(|word| number(word, unit)).nth(which).into()
    };
    card.fan = at(0, "%").map(Percent);
    card.temperature = at(1, "C").map(Celsius);
    card.power = at(3, "W").map(Watts);
    card.power_limits.enforced = at(4, "W").map(Watts);
    let state = if by_place { Some(values[2]) } else { values.iter().find(|word| is_state(word)).copied() };
    card.performance_state = state
        .map_or_else(Reading::default, said)
        .and_then(|word| word.strip_prefix('P').and_then(|number| number.parse().ok()).into());
}

/// Reads `used / total`. What is free is not printed: it is what is not used, the driver's own share included.
pub(super) fn memory_of(cell: &Cell<'_>) -> Reading<CardMemory> {
    let Some((used, total)) = cell.text.split_once('/').filter(|(used, _)| memory(used).is_some()) else {
        return cell.whole().map_or_else(Reading::default, said).and_then(|_| Reading::default());
    };
    let amounts = memory(used).zip(memory(total)).filter(|(used, total)| used.0 <= total.0);
    amounts
        .map(|(used, total)| CardMemory {
            total,
            reserved: Reading::default(),
            used,
            free: Bytes(total.0 - used.0),
        })
        .into()
}

/// Reads how busy the card is, and who may use it.
fn take_work(cell: Cell<'_>, card: &mut CardSample) {
    let text = cell.text.trim();
    let Some((busy, mode)) = text.split_once(char::is_whitespace) else {
        card.busy = busy_of(text);
        return;
    };
    card.busy = busy_of(busy);
    if cell.is_whole {
        card.compute_mode = said(mode).map(compute_mode);
    }
}

fn busy_of(text: &str) -> Reading<Percent> {
    said(text).and_then(|text| number(text, "%").map(Percent).into())
}

/// Returns whether cells are the row with a card's multi-instance mode.
pub(super) fn is_mode(cells: &[Cell<'_>]) -> bool {
    let [first, second, third] = cells else {
        return false;
    };
    let mode = third.text.trim().trim_end_matches('*');
    first.is_blank() && second.is_blank() && ["Enabled", "Disabled", "N/A", "ERR!"].contains(&mode)
}

/// Reads the multi-instance mode; a star says that it will be the other one after a reset.
pub(super) fn take_mode(cells: &[Cell<'_>], card: &mut CardSample) {
    let Some(text) = cells.get(2).and_then(|cell| cell.whole()) else {
        return;
    };
    let is_pending = text.ends_with('*');
    card.mig_enabled = on_or_off(text.trim_end_matches('*'));
    card.mig_pending = card.mig_enabled.as_ref().map(|is_on| *is_on != is_pending);
}

/// Returns whether the card answers: lost as soon as one cell says so, silent when nothing that moves could be read.
fn handle(card: &CardSample) -> Reading<()> {
    let cells = [
        card.memory.as_ref().map(|_| ()),
        card.busy.as_ref().map(|_| ()),
        card.temperature.as_ref().map(|_| ()),
        card.power.as_ref().map(|_| ()),
        card.name.as_ref().map(|_| ()),
    ];
    if let Some(lost) = cells.iter().find(|cell| is_lost(cell)) {
        return lost.clone();
    }
    // The memory's size is known to the driver without asking the card.
    let moves = &cells[1..4];
    let is_silent = moves.iter().all(|cell| matches!(cell, Reading::Failed(Failure::Nvml { .. })));
    if is_silent { Reading::Failed(nvidia_cell::failure(nvidia_cell::UNKNOWN)) } else { Reading::Known(()) }
}
