//! Who has a device file of a card open: a sweep over the descriptors of all processes.

use std::path::Path;
use std::time::Duration;

use gpuwhy_formats::proc::stat;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::DeviceHolder;

use super::index::Index;
use crate::clock;
use crate::proc::{ProcRoot, device_files};

/// A sweep ends after this time: a machine with very many processes must not keep the answer back.
const LIMIT: Duration = Duration::from_secs(2);

/// What a sweep found.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    found: Vec<DeviceHolder>,
    /// How many processes were looked into, and how many of them were closed to us.
    looked: usize,
    closed: usize,
    /// Whether it ended before all were looked into.
    is_cut: bool,
}

impl Holders {
    /// Sweeps all processes but our own child and other gpuwhys, which hold the files only to look.
    pub(super) fn sweep(proc: &mut ProcRoot, index: &Index, dev: &Path, own_child: Option<Pid>) -> Self {
        // Names of descriptors are as their processes see them.
        let prefix = format!("{}/", dev.display());
        let mut holders = Self::default();
        let begun = clock::awake();
        for row in index.rows() {
            if clock::since(begun) > LIMIT {
                holders.is_cut = true;
                break;
            }
            if !row.may_hold_cards() || Some(row.pid) == own_child {
                continue;
            }
            match device_files(proc, row.pid, &prefix) {
                Ok(devices) if devices.is_empty() => {}
                Ok(devices) => {
                    // The list may have been made before the process was: its number may have been another's then.
                    let start = proc.read_of(row.pid, "stat").ok().and_then(|bytes| stat(bytes).ok());
                    let start = start.map(|stat| stat.start_ticks);
                    holders.found.extend(start.map(|start_ticks| DeviceHolder {
                        pid: row.pid,
                        start_ticks,
                        devices,
                    }));
                }
                Err(error) => holders.closed += usize::from(error.is_denied()),
            }
            holders.looked += 1;
        }
        holders
    }

    /// Returns all that were found, with their starts.
    pub(super) fn all(&self) -> impl Iterator<Item = (Pid, u64)> {
        self.found.iter().map(|holder| (holder.pid, holder.start_ticks))
    }

    /// Returns the processes that hold a card itself, not only the driver's control file.
    pub(super) fn card_holders(&self) -> impl Iterator<Item = (Pid, u64)> {
        self.found
            .iter()
            .filter(|holder| holder.devices.iter().any(|device| is_card(device)))
            .map(|holder| (holder.pid, holder.start_ticks))
    }

    /// Returns the reading for a sample. A list with gaps would read as "nobody else", so an ordinary user gets none;
    /// to root a process in a hundred may be closed, such as the first one of a sandbox.
    pub(super) fn reading(self, is_root: bool) -> Reading<Vec<DeviceHolder>> {
        if self.is_cut {
            let after_ms = u64::try_from(LIMIT.as_millis()).unwrap_or(u64::MAX);
            return Reading::Failed(Failure::TimedOut { call: "read /proc/PID/fd".to_owned(), after_ms });
        }
        let tolerated = if is_root { self.looked / 100 + 1 } else { 0 };
        if self.closed > tolerated { Reading::Denied(Access::Root) } else { Reading::Known(self.found) }
    }
}

/// Returns whether a device file is a card (`/dev/nvidia3`) or its unified memory.
fn is_card(device: &str) -> bool {
    device
        .strip_prefix("/dev/nvidia")
        .is_some_and(|rest| rest == "-uvm" || rest.chars().next().is_some_and(|first| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::Holders;
    use crate::nvml::Survivors;
    use crate::proc::ProcRoot;
    use crate::processes::index::Index;
    use gpuwhy_model::process::Pid;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn holders_of_cards_are_found_by_the_names_of_their_descriptors() {
        let root = tempfile::tempdir().unwrap();
        for (pid, files) in [
            (10, &["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia0", "socket:[1]"][..]),
            (11, &["/dev/nvidiactl"]),
            (12, &["/dev/null"]),
            (13, &["/dev/nvidia1"]),
        ] {
            let directory = root.path().join(pid.to_string());
            std::fs::create_dir_all(directory.join("fd")).unwrap();
            std::fs::write(
                directory.join("stat"),
                format!("{pid} (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9 0 0\n"),
            )
            .unwrap();
            for (number, file) in files.iter().enumerate() {
                symlink(file, directory.join("fd").join(number.to_string())).unwrap();
            }
        }
        let mut proc = ProcRoot::open(root.path()).unwrap();
        let mut index = Index::default();
        index.refresh(&mut proc, true, &mut Survivors::default()).unwrap();
        let holders = Holders::sweep(&mut proc, &index, Path::new("/dev"), Some(Pid(13)));
        assert_eq!(holders.card_holders().collect::<Vec<_>>(), [(Pid(10), 9)]);
        let list = holders.reading(false).into_known().unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].devices, ["/dev/nvidia0", "/dev/nvidiactl"]);
        assert_eq!(list[1].pid, Pid(11));
    }

    #[test]
    fn a_list_with_gaps_is_no_list() {
        let holders = |closed| Holders { looked: 200, closed, ..Holders::default() };
        assert!(!holders(1).reading(false).is_known());
        assert!(holders(1).reading(true).is_known());
        assert!(!holders(50).reading(true).is_known(), "root in a container without the right to trace");
        let cut = Holders { is_cut: true, ..holders(0) };
        assert!(!cut.reading(true).is_known(), "there was no time for all");
    }
}
