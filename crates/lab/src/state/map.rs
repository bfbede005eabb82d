//! Creates, opens and maps the state file of a box.
#![expect(unsafe_code, reason = "the state is a shared memory map")]

use std::ffi::c_void;
use std::fs::{File, Permissions};
use std::io;
use std::mem::size_of;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::layout::{MAGIC, VERSION};
use super::lock::Locks;
use super::{Clock, Held, Layout, LockError, MOST_CARDS, MOST_CLIENTS, StateError, pid_namespace};
use crate::board::BoxDirectory;

/// Byte of the lock for taking and freeing slots; the cards have the bytes before it.
const SLOT_LOCK: usize = MOST_CARDS;
/// How long a client waits for a lock before it goes on without one.
const CLIENT_PATIENCE: Duration = Duration::from_secs(1);

/// The mapped state of one box.
pub struct State {
    layout: NonNull<Layout>,
    locks: Locks,
    clock: Clock,
    pid_namespace: u64,
}

// SAFETY: the mapping lives until `State` is dropped, and every field of `Layout` is an atomic.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    /// Makes the state file of a box that comes up now. Every user of the box may write it, as every user may
    /// use a card.
    ///
    /// Where the box directory lies on a disk, the file itself lies in `/dev/shm` and the box has a link to
    /// it: clients write the map all the time, and must not wait for a disk that a scenario makes slow.
    ///
    /// # Errors
    /// Fails when the file cannot be made, sized or mapped.
    pub fn create(directory: &BoxDirectory) -> Result<Self, StateError> {
        let path = directory.state_file();
        Self::remove(directory)?;
        let target = shared_memory_path(directory.path());
        let file = match create_file(&target) {
            Ok(file) => {
                symlink(&target, &path).map_err(|source| failure("link", &path, source))?;
                file
            }
            Err(_) => create_file(&path).map_err(|source| failure("create", &path, source))?,
        };
        file.set_len(size_of::<Layout>() as u64).map_err(|source| failure("size", &path, source))?;
        let clock = Clock::starting_now();
        let namespace =
            pid_namespace().map_err(|source| failure("tell the pid namespace of", &path, source))?;
        let mut state = Self::map(file, &path)?;
        state.clock = clock;
        state.pid_namespace = namespace;
        let header = &state.layout().header;
        header.version.store(VERSION, Relaxed);
        header.started.store(clock.started, Relaxed);
        header.offset.store(clock.offset, Relaxed);
        header.pid_namespace.store(namespace, Relaxed);
        header.magic.store(MAGIC, Release);
        Ok(state)
    }

    /// Opens the state file of a box that is up.
    ///
    /// # Errors
    /// Fails when the file is absent, may not be written, or is not of this version.
    pub fn open(directory: &BoxDirectory) -> Result<Self, StateError> {
        let path = directory.state_file();
        let file = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|source| failure("open", &path, source))?;
        let length = file.metadata().map_err(|source| failure("measure", &path, source))?.len();
        if length != size_of::<Layout>() as u64 {
            return Err(StateError::Foreign { path });
        }
        let mut state = Self::map(file, &path)?;
        let header = &state.layout().header;
        if header.magic.load(Acquire) != MAGIC || header.version.load(Relaxed) != VERSION {
            return Err(StateError::Foreign { path });
        }
        let clock = Clock { started: header.started.load(Relaxed), offset: header.offset.load(Relaxed) };
        let pid_namespace = header.pid_namespace.load(Relaxed);
        state.clock = clock;
        state.pid_namespace = pid_namespace;
        Ok(state)
    }

    /// Removes the state file of a box, and what it links to.
    ///
    /// # Errors
    /// Fails when a file is there and cannot be removed.
    pub fn remove(directory: &BoxDirectory) -> Result<(), StateError> {
        let path = directory.state_file();
        if let Ok(target) = std::fs::read_link(&path) {
            remove_if_there(&target)?;
        }
        remove_if_there(&path)
    }

    fn map(file: File, path: &Path) -> Result<Self, StateError> {
        // SAFETY: a new mapping at an address that the kernel chooses; the file has the size of `Layout`.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                size_of::<Layout>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )
        }
        .map_err(|source| failure("map", path, source.into()))?;
        let layout = NonNull::new(address.cast::<Layout>())
            .ok_or_else(|| failure("map", path, io::Error::other("the kernel mapped the null page")))?;
        let locks = Locks::new(file, SLOT_LOCK + 1);
        Ok(Self { layout, locks, clock: Clock { started: 0, offset: 0 }, pid_namespace: 0 })
    }

    /// The mapped table.
    pub fn layout(&self) -> &Layout {
        // SAFETY: the mapping is as large as `Layout`, aligned to a page, and lives as long as `self`; zero
        // bytes are valid.
        unsafe { self.layout.as_ref() }
    }

    /// The clock of the box.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Inode of the pid namespace in which host pids are valid.
    pub fn pid_namespace(&self) -> u64 {
        self.pid_namespace
    }

    /// Takes the lock of a card for a reader, which rather answers with old values than waits.
    ///
    /// # Errors
    /// Fails when the lock is not free within `patience`.
    pub fn lock_card(&self, card: usize, patience: Duration) -> Result<Held<'_>, LockError> {
        self.locks.take(card, patience)
    }

    /// Takes the lock of a card for a client. A lock that nobody gives back for a second is passed over: its
    /// holder was stopped.
    pub fn lock_card_for_client(&self, card: usize) -> Option<Held<'_>> {
        self.locks.take(card, CLIENT_PATIENCE).ok()
    }

    /// Takes the lock under which slots are taken.
    pub fn lock_slots(&self) -> Option<Held<'_>> {
        self.locks.take(SLOT_LOCK, CLIENT_PATIENCE).ok()
    }

    /// How many slots are worth looking at.
    pub fn slots_used(&self) -> usize {
        (self.layout().header.slots_used.load(Relaxed) as usize).min(MOST_CLIENTS)
    }

    /// Remembers that slot `slot` is worth looking at.
    pub fn note_slot(&self, slot: usize) {
        let used = u32::try_from(slot + 1).unwrap_or(u32::MAX);
        self.layout().header.slots_used.fetch_max(used, Relaxed);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let address: *mut c_void = self.layout.as_ptr().cast();
        // SAFETY: the mapping was made by `map` with this size, and no reference into it outlives `self`.
        // A failure would leave the mapping in place, which is harmless.
        let _ = unsafe { munmap(address, size_of::<Layout>()) };
    }
}

