//! The machine, its driver, and who looks at it.

mod container;
mod libraries;
mod pci;
mod services;

use std::path::Path;

use gpuwhy_formats::proc;
use gpuwhy_model::process::BootId;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{MachineSample, Section, Viewer};

use crate::clock;
use crate::file::read_and_parse;
use crate::host::Mounts;
use crate::proc::ProcRoot;
use crate::roots::Roots;

use pci::Bus;
use services::Services;
pub(crate) use services::{RunningServices, ServiceId, service_of};

/// The number of the initial pid namespace, the same on every kernel.
const INITIAL_PID_NAMESPACE: u64 = 4_026_531_836;

/// Modules that drive or block cards, besides the NVIDIA module itself.
const CARD_MODULES: &[&str] = &[
    "amdgpu",
    "i915",
    "nouveau",
    "nova_core",
    "nvidia",
    "nvidia_drm",
    "nvidia_fs",
    "nvidia_modeset",
    "nvidia_peermem",
    "nvidia_uvm",
    "radeon",
    "vfio_pci",
    "xe",
];

/// What is kept of the machine from look to look, since it does not change.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    bus: Bus,
}

impl Machine {
    /// Reads the machine. `running` are the services of which processes were seen.
    pub(crate) fn look(
        &mut self,
        roots: &Roots,
        proc_root: Option<&ProcRoot>,
        mounts: &Mounts,
        running: Option<&RunningServices>,
        buffer: &mut Vec<u8>,
    ) -> Section<MachineSample> {
        let mut section = machine(roots, proc_root, mounts, buffer);
        if let Reading::Known(sample) = &mut section.value {
            let found = self.bus.look(&roots.sys, buffer);
            sample.pci_cards = found.cards;
            sample.nvswitches = found.nvswitches;
            // An upgrade may come while we look, and is what tells the driver from its library.
            sample.library_versions = libraries::versions(roots);
            let viewer = &sample.viewer;
            let sees_all = viewer.initial_pid_namespace != Reading::Known(false)
                && viewer.hidden_processes != Reading::Known(true);
            sample.services = Services::read(roots).reading(running, sees_all);
        }
        section
    }
}

fn machine(
    roots: &Roots,
    proc_root: Option<&ProcRoot>,
    mounts: &Mounts,
    buffer: &mut Vec<u8>,
) -> Section<MachineSample> {
    let read = clock::now();
    let line = |bytes: &[u8]| Ok(proc::single_line(bytes));
    let kernel = roots.proc.join("sys/kernel");
    let container = container::container(roots, buffer);
    let sample = MachineSample {
        boot_id: read_and_parse(&kernel.join("random/boot_id"), buffer, Access::VisibleProcesses, line)
            .map(BootId),
        hostname: read_and_parse(&kernel.join("hostname"), buffer, Access::VisibleProcesses, line),
        kernel: read_and_parse(&kernel.join("osrelease"), buffer, Access::VisibleProcesses, line),
        ticks_per_second: rustix::param::clock_ticks_per_second(),
        driver_module: driver_module(&roots.proc, buffer),
        modules: modules(&roots.proc, buffer),
        device_files: device_files(&roots.dev),
        promised_cards: container::promised_cards(&container, roots, buffer),
        container,
        viewer: viewer(proc_root, mounts),
        ..MachineSample::default()
    };
    Section { read, value: Reading::Known(sample) }
}

/// Reads the version of the loaded module; without the file it is not loaded.
fn driver_module(proc_root: &Path, buffer: &mut Vec<u8>) -> Reading<String> {
    let path = proc_root.join("driver/nvidia/version");
    match read_and_parse(&path, buffer, Access::VisibleProcesses, proc::nvidia_module_version) {
        Reading::Failed(Failure::Missing { .. }) => Reading::Unsupported,
        reading => reading,
    }
}

fn modules(proc_root: &Path, buffer: &mut Vec<u8>) -> Reading<Vec<String>> {
    let parse = |bytes: &[u8]| Ok(proc::modules(bytes));
    match read_and_parse(&proc_root.join("modules"), buffer, Access::Root, parse) {
        // A kernel without modules.
        Reading::Failed(Failure::Missing { .. }) => Reading::Unsupported,
        reading => reading.map(|modules| {
            let mut names: Vec<String> = modules.into_iter().map(|module| module.name).collect();
            names.retain(|name| CARD_MODULES.contains(&name.as_str()));
            names.sort_unstable();
            names
        }),
    }
}

/// Lists the device files of NVIDIA cards, and the render nodes of any.
fn device_files(dev: &Path) -> Reading<Vec<String>> {
    let entries = match std::fs::read_dir(dev) {
        Ok(entries) => entries,
        Err(error) => {
            return Reading::Failed(Failure::Io {
                path: dev.display().to_string(),
                error: error.to_string(),
            });
        }
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("nvidia")).collect();
    names.sort_unstable();
    Reading::Known(names)
}

