//! Control groups of members: how fast they may use the disk, and how much CPU, memory and how many threads they get.
//!
//! Both hierarchies are spoken: version 2 where its controller is there, else version 1.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::journal::{Journal, JournalError};

const PERIOD_MICROSECONDS: u64 = 100_000;

/// What a member is held to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// CPU time, in cores.
    Cpu(f64),
    /// Reads from one disk, in bytes per second.
    Reads {
        /// The whole disk.
        disk: Disk,
        /// Bytes per second.
        bytes_per_second: u64,
    },
    /// Writes to one disk, in bytes per second.
    Writes {
        /// The whole disk.
        disk: Disk,
        /// Bytes per second.
        bytes_per_second: u64,
    },
    /// Memory, page cache included, in bytes.
    Memory(u64),
    /// Processes and threads; no limit where nothing is given.
    Tasks(Option<u64>),
}

/// A block device by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    major: u32,
    minor: u32,
}

impl Disk {
    /// The whole disk below the file system that holds `path`; `None` where there is none (tmpfs, overlay, network).
    pub fn below(path: &Path) -> Option<Self> {
        let device = fs::metadata(path).ok()?.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let entry = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        if !entry.exists() {
            return None;
        }
        if !entry.join("partition").exists() {
            return Some(Self { major, minor });
        }
        let numbers = fs::read_to_string(entry.canonicalize().ok()?.parent()?.join("dev")).ok()?;
        let (major, minor) = numbers.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// Why a limit could not be set.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// No mounted hierarchy has the controller.
    #[error("no control group hierarchy has the controller `{0}`")]
    NoController(&'static str),
    /// The group could not be made.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The limit could not be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file of the limit.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

/// Where a controller is found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hierarchy {
    One(PathBuf),
    Two(PathBuf),
}

impl Limit {
    fn controller_in_version_two(self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Reads { .. } | Self::Writes { .. } => "io",
            Self::Memory(_) => "memory",
            Self::Tasks(_) => "pids",
        }
    }

    fn controller_in_version_one(self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Reads { .. } | Self::Writes { .. } => "blkio",
            Self::Memory(_) => "memory",
            Self::Tasks(_) => "pids",
        }
    }

