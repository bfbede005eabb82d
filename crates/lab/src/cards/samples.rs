//! The card's own sample buffers, and what each process did lately.

use std::sync::atomic::Ordering::Relaxed;

use crate::board::Card;
use crate::state::{Instant, State};

/// The driver keeps about so many samples of a kind.
const KEPT_SAMPLES: usize = 120;
/// Work of a process is summed up at most over this time, in nanoseconds.
const PROCESS_SPAN_NS: u64 = 1_000_000_000;

/// One sample of a card's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardSample {
    /// Utilization of one period.
    Engine {
        /// End of the period.
        at: Instant,
        /// Share with a kernel, in percent.
        gpu_percent: u32,
        /// Share with memory traffic, in percent.
        memory_percent: u32,
    },
    /// Power and clocks of a tenth of a second.
    Power {
        /// End of the sample.
        at: Instant,
        /// Mean power in milliwatts.
        milliwatts: u32,
        /// SM clock in MHz.
        sm_mhz: u32,
        /// Memory clock in MHz.
        memory_mhz: u32,
    },
}

/// What one process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessSample {
    /// Process id in the pid namespace of the box.
    pub host_pid: u32,
    /// End of the last time bucket with work.
    pub at: Instant,
    /// Share of the time with a kernel, in percent.
    pub sm_percent: u32,
    /// Share of the time with memory traffic, in percent.
    pub memory_percent: u32,
}

/// Samples newer than `after`, oldest first; utilization before power.
pub(super) fn of_card(state: &State, card: &Card, after: Instant) -> Vec<CardSample> {
    let record = &state.layout().cards[card.index];
    let mut engine: Vec<CardSample> = record
        .engine
        .newest_first()
        .take(KEPT_SAMPLES)
        .take_while(|sample| sample.at.load(Relaxed) > after)
        .map(|sample| CardSample::Engine {
            at: sample.at.load(Relaxed),
            gpu_percent: percent(u64::from(sample.busy_ppm.load(Relaxed)), 1_000_000),
            memory_percent: percent(u64::from(sample.memory_ppm.load(Relaxed)), 1_000_000),
        })
        .collect();
    let mut power: Vec<CardSample> = record
        .power
        .newest_first()
        .take(KEPT_SAMPLES)
        .take_while(|sample| sample.at.load(Relaxed) > after)
        .map(|sample| CardSample::Power {
            at: sample.at.load(Relaxed),
            milliwatts: sample.milliwatts.load(Relaxed),
            sm_mhz: sample.sm_mhz.load(Relaxed),
            memory_mhz: sample.memory_mhz.load(Relaxed),
        })
        .collect();
    engine.reverse();
    power.reverse();
    engine.extend(power);
    engine
}

/// What each process did after `after`, at most over the last second; processes without work are absent.
pub(super) fn of_processes(state: &State, card: &Card, after: Instant) -> Vec<ProcessSample> {
    let layout = state.layout();
    let now = layout.cards[card.index].advanced_to.load(Relaxed);
    let from = after.max(now.saturating_sub(PROCESS_SPAN_NS));
    let mut samples = Vec::new();
    for (slot, buckets) in layout.slots.iter().zip(&layout.buckets).take(state.slots_used()) {
        if !slot.is_on(card.index) {
            continue;
        }
        let Some(sum) = buckets.sum(from, now) else { continue };
        let sm_percent = percent(sum.busy_ns, sum.span_ns);
        let memory_percent = percent(sum.memory_ns, sum.span_ns);
        if sm_percent == 0 && memory_percent == 0 {
            continue;
        }
        let host_pid = slot.host_pid.load(Relaxed);
        samples.push(ProcessSample { host_pid, at: sum.last_end, sm_percent, memory_percent });
    }
    samples
}

fn percent(part: u64, whole: u64) -> u32 {
    u32::try_from((part * 100 + whole / 2) / whole).unwrap_or(u32::MAX).min(100)
}
