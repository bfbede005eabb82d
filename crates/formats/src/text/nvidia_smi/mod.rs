//! What plain `nvidia-smi` prints, since 2014: the table with its panels, also again and again (`-l`, `watch`), and what
//! it says instead of a table.

mod card_row;
mod content;
mod heading;
mod instances;
mod message;
mod panel;
mod row;
mod table;
mod told;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CardSample, NvmlSample, ReadTime, Sample, Section};
use gpuwhy_model::scene::Scene;

use super::nvidia_scene::{container_of, names_cards, scene_of};
use super::{Block, Context};
use crate::Format;
use crate::paste::Line;
pub(in crate::text) use message::{Message, message};
use table::{Table, table};

/// So many outputs in a row make one look over time; more begin another.
const OUTPUTS_MAX: usize = 512;

/// Reads the outputs that begin with the first of these lines: several of one machine are looks over time.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let mut tables = vec![table(lines)?];
    let mut end = tables[0].lines;
    while tables.len() < OUTPUTS_MAX {
        let blanks = lines[end..].iter().take(3).take_while(|line| line.text.trim().is_empty()).count();
        let Some(next) = table(&lines[end + blanks..]) else {
            break;
        };
        if !tables.last().is_some_and(|last| is_a_later_look(last, &next)) {
            break;
        }
        end += blanks + next.lines;
        tables.push(next);
    }
    let remarks = tables.iter_mut().flat_map(|table| std::mem::take(&mut table.remarks)).collect();
    Some(Block { lines: end, scene: scene(tables, context), remarks })
}

/// Returns whether an output is a later look at the same machine.
fn is_a_later_look(earlier: &Table, later: &Table) -> bool {
    let follows = matches!((earlier.time, later.time), (Some(earlier), Some(later)) if earlier < later);
    let named = |table: &Table| -> Vec<(u32, Option<String>)> {
        table.cards.iter().map(|card| (card.index, card.pci_address.known().cloned())).collect()
    };
    follows
        && later.has_heading
        && earlier.driver_version == later.driver_version
        && named(earlier) == named(later)
}

fn scene(tables: Vec<Table>, context: &Context<'_>) -> Scene {
    let open_list = tables.last().and_then(|table| table.panel.open_list());
    let library_version = tables.iter().rev().find_map(|table| table.library_version.clone());
    let begin = tables.first().and_then(|table| table.time);
    let has_time = begin.is_some();
    let unnumbered: BTreeSet<u32> =
        tables.iter().flat_map(|table| table.unnumbered.iter().copied()).collect();
    let samples: Vec<Sample> = tables
        .into_iter()
        .map(|table| {
            let wall = table.time.unwrap_or_default();
            let since = wall.duration_since(begin.unwrap_or(wall)).as_nanos();
            let taken = ReadTime { boot_ns: u64::try_from(since).unwrap_or_default(), wall };
            let mut sample = Sample::empty(taken);
            sample.nvml = Section { read: taken, value: nvml(table, context) };
            sample
        })
        .collect();
    let mut scene = scene_of(&samples, Format::NvidiaSmi, has_time);
    scene.machine.driver.library_version = library_version.into();
    if let Some(container) = context.command.and_then(container_of) {
        scene.machine.container = Reading::Known(container.to_owned());
    }
    for card in &mut scene.cards {
        card.is_unnumbered = card.parent.is_none() && unnumbered.contains(&card.index);
        // Nobody could be named: nobody who is listed holds what is used.
        if card.clients == Reading::Denied(Access::VisibleProcesses) {
            card.unexplained = card.memory.as_ref().map(|memory| memory.used);
        }
    }
    if let Some(card) = open_list
        .and_then(|index| scene.cards.iter_mut().find(|card| card.parent.is_none() && card.index == index))
    {
        // Others may stand behind the cut.
        card.unexplained = Failure::Syntax {
            path: Format::NvidiaSmi.to_string(),
            line: 0,
            expected: "the end of the list of processes".to_owned(),
        }
        .into_reading();
    }
    scene
}

fn nvml(table: Table, context: &Context<'_>) -> Reading<NvmlSample> {
    if let Some(failure) = table.library.filter(|_| table.cards.is_empty()) {
        return Reading::Failed(failure);
    }
    let is_all = table.has_heading
        && table.cards_are_whole
        && !context.command.is_some_and(names_cards)
        && table.cards.first().is_some_and(|card| card.index == 0);
    let count = u32::try_from(table.cards.len()).ok().filter(|_| is_all);
    let count = if table.has_no_card { Some(0) } else { count };
    let mut cards: Vec<CardSample> = Vec::new();
    let mut instances = table.instances;
    for card in table.cards {
        let handle = card.handle.clone();
        let index = card.index;
        cards.push(card);
        let (own, others): (Vec<_>, Vec<_>) =
            instances.into_iter().partition(|instance| instance.sample.parent == Some(index));
        instances = others;
        cards
            .extend(own.into_iter().map(|instance| CardSample { handle: handle.clone(), ..instance.sample }));
    }
    // Instances whose card is cut off.
    cards.extend(instances.into_iter().map(|instance| instance.sample));
    Reading::Known(NvmlSample {
        driver_version: table.driver_version,
        cuda_version: table.cuda_version,
        card_count: count.into(),
        cards,
        ..NvmlSample::default()
    })
}
