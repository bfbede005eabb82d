//! A mounted `/proc`, or a tree of files that looks like one.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use gpuwhy_model::process::Pid;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, open, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::file::{ReadError, count_one, read_at, read_record};

/// Room for the names of a directory, taken at once.
const NAMES: usize = 32 * 1024;

/// What the kernel needs for one name.
const NAME_ROOM: usize = 32;

/// A `/proc` with the buffer that everything in it is read into.
#[derive(Debug)]
pub(crate) struct ProcRoot {
    directory: OwnedFd,
    pub(super) path: PathBuf,
    pub(super) buffer: Vec<u8>,
    names: Vec<u8>,
}

impl ProcRoot {
    /// Opens the directory.
    ///
    /// # Errors
    /// Fails when it is not there or may not be read.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty())
            .map_err(|errno| ReadError::Io { path: path.display().to_string(), errno })?;
        Ok(Self { directory, path: path.to_owned(), buffer: Vec::new(), names: Vec::with_capacity(NAMES) })
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Returns the path of a file below the root, for errors.
    pub(super) fn path_of(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Reads a file of a process, without holding on to the process.
    ///
    /// # Errors
    /// Fails with the path and what the system said.
    pub(crate) fn read_of(&mut self, pid: Pid, name: &str) -> Result<&[u8], ReadError> {
        let path = &self.path;
        let mut place = Place::default();
        read_record(&self.directory, place.of(pid, name), &mut self.buffer)
            .map_err(|errno| ReadError::Io { path: format!("{}/{pid}/{name}", path.display()), errno })
    }

    /// Reads a file of many records of a process, in which a read may leave room before the end.
    ///
    /// # Errors
    /// Fails with the path and what the system said.
    pub(crate) fn read_of_many(&mut self, pid: Pid, name: &str) -> Result<&[u8], ReadError> {
        let path = &self.path;
        let mut place = Place::default();
        read_at(&self.directory, place.of(pid, name), &mut self.buffer)
            .map_err(|errno| ReadError::Io { path: format!("{}/{pid}/{name}", path.display()), errno })
    }

    /// Returns the effective user id of a process.
    ///
    /// # Errors
    /// Fails when the process is gone.
    pub(crate) fn owner_of(&self, pid: Pid) -> Result<u32, Errno> {
        count_one();
        let mut place = Place::default();
        statat(&self.directory, place.of(pid, ""), AtFlags::empty()).map(|status| status.st_uid)
    }

    /// Returns which file a process runs, by device and number; none where we may not see it, or the process is gone.
    pub(crate) fn program_of(&self, pid: Pid) -> Option<(u64, u64)> {
        count_one();
        let mut place = Place::default();
        let status = statat(&self.directory, place.of(pid, "exe"), AtFlags::empty()).ok()?;
        Some((status.st_dev, status.st_ino))
    }

    /// Opens a directory of a process, such as `task` or `fd`.
    ///
    /// # Errors
    /// Fails when we may not look into it, or the process is gone.
    pub(super) fn open_directory(&self, pid: Pid, name: &str) -> Result<OwnedFd, ReadError> {
        let mut place = Place::default();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.directory, place.of(pid, name), flags, Mode::empty())
            .map_err(|errno| ReadError::Io { path: format!("{}/{pid}/{name}", self.path.display()), errno })
    }

    /// Returns where a link below the root leads.
    ///
    /// # Errors
    /// Fails with the path and what the system said.
    pub(crate) fn link(&self, name: &str) -> Result<Vec<u8>, ReadError> {
        readlinkat(&self.directory, name, Vec::new())
            .map(std::ffi::CString::into_bytes)
            .map_err(|errno| ReadError::Io { path: self.path_of(name), errno })
    }

    /// Lists the processes, in the order of their numbers.
    ///
    /// # Errors
    /// Fails when the root cannot be listed.
    pub(crate) fn pids(&mut self, pids: &mut Vec<Pid>) -> Result<(), ReadError> {
        pids.clear();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&self.directory, ".", flags, Mode::empty())
            .and_then(|directory| numbers_in(&directory, &mut self.names, usize::MAX, pids));
        listed.map_err(|errno| ReadError::Io { path: self.path.display().to_string(), errno })?;
        pids.sort_unstable();
        Ok(())
    }

    /// Gathers the names of an open directory that are numbers, at most so many.
    ///
    /// # Errors
    /// Fails when the directory cannot be listed.
    pub(super) fn numbers_in(&mut self, directory: &OwnedFd, at_most: usize) -> Result<Vec<Pid>, Errno> {
        let mut numbers = Vec::new();
        numbers_in(directory, &mut self.names, at_most, &mut numbers)?;
        Ok(numbers)
    }
}

fn numbers_in(
    directory: &OwnedFd,
    names: &mut Vec<u8>,
    at_most: usize,
    numbers: &mut Vec<Pid>,
) -> Result<(), Errno> {
    count_one();
    // The kernel fills what it is given, at some cost for each name: a short list needs little room.
    let room = at_most.saturating_add(4).saturating_mul(NAME_ROOM).min(names.capacity());
    let mut entries = RawDir::new(directory, &mut names.spare_capacity_mut()[..room]);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if let Some(number) = number(entry.file_name().to_bytes()) {
            numbers.push(Pid(number));
            if numbers.len() == at_most {
                break;
            }
        }
    }
    Ok(())
}

fn number(name: &[u8]) -> Option<u32> {
    if !name.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(name).ok()?.parse().ok()
}

/// Writes the places of a process's files without allocating.
pub(super) struct Place([u8; Place::LENGTH]);

impl Default for Place {
    fn default() -> Self {
        Self([0; Self::LENGTH])
    }
}

impl Place {
    /// Room for a number, a slash, and the longest name that is asked for.
    const LENGTH: usize = 32;

    /// Returns `PID/name`, or `PID` for an empty name.
    pub(super) fn of(&mut self, pid: Pid, name: &str) -> &str {
        // Thousands of names are made at each look: formatting would cost several times as much.
        let mut number = itoa::Buffer::new();
        let number = number.format(pid.0);
        let slash = if name.is_empty() { "" } else { "/" };
        let mut length = 0;
        for part in [number, slash, name] {
            let Some(room) = self.0.get_mut(length..length + part.len()) else {
                debug_assert!(false, "longer than any file of a process: {name}");
                return "0";
            };
            room.copy_from_slice(part.as_bytes());
            length += part.len();
        }
        std::str::from_utf8(&self.0[..length]).unwrap_or("0")
    }
}