    fn hierarchy(self) -> Result<Hierarchy, LimitError> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        if let Some(root) = version_two(&mounts, self.controller_in_version_two()) {
            return Ok(Hierarchy::Two(root));
        }
        let wanted = self.controller_in_version_one();
        version_one(&mounts, wanted).map(Hierarchy::One).ok_or(LimitError::NoController(wanted))
    }

    fn files(self, hierarchy: &Hierarchy) -> Vec<(&'static str, String)> {
        match (self, hierarchy) {
            (Self::Cpu(cores), Hierarchy::Two(_)) => {
                vec![("cpu.max", format!("{} {PERIOD_MICROSECONDS}", quota(cores)))]
            }
            (Self::Cpu(cores), Hierarchy::One(_)) => vec![
                ("cpu.cfs_period_us", PERIOD_MICROSECONDS.to_string()),
                ("cpu.cfs_quota_us", quota(cores).to_string()),
            ],
            (Self::Reads { disk, bytes_per_second }, Hierarchy::Two(_)) => {
                vec![("io.max", format!("{}:{} rbps={bytes_per_second}", disk.major, disk.minor))]
            }
            (Self::Reads { disk, bytes_per_second }, Hierarchy::One(_)) => vec![(
                "blkio.throttle.read_bps_device",
                format!("{}:{} {bytes_per_second}", disk.major, disk.minor),
            )],
            (Self::Writes { disk, bytes_per_second }, Hierarchy::Two(_)) => {
                vec![("io.max", format!("{}:{} wbps={bytes_per_second}", disk.major, disk.minor))]
            }
            (Self::Writes { disk, bytes_per_second }, Hierarchy::One(_)) => vec![(
                "blkio.throttle.write_bps_device",
                format!("{}:{} {bytes_per_second}", disk.major, disk.minor),
            )],
            (Self::Memory(bytes), Hierarchy::Two(_)) => vec![("memory.max", bytes.to_string())],
            (Self::Memory(bytes), Hierarchy::One(_)) => vec![("memory.limit_in_bytes", bytes.to_string())],
            (Self::Tasks(count), _) => {
                vec![("pids.max", count.map_or_else(|| "max".to_owned(), |count| count.to_string()))]
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few cores, never negative")]
fn quota(cores: f64) -> u64 {
    (cores.max(0.01) * PERIOD_MICROSECONDS as f64) as u64
}

/// Whether this machine can set limits of the kind of `limit`, as far as can be told without trying.
pub fn can_limit(limit: Limit) -> bool {
    rustix::process::geteuid().is_root() && limit.hierarchy().is_ok()
}

/// Makes a control group at `path` below the root of its hierarchy, with `limit`, and returns its `cgroup.procs`.
///
/// # Errors
/// Fails when the controller is missing or the group cannot be made.
pub fn make(journal: &mut Journal, path: &Path, limit: Limit) -> Result<PathBuf, LimitError> {
    let hierarchy = limit.hierarchy()?;
    let (Hierarchy::One(root) | Hierarchy::Two(root)) = &hierarchy;
    let mut group = root.clone();
    for part in path {
        if matches!(hierarchy, Hierarchy::Two(_)) {
            let switch = group.join("cgroup.subtree_control");
            journal.switch_controller_on(&switch, limit.controller_in_version_two())?;
        }
        group.push(part);
        // A container runtime of the machine may have made the group of all its containers.
        if !group.exists() {
            journal.make_control_group(&group)?;
        }
    }
    for (file, value) in limit.files(&hierarchy) {
        write(&group.join(file), &value)?;
    }
    Ok(group.join("cgroup.procs"))
}

/// Moves the calling process into the group that `procs` belongs to.
///
/// # Errors
/// Fails when the group is gone.
pub fn join(procs: &Path) -> Result<(), LimitError> {
    write(procs, "0")
}

fn write(path: &Path, value: &str) -> Result<(), LimitError> {
    fs::write(path, value).map_err(|source| LimitError::Write { path: path.to_owned(), source })
}

fn version_two(mounts: &str, controller: &str) -> Option<PathBuf> {
    let root = mount_points(mounts, "cgroup2").next().map(|(point, _)| point)?;
    let available = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
    available.split_whitespace().any(|name| name == controller).then_some(root)
}

fn version_one(mounts: &str, controller: &str) -> Option<PathBuf> {
    mount_points(mounts, "cgroup")
        .find(|(_, options)| options.split(',').any(|option| option == controller))
        .map(|(point, _)| point)
}

fn mount_points<'mounts>(
    mounts: &'mounts str,
    kind: &'mounts str,
) -> impl Iterator<Item = (PathBuf, &'mounts str)> {
    mounts.lines().filter_map(move |line| {
        let mut fields = line.split(' ');
        let point = fields.nth(1)?;
        (fields.next()? == kind).then_some((PathBuf::from(point), fields.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
        cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n\
        cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n";

    #[test]
    fn a_controller_is_found_among_joint_ones() {
        assert_eq!(version_one(MOUNTS, "cpu"), Some("/sys/fs/cgroup/cpu,cpuacct".into()));
        assert_eq!(version_one(MOUNTS, "blkio"), Some("/sys/fs/cgroup/blkio".into()));
        assert_eq!(version_one(MOUNTS, "memory"), None);
    }

    #[test]
    fn limits_are_written_in_the_words_of_each_version() {
        let disk = Disk { major: 254, minor: 0 };
        let reads = Limit::Reads { disk, bytes_per_second: 8_000_000 };
        assert_eq!(reads.files(&Hierarchy::Two("/".into()))[0].1, "254:0 rbps=8000000");
        assert_eq!(reads.files(&Hierarchy::One("/".into()))[0].1, "254:0 8000000");
        assert_eq!(Limit::Cpu(0.5).files(&Hierarchy::Two("/".into()))[0].1, "50000 100000");
        assert_eq!(Limit::Cpu(0.5).files(&Hierarchy::One("/".into()))[1].1, "50000");
    }
}
