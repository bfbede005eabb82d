//! The figures of `gpuwhy self`, as programs read them.

use std::time::Duration;

use gpuwhy_model::sample::Sample;
use gpuwhy_sources::nvml::Effort;
use gpuwhy_sources::{Cost, Footprint, Part};
use serde::Serialize;

/// What one sample has cost.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    parts: Vec<(Part, Cost)>,
    calls: u64,
    library: Duration,
    child: Duration,
    cards: usize,
    processes: usize,
}

impl Measured {
    pub(super) fn new(parts: &[(Part, Cost)], before: &Effort, after: &Effort, sample: &Sample) -> Self {
        let nvml = sample.nvml.value.known();
        let table = sample.processes.value.known();
        Self {
            parts: parts.to_vec(),
            calls: after.calls.saturating_sub(before.calls),
            library: Duration::from_nanos(after.library_ns.saturating_sub(before.library_ns)),
            child: Duration::from_nanos(after.child_ns.saturating_sub(before.child_ns)),
            cards: nvml.map_or(0, |nvml| nvml.cards.len()),
            processes: table.map_or(0, |table| table.processes.len()),
        }
    }

    /// Returns our own processor time.
    fn own(&self) -> Duration {
        self.parts.iter().map(|(_, cost)| cost.processor).sum()
    }

    /// Returns how many files were read.
    fn files(&self) -> u64 {
        self.parts.iter().map(|(_, cost)| cost.files).sum()
    }

    fn cost(&self, part: Part) -> Cost {
        self.parts.iter().find(|(known, _)| *known == part).map(|(_, cost)| *cost).unwrap_or_default()
    }
}

/// What looking costs.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CostReport {
    schema: &'static str,
    /// Cards that the driver showed.
    cards: usize,
    /// Processes that were read at the last full look.
    processes: usize,
    /// Calm ticks of which the mean is given.
    pub(super) calm_ticks: usize,
    /// The mean of the calm ticks: some of them read more than others, in turn.
    pub(super) calm_tick: SampleCost,
    /// Full looks of which the mean is given.
    pub(super) full_looks: usize,
    /// The mean of the full looks, without what is read only once.
    pub(super) full_look: SampleCost,
    /// Memory, each shared page divided by those who share it.
    pub(super) memory: Memory,
}

/// What one kind of sample costs.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SampleCost {
    /// Processor time in all: our own, and that of the process that asks the driver.
    pub(super) processor_ms: f64,
    /// Files, directories and links that are read.
    pub(super) files: u64,
    /// Processor time of the process that asks the driver, with the time of the driver's library.
    pub(super) child_ms: f64,
    /// Of that the time of the driver's library.
    pub(super) library_ms: f64,
    /// Calls into the driver's library.
    pub(super) library_calls: u64,
    /// Our own time by source.
    pub(super) parts: Vec<PartCost>,
}

/// What one source costs.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PartCost {
    /// The source.
    #[serde(serialize_with = "as_id")]
    pub(super) part: Part,
    /// Processor time.
    pub(super) processor_ms: f64,
    /// Time that passes.
    pub(super) wall_ms: f64,
    /// Files, directories and links that are read.
    pub(super) files: u64,
}

impl PartCost {
    /// Returns the mean of what one source cost.
    fn mean_of(part: Part, samples: &[Measured]) -> Self {
        let all = samples.iter().map(|sample| sample.cost(part)).fold(Cost::default(), Cost::plus);
        let number = samples.len().max(1);
        Self {
            part,
            processor_ms: milliseconds(all.processor) / number as f64,
            wall_ms: milliseconds(all.wall) / number as f64,
            files: all.files / number as u64,
        }
    }
}

/// Memory in bytes; null where the kernel does not say.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Memory {
    /// Of this process.
    pub(super) own_bytes: Option<u64>,
    /// Of the process that asks the driver.
    pub(super) child_bytes: Option<u64>,
}

impl CostReport {
    pub(super) fn new(calm: &[Measured], full: &[Measured], footprint: Footprint) -> Self {
        Self {
            schema: "gpuwhy.self/1",
            cards: full.last().map_or(0, |look| look.cards),
            processes: full.last().map_or(0, |look| look.processes),
            calm_ticks: calm.len(),
            calm_tick: SampleCost::mean_of(calm),
            full_looks: full.len(),
            full_look: SampleCost::mean_of(full),
            memory: Memory {
                own_bytes: footprint.own.into_known(),
                child_bytes: footprint.child.into_known(),
            },
        }
    }
}

impl SampleCost {
    /// Returns the mean of each figure.
    fn mean_of(samples: &[Measured]) -> Self {
        let mean = |value: fn(&Measured) -> Duration| {
            milliseconds(samples.iter().map(value).sum::<Duration>()) / samples.len().max(1) as f64
        };
        let mean_count = |counts: u64| counts / (samples.len() as u64).max(1);
        let parts: Vec<PartCost> = Part::ALL.iter().map(|part| PartCost::mean_of(*part, samples)).collect();
        let (child_ms, own_ms) = (mean(|sample| sample.child), mean(Measured::own));
        Self {
            processor_ms: own_ms + child_ms,
            files: mean_count(samples.iter().map(Measured::files).sum()),
            child_ms,
            library_ms: mean(|sample| sample.library),
            library_calls: mean_count(samples.iter().map(|sample| sample.calls).sum()),
            parts,
        }
    }

    /// Returns the cost of one source.
    pub(super) fn part(&self, part: Part) -> Option<&PartCost> {
        self.parts.iter().find(|known| known.part == part)
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn as_id<S: serde::Serializer>(part: &Part, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(part.id())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gpuwhy_sources::{Cost, Part};

    use super::{Measured, SampleCost};

    #[test]
    fn ticks_that_read_more_count_and_so_does_the_child() {
        let tick = |milliseconds: u64| Measured {
            parts: vec![(
                Part::Host,
                Cost { processor: Duration::from_millis(milliseconds), files: 5, ..Cost::default() },
            )],
            child: Duration::from_millis(2),
            calls: 40,
            ..Measured::default()
        };
        let cost = SampleCost::mean_of(&[tick(1), tick(10), tick(1)]);
        assert!((cost.processor_ms - 6.0).abs() < 1e-9);
        assert_eq!((cost.files, cost.library_calls), (5, 40));
        assert!(cost.part(Part::Host).is_some());
    }
}