fn viewer(proc_root: Option<&ProcRoot>, mounts: &Mounts) -> Viewer {
    let Some(proc_root) = proc_root else {
        return Viewer { uid: Reading::Known(rustix::process::geteuid().as_raw()), ..Viewer::default() };
    };
    let namespace = match proc_root.link("self/ns/pid") {
        Ok(link) => Reading::from(proc::namespace_number(&link)),
        Err(error) => error.reading_with(Access::VisibleProcesses),
    };
    let hidden = mounts.all.as_ref().map(|mounts| {
        let own = mounts
            .iter()
            .rev()
            .find(|mount| mount.point.file_system == "proc" && mount.point.target == "/proc");
        own.is_some_and(|mount| mount.options.iter().any(|option| hides_processes(option)))
    });
    Viewer {
        uid: Reading::Known(rustix::process::geteuid().as_raw()),
        initial_pid_namespace: namespace.map(|number| number == INITIAL_PID_NAMESPACE),
        hidden_processes: hidden,
    }
}

/// Returns whether a mount option of `/proc` hides the processes of others.
fn hides_processes(option: &str) -> bool {
    let Some(value) = option.strip_prefix("hidepid=") else {
        return option == "subset=pid";
    };
    !matches!(value, "0" | "off")
}

#[cfg(test)]
mod tests {
    use super::{Machine, hides_processes};
    use crate::host::Mounts;
    use crate::roots::Roots;
    use gpuwhy_model::reading::{Failure, Reading};
    use std::path::Path;

    fn roots(root: &Path) -> Roots {
        Roots {
            proc: root.join("proc"),
            sys: root.join("sys"),
            dev: root.join("dev"),
            system: root.to_owned(),
            passwd: root.join("etc/passwd"),
            ..Roots::default()
        }
    }

    #[test]
    fn an_empty_machine_is_full_of_reasons() {
        let root = tempfile::tempdir().unwrap();
        let machine =
            Machine::default().look(&roots(root.path()), None, &Mounts::default(), None, &mut Vec::new());
        let machine = machine.value.into_known().unwrap();
        assert!(matches!(machine.boot_id, Reading::Failed(Failure::Missing { .. })));
        assert!(matches!(machine.pci_cards, Reading::Denied(_)));
        assert!(matches!(machine.device_files, Reading::Failed(Failure::Io { .. })));
        assert_eq!(machine.driver_module, Reading::Unsupported);
        assert!(!machine.viewer.hidden_processes.is_known());
    }

    #[test]
    fn cards_of_a_written_bus_are_found() {
        let root = tempfile::tempdir().unwrap();
        let roots = roots(root.path());
        let device = roots.sys.join("bus/pci/devices/0000:65:00.0");
        std::fs::create_dir_all(&device).unwrap();
        for (file, text) in [("vendor", "0x10de\n"), ("device", "0x20b2\n"), ("class", "0x030200\n")] {
            std::fs::write(device.join(file), text).unwrap();
        }
        std::fs::write(device.join("config"), [0xff; 64]).unwrap();
        std::os::unix::fs::symlink("../../../bus/pci/drivers/nvidia", device.join("driver")).unwrap();
        let network = roots.sys.join("bus/pci/devices/0000:01:00.0");
        std::fs::create_dir_all(&network).unwrap();
        std::fs::write(network.join("class"), "0x020000\n").unwrap();
        std::fs::create_dir_all(&roots.dev).unwrap();
        std::fs::write(roots.dev.join("nvidia0"), "").unwrap();
        std::fs::write(roots.dev.join("null"), "").unwrap();

        let machine = Machine::default().look(&roots, None, &Mounts::default(), None, &mut Vec::new());
        let machine = machine.value.into_known().unwrap();
        let cards = machine.pci_cards.into_known().unwrap();
        assert_eq!(cards.len(), 1);
        assert_eq!((cards[0].vendor, cards[0].device, cards[0].class), (0x10de, 0x20b2, 0x03_0200));
        assert_eq!(cards[0].driver, Reading::Known("nvidia".to_owned()));
        assert_eq!(cards[0].answers, Reading::Known(false));
        assert_eq!(machine.device_files, Reading::Known(vec!["nvidia0".to_owned()]));
    }

    #[test]
    fn every_way_to_hide_processes_is_known() {
        for (option, hides) in [
            ("hidepid=2", true),
            ("hidepid=invisible", true),
            ("hidepid=ptraceable", true),
            ("hidepid=0", false),
            ("hidepid=off", false),
            ("rw", false),
        ] {
            assert_eq!(hides_processes(option), hides, "{option}");
        }
    }
}
