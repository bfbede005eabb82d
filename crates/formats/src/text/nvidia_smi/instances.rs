//! The table of multi-instance devices below the table of cards.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardKind, CardSample};

use super::card_row::memory_of;
use super::row::Cell;
use crate::nvidia_cell::{said, whole};

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
        memory: memory_of(held),
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
    matches!(cells, [first, held, ..] if first.is_blank() && memory_of(held).is_known())
}

/// Reads an instance's second row.
pub(super) fn take_bar1(cells: &[Cell<'_>], instance: &mut Instance) {
    if let Some(held) = cells.get(1) {
        instance.sample.bar1 = memory_of(held);
    }
}
