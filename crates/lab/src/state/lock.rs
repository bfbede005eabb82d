//! Locks between processes that the kernel releases when their holder dies.
#![expect(unsafe_code, reason = "open-file-description locks are only reachable through libc's fcntl")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A set of locks, one per byte of a file.
pub(super) struct Locks {
    file: File,
    /// Byte locks do not keep two threads of one process apart.
    threads: Vec<Mutex<()>>,
}

/// A lock that is held until this is dropped.
pub struct Held<'a> {
    file: &'a File,
    byte: usize,
    _thread: MutexGuard<'a, ()>,
}

/// The lock was not free in time.
#[derive(Debug, thiserror::Error)]
#[error("another process holds the lock of the card")]
pub struct LockError;

impl Locks {
    pub(super) fn new(file: File, count: usize) -> Self {
        Self { file, threads: (0..count).map(|_| Mutex::new(())).collect() }
    }

    /// Takes the lock of `byte`, or gives up after `patience`.
    ///
    /// A holder can be stopped or throttled in the middle of its few microseconds; nobody should wait for it
    /// for ever.
    pub(super) fn take(&self, byte: usize, patience: Duration) -> Result<Held<'_>, LockError> {
        let thread = self.threads[byte].lock().unwrap_or_else(PoisonError::into_inner);
        let mut deadline = None;
        loop {
            if set_lock(&self.file, byte, LockKind::Exclusive) {
                return Ok(Held { file: &self.file, byte, _thread: thread });
            }
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + patience);
            if Instant::now() >= deadline {
                return Err(LockError);
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        set_lock(self.file, self.byte, LockKind::None);
    }
}

#[derive(Clone, Copy)]
enum LockKind {
    Exclusive,
    None,
}

/// Returns whether the lock is now as asked.
fn set_lock(file: &File, byte: usize, kind: LockKind) -> bool {
    let wanted = match kind {
        LockKind::Exclusive => libc::F_WRLCK,
        LockKind::None => libc::F_UNLCK,
    };
    let Ok(l_start) = libc::off_t::try_from(byte) else { return false };
    let mut range = libc::flock {
        l_type: i16::try_from(wanted).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open for as long as `file` lives, and `range` is a valid `flock` with `l_pid`
    // 0, as F_OFD_SETLK demands.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut range) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_holders() -> (Locks, Locks, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("locks");
        std::fs::write(&path, [0; 8]).unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        (Locks::new(open(), 8), Locks::new(open(), 8), directory)
    }

    #[test]
    fn a_held_byte_is_refused_and_its_neighbour_is_free() {
        let (one, other, _directory) = two_holders();
        let held = one.take(3, Duration::ZERO).unwrap();
        assert!(other.take(3, Duration::from_millis(1)).is_err());
        assert!(other.take(4, Duration::ZERO).is_ok());
        drop(held);
        assert!(other.take(3, Duration::ZERO).is_ok());
    }

    #[test]
    fn a_holder_that_is_gone_holds_nothing() {
        let (one, other, _directory) = two_holders();
        let held = one.take(0, Duration::ZERO).unwrap();
        std::mem::forget(held);
        drop(one);
        assert!(other.take(0, Duration::ZERO).is_ok());
    }
}
