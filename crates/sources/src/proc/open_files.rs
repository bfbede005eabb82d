//! What processes have open, by the names of their descriptors. Nothing is looked at behind a name: that could wait
//! for a store that does not answer.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use gpuwhy_formats::proc::namespace_number;
use gpuwhy_model::process::Pid;
use rustix::fs::readlinkat_raw;
use rustix::io::Errno;

use super::root::{Place, ProcRoot};
use crate::file::{ReadError, count_one};
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

/// Returns the descriptors of a process that are files below a folder of devices, with their names below `prefix`.
///
/// # Errors
/// Fails when we may not look, or the process is gone.
pub(crate) fn files_below(
    proc: &mut ProcRoot,
    pid: Pid,
    prefix: &str,
    folder: &str,
) -> Result<Vec<(u32, String)>, ReadError> {
    let mut files = Vec::new();
    each_descriptor(proc, pid, |number, name| {
        if let Some(file) = name.strip_prefix(prefix.as_bytes())
            && file.starts_with(folder.as_bytes())
            && let Ok(file) = std::str::from_utf8(file)
        {
            files.push((number, file.to_owned()));
        }
    })?;
    Ok(files)
}

/// What a process has open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OpenFiles {
    /// Its files, by the mount that holds them.
    pub(crate) mounts: BTreeMap<String, u64>,
    /// The numbers of its sockets.
    pub(crate) sockets: Vec<u64>,
}

/// Counts the files that a process has open by the mount that holds them, and lists its sockets.
///
/// # Errors
/// Fails when we may not look, or the process is gone.
pub(crate) fn open_files(proc: &mut ProcRoot, pid: Pid, mounts: &Mounts) -> Result<OpenFiles, ReadError> {
    let mut open = OpenFiles::default();
    each_name(proc, pid, |name| {
        if name.starts_with(b"socket:[") {
            open.sockets.extend(namespace_number(name));
            return;
        }
        // Pipes and their like have names without a slash in front; files in memory have `/memfd:`.
        let Some(path) = std::str::from_utf8(name).ok().filter(|name| name.starts_with('/')) else {
            return;
        };
        if path.starts_with("/memfd:") || path.starts_with("/dev/") {
            return;
        }
        if let Some(mount) = mounts.target_of(path)
            && !is_kernel_view(&mount.point.file_system)
        {
            *open.mounts.entry(mount.point.target.clone()).or_default() += 1;
        }
    })?;
    Ok(open)
}

fn each_name(proc: &mut ProcRoot, pid: Pid, mut each: impl FnMut(&[u8])) -> Result<(), ReadError> {
    each_descriptor(proc, pid, |_, name| each(name))
}

fn each_descriptor(proc: &mut ProcRoot, pid: Pid, mut each: impl FnMut(u32, &[u8])) -> Result<(), ReadError> {
    let directory: OwnedFd = proc.open_directory(pid, "fd")?;
    let numbers = proc
        .numbers_in(&directory, DESCRIPTORS_MAX)
        .map_err(|errno| ReadError::Io { path: format!("{pid}/fd"), errno })?;
    if proc.buffer.len() < NAME_MAX {
        proc.buffer.resize(NAME_MAX, 0);
    }
    let mut place = Place::default();
    for number in numbers {
        count_one();
        match readlinkat_raw(&directory, place.of(number, ""), &mut proc.buffer[..]) {
            Ok(length) => each(number.0, &proc.buffer[..length]),
            // It was closed since.
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(ReadError::Io { path: format!("{pid}/fd"), errno }),
        }
    }
    Ok(())
}
