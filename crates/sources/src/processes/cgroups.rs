//! Control groups of the looked-at processes and of the groups above them: quota, throttling, pressure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gpuwhy_formats::Malformed;
use gpuwhy_formats::proc::{self, Mount, Throttling};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CgroupSample, ProcessSample};

use super::limits::CGROUPS_PER_LOOK;
use crate::file::read_and_parse;
use crate::host::Mounts;

/// Where one hierarchy of control groups is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// The directory, below the given root of sysfs.
    directory: PathBuf,
    /// What of the hierarchy is seen there; `/` outside of containers.
    root: String,
}

impl Hierarchy {
    fn of(mount: &Mount, sys: &Path) -> Self {
        let directory = mount
            .point
            .target
            .strip_prefix("/sys/")
            .map_or_else(|| PathBuf::from(&mount.point.target), |rest| sys.join(rest));
        Self { directory, root: mount.root.clone() }
    }

    /// Returns the directory of a group.
    fn directory_of(&self, path: &str) -> PathBuf {
        let below = if self.root == "/" { path } else { path.strip_prefix(&self.root).unwrap_or(path) };
        self.directory.join(below.trim_start_matches('/'))
    }
}

/// The hierarchies that say something about processors: version 2, and the version 1 hierarchy of `cpu`.
#[derive(Debug, Default)]
pub(super) struct Hierarchies {
    unified: Option<Hierarchy>,
    cpu: Option<Hierarchy>,
}

impl Hierarchies {
    pub(super) fn of(mounts: &Mounts, sys: &Path) -> Self {
        let mut hierarchies = Self::default();
        for mount in mounts.known() {
            match mount.point.file_system.as_str() {
                "cgroup2" => hierarchies.unified = Some(Hierarchy::of(mount, sys)),
                "cgroup" if mount.options.iter().any(|option| option == "cpu") => {
                    hierarchies.cpu = Some(Hierarchy::of(mount, sys));
                }
                _ => {}
            }
        }
        hierarchies
    }

    /// Reads the control groups of processes.
    pub(super) fn read(&self, processes: &[ProcessSample], buffer: &mut Vec<u8>) -> Vec<CgroupSample> {
        let mut unified = BTreeSet::new();
        let mut cpu = BTreeSet::new();
        for process in processes {
            for (controllers, path) in process.cgroups.known().into_iter().flatten() {
                if controllers.is_empty() {
                    add_with_parents(path, &mut unified);
                } else if controllers.split(',').any(|controller| controller == "cpu") {
                    add_with_parents(path, &mut cpu);
                }
            }
        }
        let paths: BTreeSet<&str> = unified.union(&cpu).map(String::as_str).collect();
        let samples = paths.into_iter().take(CGROUPS_PER_LOOK).map(|path| {
            let mut sample = CgroupSample { path: path.to_owned(), ..unsupported() };
            if let Some(hierarchy) = self.unified.as_ref().filter(|_| unified.contains(path)) {
                read_unified(&hierarchy.directory_of(path), &mut sample, buffer);
            }
            if let Some(hierarchy) = self.cpu.as_ref().filter(|_| cpu.contains(path)) {
                read_cpu(&hierarchy.directory_of(path), &mut sample, buffer);
            }
            sample
        });
        samples.filter(says_something).collect()
    }
}

/// Adds a group and all groups above it, whose limits bind it too, without the root, which has none.
fn add_with_parents(path: &str, paths: &mut BTreeSet<String>) {
    let mut path = path.trim_end_matches('/');
    while !path.is_empty() && paths.insert(path.to_owned()) {
        path = path.rfind('/').map_or("", |end| &path[..end]);
    }
}

fn unsupported() -> CgroupSample {
    CgroupSample {
        path: String::new(),
        cpu_quota_cores: Reading::Unsupported,
        cpu_periods: Reading::Unsupported,
        cpu_throttled_periods: Reading::Unsupported,
        cpu_throttled_ns: Reading::Unsupported,
        io_some_us: Reading::Unsupported,
        cpu_some_us: Reading::Unsupported,
    }
}

/// Returns whether anything at all is known of a group, or should be.
fn says_something(sample: &CgroupSample) -> bool {
    let CgroupSample { cpu_quota_cores, cpu_periods, io_some_us, cpu_some_us, .. } = sample;
    *cpu_quota_cores != Reading::Unsupported
        || [cpu_periods, io_some_us, cpu_some_us].iter().any(|reading| **reading != Reading::Unsupported)
}

fn read_unified(directory: &Path, sample: &mut CgroupSample, buffer: &mut Vec<u8>) {
    // A group whose controllers are off has no such files.
    sample.cpu_quota_cores = optional(&directory.join("cpu.max"), buffer, proc::cpu_max)
        .and_then(|quota| quota.map_or(Reading::Unsupported, Reading::Known));
    write_throttling(
        sample,
        &optional(&directory.join("cpu.stat"), buffer, |bytes| Ok(proc::throttling(bytes))),
    );
    let mut waited = |file: &str| {
        optional(&directory.join(file), buffer, proc::pressure).map(|pressure| pressure.some.total_us)
    };
    sample.io_some_us = waited("io.pressure");
    sample.cpu_some_us = waited("cpu.pressure");
}

fn read_cpu(directory: &Path, sample: &mut CgroupSample, buffer: &mut Vec<u8>) {
    let period = optional(&directory.join("cpu.cfs_period_us"), buffer, |bytes| Ok(bytes.to_vec()));
    sample.cpu_quota_cores = period.and_then(|period| {
        optional(&directory.join("cpu.cfs_quota_us"), buffer, |quota| proc::cpu_quota(quota, &period))
            .and_then(|quota| quota.map_or(Reading::Unsupported, Reading::Known))
    });
    write_throttling(
        sample,
        &optional(&directory.join("cpu.stat"), buffer, |bytes| Ok(proc::throttling(bytes))),
    );
}

fn write_throttling(sample: &mut CgroupSample, throttling: &Reading<Throttling>) {
    let value = |pick: fn(&Throttling) -> Option<u64>| {
        throttling
            .as_ref()
            .and_then(|throttling| pick(throttling).map_or(Reading::Unsupported, Reading::Known))
    };
    sample.cpu_periods = value(|throttling| throttling.periods);
    sample.cpu_throttled_periods = value(|throttling| throttling.throttled_periods);
    sample.cpu_throttled_ns = value(|throttling| throttling.throttled_ns);
}

/// Reads a file that a group has only when the controller is on. A group that is not there at all is another matter.
fn optional<T>(
    path: &Path,
    buffer: &mut Vec<u8>,
    parse: impl FnOnce(&[u8]) -> Result<T, Malformed>,
) -> Reading<T> {
    match read_and_parse(path, buffer, Access::Root, parse) {
        Reading::Failed(Failure::Missing { path: missing }) => {
            let group_is_there = path.parent().is_some_and(Path::is_dir);
            if group_is_there {
                Reading::Unsupported
            } else {
                Reading::Failed(Failure::Missing { path: missing })
            }
        }
        // Pressure that was turned off at boot.
        Reading::Failed(Failure::Io { .. }) => Reading::Unsupported,
        reading => reading,
    }
}
