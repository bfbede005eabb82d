//! Output of `nvidia-smi pmon`, in every selection of columns.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{
    CardClient, CardSample, ClientKind, NvmlSample, ProcessUtilization, Sample, Section,
};
use gpuwhy_model::scene::Scene;
use gpuwhy_model::units::{Bytes, Percent};

use super::columns::{Columns, Row};
use super::looks::Look;
use super::nvidia_scene::scene_of;
use super::{Block, Context, Line, Output};
use crate::Format;

/// No look has more rows.
const ROWS_MAX: usize = 2048;

/// One row: a process on a card, or a card on which there is none.
#[derive(Debug)]
struct Entry {
    card: u32,
    client: Option<CardClient>,
    sm: Reading<f64>,
    memory: Reading<f64>,
}

/// Reads the output that begins with the first of these lines.
pub(crate) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let output = Output { heading, row: entry, begins_another, scene };
    output.read(lines, context)
}

fn heading(text: &str) -> Option<Columns> {
    Columns::heading(text)
        .filter(|columns| columns.has("pid") && (columns.has("type") || columns.has("command")))
}

/// Returns whether a row belongs to the next look: its card comes before the last one, or it was seen in this look.
fn begins_another(look: &Look<Entry>, entry: &Entry) -> bool {
    let is_seen = |other: &Entry| {
        let same_process = match (&other.client, &entry.client) {
            (Some(one), Some(other)) => one.pid == other.pid,
            // A card without a process has one row.
            _ => true,
        };
        other.card == entry.card && same_process
    };
    look.rows.len() >= ROWS_MAX
        || look.rows.last().is_some_and(|last| entry.card < last.card)
        || look.rows.iter().any(is_seen)
}

fn entry(row: &Row<'_, '_>) -> Option<Entry> {
    let card = row.card()?;
    let client = match row.text("pid") {
        Reading::Known(text) => Some(client(row, Pid(text.parse().ok()?))),
        _ => None,
    };
    Some(Entry { card, client, sm: row.number("sm"), memory: row.number("mem") })
}

fn client(row: &Row<'_, '_>, pid: Pid) -> CardClient {
    let letters = row.text("type");
    let has = |letter| letters.known().is_some_and(|letters| letters.contains(letter));
    let kind = if has('G') {
        ClientKind::Graphics
    } else if has('M') {
        ClientKind::Mps
    } else {
        ClientKind::Compute
    };
    CardClient {
        pid,
        kind,
        memory: row.whole("fb").and_then(|mebibytes| mebibytes.checked_mul(1 << 20).map(Bytes).into()),
        name: row.text("command").or(row.text("name")).map(masked_text),
    }
}

fn scene(looks: &[Look<Entry>]) -> Scene {
    // A stroke stands for no work, and also for a card that cannot tell: one number shows that it can.
    let tells: BTreeSet<u32> = looks
        .iter()
        .flat_map(|look| &look.rows)
        .filter(|entry| entry.sm.is_known())
        .map(|entry| entry.card)
        .collect();
    let samples: Vec<Sample> = looks
        .iter()
        .map(|look| {
            let taken = look.read_time();
            let mut sample = Sample::empty(taken);
            let cards = cards(look, &tells);
            let value = Reading::Known(NvmlSample { cards, ..NvmlSample::default() });
            sample.nvml = Section { read: taken, value };
            sample
        })
        .collect();
    let has_time = looks.last().is_some_and(|look| look.wall.is_some());
    scene_of(&samples, Format::NvidiaSmiPmon, has_time)
}

/// Returns the cards of one look with their processes.
fn cards(look: &Look<Entry>, tells: &BTreeSet<u32>) -> Vec<CardSample> {
    let time_us = u64::try_from(look.read_time().wall.as_microsecond()).unwrap_or_default();
    let mut by_card: BTreeMap<u32, (Vec<CardClient>, Vec<ProcessUtilization>)> = BTreeMap::new();
    for entry in &look.rows {
        let (clients, work) = by_card.entry(entry.card).or_default();
        let Some(client) = &entry.client else {
            continue;
        };
        clients.push(client.clone());
        if let Reading::Known(sm) = entry.sm {
            let memory = entry.memory.known().copied().unwrap_or_default();
            work.push(ProcessUtilization {
                pid: client.pid,
                time_us,
                sm: Percent(sm),
                memory: Percent(memory),
            });
        }
    }
    by_card
        .into_iter()
        .map(|(index, (clients, work))| CardSample {
            index,
            handle: Reading::Known(()),
            clients: Reading::Known(clients),
            client_work: if tells.contains(&index) { Reading::Known(work) } else { Reading::default() },
            ..CardSample::default()
        })
        .collect()
}
