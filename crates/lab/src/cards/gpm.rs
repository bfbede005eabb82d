//! What the engines of a card did between two moments, as its performance counters have it.

use std::sync::atomic::Ordering::Relaxed;

use super::Machine;
use crate::board::Card;
use crate::state::{EngineWork, Instant, Real};

/// Counters of the engines at one moment; the difference of two says what was done between them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EngineFigures {
    /// The moment (monotonic).
    pub at: Instant,
    /// Nanoseconds with a kernel.
    pub graphics_ns: f64,
    /// Nanoseconds times the share of multiprocessors with something to do.
    pub multiprocessors_ns: f64,
    /// Nanoseconds times the share of taken places for threads.
    pub occupancy_ns: f64,
    /// Nanoseconds times the share of matrix units.
    pub tensor_ns: f64,
    /// Nanoseconds times the share of memory bandwidth.
    pub memory_ns: f64,
    /// Bytes from the host.
    pub received_bytes: f64,
    /// Bytes to the host.
    pub sent_bytes: f64,
    /// Bytes to other cards over NVLink, and as many from them.
    pub exchanged_bytes: f64,
}

impl Machine {
    /// Counters of a card, or of one of its MIG instances, at this moment.
    pub fn engine_figures(&self, card: &Card, instance: Option<usize>) -> EngineFigures {
        self.refresh(card);
        let record = &self.state().layout().cards[card.index];
        let place = instance.map_or(0, |position| position + 1);
        let nothing = EngineWork::default();
        let work = record.work.get(place).unwrap_or(&nothing);
        let of_card = |counter: &Real| if instance.is_none() { counter.get() } else { 0.0 };
        EngineFigures {
            at: record.advanced_to.load(Relaxed),
            graphics_ns: work.graphics.get(),
            multiprocessors_ns: work.multiprocessors.get(),
            occupancy_ns: work.occupancy.get(),
            tensor_ns: work.tensor.get(),
            memory_ns: work.memory.get(),
            received_bytes: of_card(&record.received_bytes),
            sent_bytes: of_card(&record.sent_bytes),
            exchanged_bytes: of_card(&record.exchanged_bytes),
        }
    }
}
