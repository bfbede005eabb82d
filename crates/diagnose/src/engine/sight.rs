//! Says what the whole look could not see of what the rules judge by, whichever way they decided.

use std::collections::BTreeMap;

use gpuwhy_model::cause::Cause;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::Signal;

use crate::findings::Findings;
use crate::rule::Rule;

/// Adds a blind spot for every signal that was closed to us and that some rule needs.
pub(super) fn add(rules: &[&Rule], scene: &Scene, findings: &mut Findings) {
    for (signal, absence) in closed(scene) {
        let causes: Vec<Cause> =
            rules.iter().filter(|rule| rule.needs.signals.contains(&signal)).map(|rule| rule.cause).collect();
        if !causes.is_empty() {
            findings.blind_for(signal, absence, causes);
        }
    }
}

/// Returns the signals of the machine, and of the processes on its cards, that were closed to us.
fn closed(scene: &Scene) -> Vec<(Signal, Absence)> {
    let mut closed: BTreeMap<Signal, Absence> = BTreeMap::new();
    let mut look = |signal: Signal, absence: Option<Absence>| {
        if let Some(absence) = absence.filter(is_closed) {
            closed.entry(signal).or_insert(absence);
        }
    };
    look(Signal::PciCards, scene.machine.pci_cards.absence());
    look(Signal::KernelLog, scene.events.absence());
    look(Signal::DeviceFiles, scene.machine.device_files.absence());
    look(Signal::Mounts, scene.mounts.absence());
    look(Signal::HostPressure, scene.host.pressure.io_some.absence());
    for process in scene.workloads.iter().flat_map(|workload| scene.processes_of(workload)) {
        for (signal, absence) in closed_of(process) {
            look(signal, absence);
        }
    }
    closed.into_iter().collect()
}

fn closed_of(process: &Process) -> [(Signal, Option<Absence>); 5] {
    [
        (Signal::ProcessIo, process.io.absence()),
        (Signal::ProcessEnvironment, process.environment.absence()),
        (Signal::ProcessCommand, process.command.absence()),
        (Signal::ThreadCpu, process.threads.absence()),
        (Signal::Mounts, process.file_mounts.absence()),
    ]
}

/// Returns whether something stands between us and a signal, so that more rights or another place would open it.
fn is_closed(absence: &Absence) -> bool {
    match absence {
        Absence::Denied(_) => true,
        Absence::Failed(failure) => matches!(failure, Failure::Io { .. } | Failure::Missing { .. }),
        Absence::Unsupported => false,
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::{Access, Reading};
    use gpuwhy_model::scene::Workload;

    use super::*;

    fn scene_with(process: Process) -> Scene {
        let workload = Workload { processes: vec![process.key.pid], ..Workload::default() };
        Scene { processes: vec![process], workloads: vec![workload], ..Scene::default() }
    }

    #[test]
    fn what_is_closed_is_said_once() {
        let mut process = Process::default();
        process.key.pid = Pid(7);
        process.io = Reading::Denied(Access::RootOrOwner);
        process.environment = Reading::Known(std::collections::BTreeMap::new());
        assert_eq!(closed(&scene_with(process)), [(Signal::ProcessIo, Absence::Denied(Access::RootOrOwner))]);
    }

    #[test]
    fn a_missing_file_system_is_closed_and_an_input_without_it_is_not() {
        let missing = Failure::Missing { path: "/sys/bus/pci/devices".to_owned() };
        let mut scene = Scene::default();
        assert!(closed(&scene).is_empty());
        scene.machine.pci_cards = missing.clone().into_reading();
        assert_eq!(closed(&scene), [(Signal::PciCards, Absence::Failed(missing))]);
    }
}