fn create_file(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    // The mask of the process must not take the right to write from the other users of the box.
    file.set_permissions(Permissions::from_mode(0o666))?;
    Ok(file)
}

/// A name in `/dev/shm` that belongs to this box alone.
fn shared_memory_path(directory: &Path) -> PathBuf {
    let name = directory.to_string_lossy().replace('/', "-");
    let stamp = Clock::now();
    PathBuf::from(format!("/dev/shm/gpuwhy-lab{name}-{}-{stamp}", std::process::id()))
}

fn remove_if_there(path: &Path) -> Result<(), StateError> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(failure("remove", path, source)),
    }
}

fn failure(attempt: &'static str, path: &Path, source: io::Error) -> StateError {
    StateError::File { attempt, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_maps_of_one_box_share_their_values() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(temporary.path());
        let one = State::create(&directory).unwrap();
        let other = State::open(&directory).unwrap();
        one.layout().cards[3].energy_j.set(12.5);
        one.note_slot(7);
        assert!((other.layout().cards[3].energy_j.get() - 12.5).abs() < 1e-12);
        assert_eq!(other.slots_used(), 8);
        assert_eq!(one.clock().started, other.clock().started);
        State::remove(&directory).unwrap();
        assert!(State::open(&directory).is_err());
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(temporary.path());
        let file = File::create(directory.state_file()).unwrap();
        assert!(matches!(State::open(&directory), Err(StateError::Foreign { .. })));
        file.set_len(size_of::<Layout>() as u64).unwrap();
        assert!(matches!(State::open(&directory), Err(StateError::Foreign { .. })));
    }
}
