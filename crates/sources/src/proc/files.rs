//! The files of one process and of its threads.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use gpuwhy_formats::Malformed;
use gpuwhy_formats::proc::{self, Stat, Status};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Failure, Reading};
use rustix::fs::{Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::root::{Place, ProcRoot};
use crate::file::{ReadError, count_one, read_record};

/// The directory of one process. It stays the directory of that process: when the process ends and its number is given
/// to another one, reads fail.
#[derive(Debug)]
pub(crate) struct ProcessDirectory {
    directory: OwnedFd,
    pid: Pid,
}

impl ProcessDirectory {
    /// Opens the directory of a process.
    ///
    /// # Errors
    /// Fails when there is no such process, or it is hidden from us.
    pub(crate) fn open(proc: &ProcRoot, pid: Pid) -> Result<Self, ReadError> {
        let mut place = Place::default();
        let name = place.of(pid, "");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(proc.directory(), name, flags, Mode::empty()) {
            Ok(directory) => Ok(Self { directory, pid }),
            Err(errno) => Err(ReadError::Io { path: proc.path_of(name), errno }),
        }
    }

    fn read<'root>(&self, proc: &'root mut ProcRoot, name: &str) -> Result<&'root [u8], ReadError> {
        let path = &proc.path;
        read_record(&self.directory, name, &mut proc.buffer).map_err(|errno| self.error(path, name, errno))
    }

    fn parse<'root, T: 'root>(
        &self,
        proc: &'root mut ProcRoot,
        name: &str,
        parse: impl FnOnce(&'root [u8]) -> Result<T, Malformed>,
    ) -> Result<T, ReadError> {
        let path = &proc.path;
        let bytes = read_record(&self.directory, name, &mut proc.buffer)
            .map_err(|errno| self.error(path, name, errno))?;
        parse(bytes).map_err(|malformed| ReadError::Malformed { path: self.path_of(path, name), malformed })
    }

    fn error(&self, root: &Path, name: &str, errno: Errno) -> ReadError {
        ReadError::Io { path: self.path_of(root, name), errno }
    }

    fn path_of(&self, root: &Path, name: &str) -> String {
        format!("{}/{}/{name}", root.display(), self.pid)
    }

    /// Reads `stat`.
    ///
    /// # Errors
    /// Fails when the process is gone or the file is not what it should be.
    pub(crate) fn stat<'root>(&self, proc: &'root mut ProcRoot) -> Result<Stat<'root>, ReadError> {
        self.parse(proc, "stat", proc::stat)
    }

    /// Reads `status`.
    ///
    /// # Errors
    /// Fails when the process is gone or the file is not what it should be.
    pub(crate) fn status(&self, proc: &mut ProcRoot) -> Result<Status, ReadError> {
        self.parse(proc, "status", proc::status)
    }

    /// Returns the effective user id of the process.
    ///
    /// # Errors
    /// Fails when the process is gone.
    pub(crate) fn owner(&self) -> Result<u32, Errno> {
        fstat(&self.directory).map(|status| status.st_uid)
    }

    /// Reads where the main thread waits in the kernel.
    pub(crate) fn wait_channel(&self, proc: &mut ProcRoot, may_look: bool) -> Reading<String> {
        wait_channel(self.read(proc, "wchan"), may_look)
    }

    /// Reads the control groups.
    pub(crate) fn cgroups(&self, proc: &mut ProcRoot) -> Reading<BTreeMap<String, String>> {
        unsupported_if_missing(self.parse(proc, "cgroup", proc::cgroup_paths))
    }

    /// Reads `cmdline` or `environ`, which lie in the memory of the process: the read may wait for as long as somebody
    /// holds that memory, so this must never be called from the thread that answers.
    pub(crate) fn in_memory<T>(
        &self,
        proc: &mut ProcRoot,
        name: &str,
        parse: impl FnOnce(&[u8]) -> T,
    ) -> Reading<T> {
        reading(self.read(proc, name).map(parse))
    }

    /// Returns the path of the program.
    pub(crate) fn executable(&self, proc: &ProcRoot) -> Reading<String> {
        count_one();
        match readlinkat(&self.directory, "exe", Vec::new()) {
            Ok(link) => Reading::Known(proc::single_line(link.as_bytes())),
            // Threads of the kernel and the dead have no program.
            Err(Errno::NOENT) => Reading::Unsupported,
            Err(errno) => reading(Err(self.error(&proc.path, "exe", errno))),
        }
    }
}

/// Returns where the main thread of a process waits in the kernel.
pub(crate) fn wait_channel_of(proc: &mut ProcRoot, pid: Pid, may_look: bool) -> Reading<String> {
    wait_channel(proc.read_of(pid, "wchan"), may_look)
}

/// Returns the reading that a result of a process's own file makes.
pub(crate) fn reading<T>(result: Result<T, ReadError>) -> Reading<T> {
    match result {
        Ok(value) => Reading::Known(value),
        // A file of a process is only missing when the process is.
        Err(error) if error.is_missing() => Reading::Failed(Failure::Vanished),
        Err(error) => error.reading_with(Access::RootOrOwner),
    }
}

/// Returns the reading of a file that some kernels do not have.
pub(super) fn unsupported_if_missing<T>(result: Result<T, ReadError>) -> Reading<T> {
    match result {
        Err(ReadError::Io { errno: Errno::NOENT, .. }) => Reading::Unsupported,
        other => reading(other),
    }
}

/// Returns the kernel function of a `wchan` file. The kernel writes `0` to those who may not look.
pub(super) fn wait_channel(file: Result<&[u8], ReadError>, may_look: bool) -> Reading<String> {
    match file {
        Ok(bytes) => match proc::wait_channel(bytes) {
            Some(function) => Reading::Known(function),
            None if may_look => Reading::Known("0".to_owned()),
            None => Reading::Denied(Access::RootOrOwner),
        },
        Err(ReadError::Io { errno: Errno::NOENT, .. }) => Reading::Unsupported,
        Err(error) => reading(Err(error)),
    }
}
