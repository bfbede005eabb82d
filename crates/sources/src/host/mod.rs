//! Processors, memory, pressure, disks and network links of the machine.

mod disks;
mod infiniband;
mod mounts;
mod network;
mod shared_memory;

use std::path::Path;

use gpuwhy_formats::proc;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{HostSample, Pressure, Section};

use crate::clock;
use crate::file::read_and_parse;
use crate::roots::Roots;

pub(crate) use mounts::{Mounts, is_kernel_view};

/// What is read of the host.
pub(crate) struct HostLook {
    pub(crate) section: Section<HostSample>,
    /// How many processes and threads were made since boot.
    pub(crate) forks: Option<u64>,
}

/// Reads processors, memory, pressure and the room in shared memory; at a full look also paging, disks and network links.
pub(crate) fn host(roots: &Roots, mounts: &Mounts, is_full: bool, buffer: &mut Vec<u8>) -> HostLook {
    let read = clock::now();
    let proc_root = roots.proc.as_path();
    let processors =
        read_and_parse(&proc_root.join("stat"), buffer, Access::VisibleProcesses, proc::processors);
    let forks = processors.known().and_then(|processors| processors.forks);
    let mut sample = HostSample {
        cpus: processors.as_ref().map(|processors| processors.count),
        cpu_times: processors.map(|processors| processors.times),
        memory: read_and_parse(&proc_root.join("meminfo"), buffer, Access::VisibleProcesses, proc::meminfo),
        cpu_pressure: pressure(proc_root, "cpu", buffer),
        io_pressure: pressure(proc_root, "io", buffer),
        memory_pressure: pressure(proc_root, "memory", buffer),
        shared_memory: shared_memory::room(&roots.dev, mounts),
        ..HostSample::default()
    };
    if is_full {
        sample.paging =
            read_and_parse(&proc_root.join("vmstat"), buffer, Access::VisibleProcesses, proc::paging);
        sample.disks = disks::disks(roots, buffer);
        sample.interfaces = network::interfaces(roots, buffer);
    }
    HostLook { section: Section { read, value: Reading::Known(sample) }, forks }
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

#[cfg(test)]
mod tests {
    use super::{Mounts, host};
    use crate::roots::Roots;
    use gpuwhy_model::reading::{Failure, Reading};

    #[test]
    fn what_is_not_there_is_no_zero() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("meminfo"), "MemTotal: 10 kB\n").unwrap();
        let roots = Roots {
            proc: root.path().to_owned(),
            sys: root.path().join("sys"),
            dev: root.path().join("dev"),
            ..Roots::default()
        };
        let calm =
            host(&roots, &Mounts::default(), false, &mut Vec::new()).section.value.into_known().unwrap();
        assert!(matches!(calm.cpu_times, Reading::Failed(Failure::Missing { .. })));
        assert!(matches!(calm.memory, Reading::Failed(Failure::Syntax { .. })));
        assert_eq!(calm.io_pressure, Reading::Unsupported);
        assert!(calm.paging.is_not_in_source() && calm.disks.is_not_in_source());
        let full =
            host(&roots, &Mounts::default(), true, &mut Vec::new()).section.value.into_known().unwrap();
        assert!(matches!(full.paging, Reading::Failed(Failure::Missing { .. })));
        assert!(matches!(full.disks, Reading::Failed(Failure::Missing { .. })));
        assert!(!full.interfaces.is_known() && !full.shared_memory.is_known());
    }
}
