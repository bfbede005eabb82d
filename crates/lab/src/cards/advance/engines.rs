//! What the engines of a card do while a kernel runs.

use super::super::load::Intensity;
use crate::state::{CardRecord, EngineWork, Real};

/// Matrix units of the best kernels are busy for so much of the time.
const BEST_TENSOR_SHARE: f64 = 0.6;
/// The memory never gives more than so much of its bandwidth.
const BEST_MEMORY_SHARE: f64 = 0.85;
/// So few of the multiprocessors already fill the memory's bandwidth.
const MULTIPROCESSORS_THAT_FILL_MEMORY: f64 = 0.25;

/// Books `length_ns` of a kernel on its instance (0: the whole card), which is `of_card` of the card.
pub(super) fn book(record: &CardRecord, instance: usize, kernel: &Intensity, length_ns: f64, of_card: f64) {
    add(&record.work[0], kernel, length_ns, of_card);
    if instance > 0 {
        add(&record.work[instance], kernel, length_ns, 1.0);
    }
}

fn add(work: &EngineWork, kernel: &Intensity, length_ns: f64, part: f64) {
    let filled = kernel.sm_share.clamp(0.0, 1.0);
    let effort = kernel.compute.max(kernel.memory).clamp(0.0, 1.0);
    let reach = (filled / MULTIPROCESSORS_THAT_FILL_MEMORY).min(1.0);
    let grow = |field: &Real, share: f64| field.set(field.get() + length_ns * share * part);
    grow(&work.graphics, 1.0);
    grow(&work.multiprocessors, filled);
    grow(&work.occupancy, filled * (0.15 + 0.45 * effort));
    grow(&work.tensor, filled * kernel.compute.clamp(0.0, 1.0) * BEST_TENSOR_SHARE);
    grow(&work.memory, kernel.memory.clamp(0.0, 1.0) * reach * BEST_MEMORY_SHARE);
}
