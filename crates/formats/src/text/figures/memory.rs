//! What one process held, noted again and again.

use gpuwhy_model::scene::{Figures, MemoryStep};
use gpuwhy_model::units::Bytes;

use super::table::{Table, has_word, number};

/// Names of a column of memory of a card.
const MEMORY: &[&str] = &[
    "vram",
    "gpu mem",
    "gpu_mem",
    "gpu memory",
    "memory.used",
    "memory used",
    "mem used",
    "mem_used",
    "used_memory",
    "memory_used",
    "cuda memory",
    "allocated",
];
/// What is not held by a process, or not at that time.
const NOT_HELD: &[&str] =
    &["limit", "total", "free", "capacity", "peak", "max", "util", "%", "delta", "diff", "estimate"];
/// Names of a column that runs with the time.
const ORDER: &[&str] = &[
    "step",
    "steps",
    "iter",
    "iteration",
    "iterations",
    "epoch",
    "cycle",
    "cycles",
    "round",
    "run",
    "time",
    "timestamp",
    "elapsed",
    "t",
    "sec",
    "seconds",
    "minute",
    "minutes",
    "min",
    "hour",
    "hours",
    "day",
    "uptime",
];
/// Names of a column that tells cards, programs or sizes apart: rows are no steps then.
const NOT_ORDER: &[&str] = &[
    "gpu", "card", "device", "rank", "node", "host", "pid", "process", "model", "name", "batch", "size",
    "length", "context",
];
/// Of a state that comes again, there are so many rows.
const OF_A_STATE_MIN: usize = 3;
/// More states are names.
const STATES_MAX: usize = 3;
/// No card holds more.
const BYTES_MAX: f64 = 1e14;

pub(super) fn may_begin(first: &str) -> bool {
    MEMORY.iter().any(|name| first.contains(name))
}

pub(super) fn figures(table: &Table) -> Option<Figures> {
    let names = table.names();
    let is_memory = |name: &str| {
        MEMORY.iter().any(|word| name.contains(word)) && !NOT_HELD.iter().any(|word| name.contains(word))
    };
    let places: Vec<usize> = (0..names.len()).filter(|place| is_memory(&names[*place])).collect();
    let [held] = places[..] else {
        return None;
    };
    let others = || (0..names.len()).filter(|place| *place != held);
    let is_told_apart = |place: usize| NOT_ORDER.iter().any(|word| has_word(&names[place], word));
    if others().any(is_told_apart) {
        return None;
    }
    let is_order =
        |place: &usize| ORDER.iter().any(|word| has_word(&names[*place], word)) && rises(table, *place);
    let has_order = others().any(|place| is_order(&place));
    let of_states = others().find(|place| come_again(table, *place));
    if !has_order && of_states.is_none() {
        return None;
    }
    let mut steps = Vec::new();
    for row in &table.rows {
        let state = of_states.filter(|_| !has_order).map(|place| row[place].clone());
        let (amount, unit) = number(&row[held])?;
        let factor = factor(unit).or_else(|| factor(&names[held]).filter(|_| unit.is_empty()))?;
        let bytes = amount * factor;
        if bytes > BYTES_MAX {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "read without a sign, and small"
        )]
        let held = Bytes(bytes as u64);
        steps.push(MemoryStep { state: state.unwrap_or_default(), held });
    }
    Some(Figures::MemorySteps(steps))
}

/// Returns whether a column's numbers or times rise with each row.
fn rises(table: &Table, place: usize) -> bool {
    let cells: Vec<&str> = table.column(place).collect();
    let numbers: Option<Vec<f64>> = cells.iter().map(|cell| number(cell).map(|(number, _)| number)).collect();
    if let Some(numbers) = numbers {
        return numbers.windows(2).all(|pair| pair[0] < pair[1]);
    }
    // Times of one form, from the larger part to the smaller.
    let is_time = |cell: &&str| cell.starts_with(|first: char| first.is_ascii_digit()) && cell.contains(':');
    let follows = |pair: &[&str]| pair[0].len() == pair[1].len() && pair[0] < pair[1];
    cells.iter().all(is_time) && cells.windows(2).all(follows)
}

/// Returns whether a column names a few states, each of them again and again.
fn come_again(table: &Table, place: usize) -> bool {
    let mut states: Vec<(&str, usize)> = Vec::new();
    for cell in table.column(place) {
        let is_full = states.len() == STATES_MAX;
        match states.iter_mut().find(|(state, _)| *state == cell) {
            Some((_, number)) => *number += 1,
            None if is_full => return false,
            None => states.push((cell, 1)),
        }
    }
    // One after the other, not one block behind the other.
    let changes = table.rows.windows(2).filter(|pair| pair[0][place] != pair[1][place]).count();
    states.len() >= 2
        && states.iter().all(|(_, number)| *number >= OF_A_STATE_MIN)
        && changes * 2 >= table.rows.len()
}

/// Returns how many bytes a unit is; none where no unit is named, or several are.
fn factor(name: &str) -> Option<f64> {
    const UNITS: &[(&str, f64)] = &[
        ("mib", 1_048_576.0),
        ("mb", 1_048_576.0),
        ("gib", 1_073_741_824.0),
        ("gb", 1_073_741_824.0),
        ("kib", 1024.0),
        ("kb", 1024.0),
        ("bytes", 1.0),
    ];
    let name = name.to_ascii_lowercase();
    let mut named = UNITS.iter().filter(|(unit, _)| has_word(&name, unit));
    let (_, factor) = named.next()?;
    named.next().is_none().then_some(*factor)
}
