//! Makes a [`Scene`] from samples: the one place where counters are differenced and trends are taken.
//!
//! Live looks, recordings, history and Prometheus all go through it. It is pure: the same samples give the same scene.

mod cards;
mod devices;
mod host;
mod merge;
mod processes;
mod series;
mod workloads;

pub use merge::{Disagreement, Gathering, Merged, merge};

use crate::reading::{Failure, Reading};
use crate::sample::{KernelLine, Sample, XidEvent};
use crate::scene::{Driver, Machine, Provenance, Scene, SourceKind, Window};

/// Returns what was seen over the samples, which must be in the order of their taking.
///
/// No sample gives an empty scene in which nothing is known. A single sample gives states and what the driver's own
/// buffers hold of the past; rates need at least two.
pub fn window(samples: &[Sample]) -> Scene {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Scene::default();
    };
    let cards = cards::cards(samples);
    let processes = processes::processes(samples);
    let device_holders = series::newest(samples, |sample| {
        sample.processes.value.as_ref().and_then(|table| table.device_holders.as_ref())
    });
    let machine = machine(samples, last);
    let workloads = workloads::workloads(&cards, &processes, &device_holders, &machine.viewer);
    Scene {
        window: Window {
            taken_at: last.taken.wall,
            span_s: last.taken.seconds_since(&first.taken),
            samples: samples.len(),
            end_boot_ns: Some(last.taken.boot_ns),
        },
        machine,
        cards,
        processes,
        workloads,
        device_holders,
        cgroups: processes::cgroups(samples),
        host: host::host(samples),
        mounts: series::newest(samples, |sample| sample.mounts.value.as_ref()),
        network: devices::interfaces(samples),
        events: events(samples),
        provenance: Provenance { source: SourceKind::Live, inputs: Vec::new() },
        ..Scene::default()
    }
}

/// Returns the machine as the newest sample that carries each value saw it.
fn machine(samples: &[Sample], last: &Sample) -> Machine {
    let part = |pick: fn(&crate::sample::MachineSample) -> &Reading<String>| {
        series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| pick(machine).as_ref())
        })
    };
    let viewer =
        samples.iter().rev().find_map(|sample| sample.machine.value.known()).map(|machine| &machine.viewer);
    Machine {
        boot_id: series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| machine.boot_id.as_ref())
        }),
        hostname: part(|machine| &machine.hostname),
        kernel: part(|machine| &machine.kernel),
        driver: driver(samples, last, part(|machine| &machine.driver_module)),
        pci_cards: series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| machine.pci_cards.as_ref())
        }),
        device_files: series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| machine.device_files.as_ref())
        }),
        nvswitches: series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| machine.nvswitches.as_ref())
        }),
        card_pairs: series::newest(samples, |sample| {
            sample.nvml.value.as_ref().and_then(|nvml| nvml.pairs.as_ref())
        }),
        services: series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| machine.services.as_ref())
        }),
        container: part(|machine| &machine.container),
        promised_cards: part(|machine| &machine.promised_cards),
        viewer: viewer.cloned().unwrap_or_default(),
        // Only texts tell of the rest.
        ..Machine::default()
    }
}

/// Returns the driver and its library; whether the library answers is said by the newest sample alone.
fn driver(samples: &[Sample], last: &Sample, module: Reading<String>) -> Driver {
    let newest_nvml = samples.iter().rev().find_map(|sample| sample.nvml.value.known());
    let from_nvml = |pick: fn(&crate::sample::NvmlSample) -> Reading<String>| {
        newest_nvml.map_or_else(Reading::default, pick)
    };
    Driver {
        library: last.nvml.value.as_ref().map(|_| ()),
        version: from_nvml(|nvml| nvml.driver_version.clone()),
        cuda_version: from_nvml(|nvml| nvml.cuda_version.clone()),
        module,
        modules: series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| machine.modules.as_ref())
        }),
        init_ms: newest_nvml.map_or_else(Reading::default, |nvml| Reading::Known(nvml.init_ms)),
        card_count: newest_nvml.map_or_else(Reading::default, |nvml| nvml.card_count.clone()),
        library_version: from_nvml(|nvml| nvml.library_version.clone()),
        library_files: series::newest(samples, |sample| {
            sample.machine.value.as_ref().and_then(|machine| machine.library_versions.as_ref())
        }),
        xid_events: xid_events(samples),
        stuck_calls: last.stuck_calls.clone(),
        ..Driver::default()
    }
}

/// Returns the error events of all samples, oldest first.
fn xid_events(samples: &[Sample]) -> Reading<Vec<XidEvent>> {
    let newest = series::newest(samples, |sample| {
        sample.nvml.value.as_ref().and_then(|nvml| nvml.xid_events.as_ref())
    });
    newest.map(|_| {
        let delivered =
            samples.iter().filter_map(|sample| sample.nvml.value.known()?.xid_events.known()).flatten();
        delivered.copied().collect()
    })
}

/// Returns the kernel lines of all samples, oldest first, each once.
fn events(samples: &[Sample]) -> Reading<Vec<KernelLine>> {
    let mut lines: Vec<KernelLine> = Vec::new();
    let mut was_read = false;
    let mut absence = Failure::NotInSource.into_reading();
    for sample in samples {
        match &sample.kernel_log.value {
            Reading::Known(new) => {
                was_read = true;
                lines.extend(new.iter().cloned());
            }
            other if !other.is_not_in_source() => absence = other.clone(),
            _ => {}
        }
    }
    if !was_read {
        return absence;
    }
    lines.sort_by(|one, other| (one.boot_us, &one.text).cmp(&(other.boot_us, &other.text)));
    lines.dedup();
    Reading::Known(lines)
}

#[cfg(test)]
mod tests;
