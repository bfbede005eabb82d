//! The table of multi-instance devices below the table of cards.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardKind, CardMemory, CardSample};
use gpuwhy_model::units::Bytes;

use super::row::Cell;
use crate::nvidia_cell::{memory, said, whole};

/// An instance with the numbers that its processes name it by.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    /// Numbers of its GPU instance and its compute instance.
    pub(super) ids: (u32, u32),
    pub(super) sample: CardSample,
}

/// Returns an instance of which the first row is read, if cells are one.
pub(super) fn begin(cells: &[Cell<'_>]) -> Option<Instance> {
    let [numbers, held, counted, ..] = cells else {
        return None;
    };
    let ids: Vec<u32> = numbers.whole()?.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [card, gpu_instance, compute_instance, device] = ids[..] else {
        return None;
    };
    let mut sample = CardSample {
        index: device,
        kind: CardKind::MigInstance,
        parent: Some(card),
        handle: Reading::Known(()),
        memory: amounts(*held),
        ..CardSample::default()
    };
    // The number of multiprocessors, then that of errors that were not corrected.
    let mut words = counted.words().skip(1);
    if let Some(errors) = words.next().filter(|_| counted.is_whole) {
        sample.ecc.volatile.uncorrected = said(errors).and_then(|text| whole(text, "").into());
    }
    Some(Instance { ids: (gpu_instance, compute_instance), sample })
}

/// Returns whether cells are an instance's second row: its window into the card's memory.
pub(super) fn is_bar1(cells: &[Cell<'_>]) -> bool {
    matches!(cells, [first, held, ..] if first.is_blank() && amounts(*held).is_known())
}

/// Reads an instance's second row.
pub(super) fn take_bar1(cells: &[Cell<'_>], instance: &mut Instance) {
    if let Some(held) = cells.get(1) {
        instance.sample.bar1 = amounts(*held);
    }
}

fn amounts(cell: Cell<'_>) -> Reading<CardMemory> {
    let Some((used, total)) = cell.text.split_once('/') else {
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
