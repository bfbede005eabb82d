//! Files of processes that are read at every look: held open, since opening costs as much as reading.
//!
//! A held file stays that of its process: when the process is gone its reads fail, whoever has its number then.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use gpuwhy_formats::proc::{Stat, stat};
use gpuwhy_model::process::Pid;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, pread};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::root::{Place, ProcRoot};
use crate::file::count_one;

/// No more are held, however many descriptors we may have.
const HELD_MAX: usize = 1024;

/// Room for all of them and for as much besides.
const DESCRIPTORS_WANTED: u64 = 2 * HELD_MAX as u64;

/// Longer than any stat file.
const STAT_MAX: usize = 1024;

/// Stat files that are held open.
#[derive(Debug)]
pub(crate) struct HeldStats {
    files: BTreeMap<Pid, OwnedFd>,
    at_most: usize,
}

impl HeldStats {
    /// Holds at most half of the descriptors that this process may have, of which it asks for more if it has few.
    pub(crate) fn new() -> Self {
        raise_limit();
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(HELD_MAX as u64);
        let at_most = usize::try_from(limit / 2).unwrap_or(HELD_MAX).min(HELD_MAX);
        Self { files: BTreeMap::new(), at_most }
    }

    /// Lets go of the files of processes that are no longer wanted.
    pub(crate) fn keep(&mut self, is_wanted: impl Fn(Pid) -> bool) {
        self.files.retain(|pid, _| is_wanted(*pid));
    }

    /// Reads the stat file of a process; none when it is gone, or hidden.
    pub(crate) fn read<'root>(&mut self, proc: &'root mut ProcRoot, pid: Pid) -> Option<Stat<'root>> {
        if proc.buffer.len() < STAT_MAX {
            proc.buffer.resize(STAT_MAX, 0);
        }
        count_one();
        if let Some(file) = self.files.get(&pid) {
            match pread(file, &mut proc.buffer[..], 0) {
                Ok(length) => return stat(&proc.buffer[..length]).ok(),
                // Its number may belong to another process by now.
                Err(_) => {
                    self.files.remove(&pid);
                }
            }
        }
        let file = open(proc, pid).ok()?;
        let length = pread(&file, &mut proc.buffer[..], 0).ok()?;
        if self.files.len() < self.at_most {
            self.files.insert(pid, file);
        }
        stat(&proc.buffer[..length]).ok()
    }
}

/// Asks for room for all that may be held. Children of ours set their own limit.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(DESCRIPTORS_WANTED, |most| most.min(DESCRIPTORS_WANTED));
    if limit.current.is_some_and(|current| current < wanted) {
        // Without it fewer are held, which only costs time.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}

fn open(proc: &ProcRoot, pid: Pid) -> Result<OwnedFd, Errno> {
    let mut place = Place::default();
    openat(proc.directory(), place.of(pid, "stat"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::HeldStats;
    use crate::proc::ProcRoot;
    use gpuwhy_model::process::Pid;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn a_held_file_never_shows_another_process() {
        let mut child =
            Command::new("sleep").arg("1000").stdout(std::process::Stdio::null()).spawn().unwrap();
        let pid = Pid(child.id());
        let mut proc = ProcRoot::open(Path::new("/proc")).unwrap();
        let mut held = HeldStats::new();
        let first = held.read(&mut proc, pid).unwrap().start_ticks;
        assert_eq!(held.read(&mut proc, pid).unwrap().start_ticks, first);
        assert_eq!(held.files.len(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(held.read(&mut proc, pid).is_none_or(|stat| stat.start_ticks != first));
        held.keep(|_| false);
        assert!(held.files.is_empty());
    }
}
