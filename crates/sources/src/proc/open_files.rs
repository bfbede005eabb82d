//! What processes have open, by the names of their descriptors. Nothing is looked at behind a name: that could wait
//! for a store that does not answer.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use gpuwhy_model::process::Pid;
use rustix::fs::readlinkat_raw;
use rustix::io::Errno;

use super::root::{Place, ProcRoot};
use crate::file::ReadError;
use crate::host::{Mounts, is_kernel_view};

/// Names are cut here; no path of a card or store is longer.
const NAME_MAX: usize = 4096;

/// Of one process no more descriptors are looked at.
const DESCRIPTORS_MAX: usize = 4096;

/// Returns the device files of cards that a process has open, each once, sorted.
///
/// # Errors
/// Fails when we may not look, or the process is gone.
pub(crate) fn device_files(proc: &mut ProcRoot, pid: Pid, prefix: &str) -> Result<Vec<String>, ReadError> {
    let mut files: Vec<String> = Vec::new();
    each_name(proc, pid, |name| {
        if let Some(file) = name.strip_prefix(prefix.as_bytes())
            && file.starts_with(b"nvidia")
            && let Ok(file) = std::str::from_utf8(file)
            && !files.iter().any(|known| known.strip_prefix("/dev/") == Some(file))
        {
            files.push(format!("/dev/{file}"));
        }
    })?;
    files.sort_unstable();
    Ok(files)
}

/// Counts the files that a process has open by the mount that holds them.
///
/// # Errors
/// Fails when we may not look, or the process is gone.
pub(crate) fn mounts_in_use(
    proc: &mut ProcRoot,
    pid: Pid,
    mounts: &Mounts,
) -> Result<BTreeMap<String, u64>, ReadError> {
    let mut counts = BTreeMap::new();
    each_name(proc, pid, |name| {
        // Sockets, pipes and their like have names without a slash in front; files in memory have `/memfd:`.
        let Some(path) = std::str::from_utf8(name).ok().filter(|name| name.starts_with('/')) else {
            return;
        };
        if path.starts_with("/memfd:") || path.starts_with("/dev/") {
            return;
        }
        if let Some(mount) = mounts.target_of(path)
            && !is_kernel_view(&mount.point.file_system)
        {
            *counts.entry(mount.point.target.clone()).or_default() += 1;
        }
    })?;
    Ok(counts)
}

fn each_name(proc: &mut ProcRoot, pid: Pid, mut each: impl FnMut(&[u8])) -> Result<(), ReadError> {
    let directory: OwnedFd = proc.open_directory(pid, "fd")?;
    let numbers = proc
        .numbers_in(&directory, DESCRIPTORS_MAX)
        .map_err(|errno| ReadError::Io { path: format!("{pid}/fd"), errno })?;
    if proc.buffer.len() < NAME_MAX {
        proc.buffer.resize(NAME_MAX, 0);
    }
    let mut place = Place::default();
    for number in numbers {
        match readlinkat_raw(&directory, place.of(number, ""), &mut proc.buffer[..]) {
            Ok(length) => each(&proc.buffer[..length]),
            // It was closed since.
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(ReadError::Io { path: format!("{pid}/fd"), errno }),
        }
    }
    Ok(())
}
