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
    /// Processes that were read at the full look.
    processes: usize,
    /// Calm ticks of which the middle is given.
    pub(super) calm_ticks: usize,
    /// The middle of the calm ticks, figure by figure.
    pub(super) calm_tick: SampleCost,
    /// A full look, after what is read only once.
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

/// Memory in bytes; null where the kernel does not say.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Memory {
    /// Of this process.
    pub(super) own_bytes: Option<u64>,
    /// Of the process that asks the driver.
    pub(super) child_bytes: Option<u64>,
}

impl CostReport {
    pub(super) fn new(calm: &[Measured], full: Measured, footprint: Footprint) -> Self {
        Self {
            schema: "gpuwhy.self/1",
            cards: full.cards,
            processes: full.processes,
            calm_ticks: calm.len(),
            calm_tick: SampleCost::middle_of(calm),
            full_look: SampleCost::middle_of(&[full]),
            memory: Memory {
                own_bytes: footprint.own.into_known(),
                child_bytes: footprint.child.into_known(),
            },
        }
    }
}

impl SampleCost {
    /// Returns the middle of each figure.
    fn middle_of(samples: &[Measured]) -> Self {
        let parts: Vec<PartCost> = Part::ALL
            .iter()
            .map(|part| {
                let costs: Vec<Cost> = samples.iter().map(|sample| sample.cost(*part)).collect();
                PartCost {
                    part: *part,
                    processor_ms: middle(costs.iter().map(|cost| milliseconds(cost.processor))),
                    wall_ms: middle(costs.iter().map(|cost| milliseconds(cost.wall))),
                    files: middle_count(costs.iter().map(|cost| cost.files)),
                }
            })
            .collect();
        let child_ms = middle(samples.iter().map(|sample| milliseconds(sample.child)));
        let whole = |sample: &Measured| {
            let own: Duration = sample.parts.iter().map(|(_, cost)| cost.processor).sum();
            milliseconds(own + sample.child)
        };
        Self {
            processor_ms: middle(samples.iter().map(whole)),
            files: parts.iter().map(|part| part.files).sum(),
            child_ms,
            library_ms: middle(samples.iter().map(|sample| milliseconds(sample.library))),
            library_calls: middle_count(samples.iter().map(|sample| sample.calls)),
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

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn middle_count(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
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
    fn one_slow_tick_does_not_count_and_the_child_does() {
        let tick = |milliseconds: u64| Measured {
            parts: vec![(
                Part::Host,
                Cost { processor: Duration::from_millis(milliseconds), files: 5, ..Cost::default() },
            )],
            child: Duration::from_millis(2),
            calls: 40,
            ..Measured::default()
        };
        let cost = SampleCost::middle_of(&[tick(1), tick(90), tick(1)]);
        assert!((cost.processor_ms - 3.0).abs() < 1e-9);
        assert_eq!((cost.files, cost.library_calls), (5, 40));
        assert!(cost.part(Part::Host).is_some());
    }
}
