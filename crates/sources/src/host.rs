//! Processors, memory, pressure and mounts of the machine.

use std::path::Path;

use gpuwhy_formats::proc::{self, Mount};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{HostSample, MountPoint, Pressure, Section};

use crate::clock;
use crate::file::read_and_parse;

/// Reads processors, memory and pressure.
pub(crate) fn host(proc_root: &Path, buffer: &mut Vec<u8>) -> Section<HostSample> {
    let read = clock::now();
    let processors =
        read_and_parse(&proc_root.join("stat"), buffer, Access::VisibleProcesses, proc::processors);
    let sample = HostSample {
        cpus: processors.as_ref().map(|processors| processors.count),
        cpu_times: processors.map(|processors| processors.times),
        memory: read_and_parse(&proc_root.join("meminfo"), buffer, Access::VisibleProcesses, proc::meminfo),
        cpu_pressure: pressure(proc_root, "cpu", buffer),
        io_pressure: pressure(proc_root, "io", buffer),
        memory_pressure: pressure(proc_root, "memory", buffer),
    };
    Section { read, value: Reading::Known(sample) }
}

/// Reads one of the pressure files. Kernels without them, or started without them, have no pressure at all.
fn pressure(proc_root: &Path, resource: &str, buffer: &mut Vec<u8>) -> Reading<Pressure> {
    let path = proc_root.join("pressure").join(resource);
    match read_and_parse(&path, buffer, Access::VisibleProcesses, proc::pressure) {
        // Not compiled in, or compiled in (EOPNOTSUPP) and turned off at boot.
        Reading::Failed(Failure::Missing { .. } | Failure::Io { .. }) => Reading::Unsupported,
        reading => reading,
    }
}

/// The mounts, as our own process sees them.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    pub(crate) all: Reading<Vec<Mount>>,
}

impl Mounts {
    /// Reads the mounts.
    pub(crate) fn read(proc_root: &Path, buffer: &mut Vec<u8>) -> Self {
        let path = proc_root.join("self/mountinfo");
        Self { all: read_and_parse(&path, buffer, Access::VisibleProcesses, proc::mounts) }
    }

    /// Returns the section of a sample: what is mounted, the kernel's own file systems left out.
    pub(crate) fn section(&self) -> Section<Vec<MountPoint>> {
        let points = self.all.as_ref().map(|mounts| {
            let stores = mounts.iter().filter(|mount| !is_kernel_view(&mount.point.file_system));
            stores.map(|mount| mount.point.clone()).collect()
        });
        Section { read: clock::now(), value: points }
    }

    /// Returns the mounts, innermost places last.
    pub(crate) fn known(&self) -> &[Mount] {
        self.all.known().map_or(&[], Vec::as_slice)
    }

    /// Returns where the file system is mounted that holds a path.
    pub(crate) fn target_of(&self, path: &str) -> Option<&Mount> {
        let holds = |mount: &&Mount| {
            let target = mount.point.target.as_str();
            target == "/"
                || path.strip_prefix(target).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // Of mounts at the same place the later one hides the earlier.
        self.known().iter().filter(holds).max_by_key(|mount| mount.point.target.len())
    }
}

/// Returns whether a file system shows the kernel's own state and stores nothing.
pub(crate) fn is_kernel_view(file_system: &str) -> bool {
    matches!(
        file_system,
        "autofs"
            | "binfmt_misc"
            | "bpf"
            | "cgroup"
            | "cgroup2"
            | "configfs"
            | "debugfs"
            | "devpts"
            | "devtmpfs"
            | "efivarfs"
            | "fusectl"
            | "hugetlbfs"
            | "mqueue"
            | "nsfs"
            | "proc"
            | "pstore"
            | "securityfs"
            | "sysfs"
            | "tracefs"
    )
}

#[cfg(test)]
mod tests {
    use super::{Mounts, host};
    use gpuwhy_model::reading::{Failure, Reading};

    #[test]
    fn what_is_not_there_is_no_zero() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("meminfo"), "MemTotal: 10 kB\n").unwrap();
        let host = host(root.path(), &mut Vec::new()).value.into_known().unwrap();
        assert!(matches!(host.cpu_times, Reading::Failed(Failure::Missing { .. })));
        assert!(matches!(host.memory, Reading::Failed(Failure::Syntax { .. })));
        assert_eq!(host.io_pressure, Reading::Unsupported);
    }

    #[test]
    fn a_path_belongs_to_the_innermost_mount() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("self")).unwrap();
        let lines = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / /data rw - nfs4 store:/d rw\n\
                     3 1 0:5 / /proc rw - proc proc rw\n";
        std::fs::write(root.path().join("self/mountinfo"), lines).unwrap();
        let mounts = Mounts::read(root.path(), &mut Vec::new());
        let target = |path| mounts.target_of(path).map(|mount| mount.point.target.as_str());
        assert_eq!(target("/data/set/1.tar"), Some("/data"));
        assert_eq!(target("/database"), Some("/"));
        assert_eq!(mounts.section().value.into_known().unwrap().len(), 2);
    }
}
