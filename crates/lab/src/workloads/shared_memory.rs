//! Batches handed over in `/dev/shm`, as loaders do: written by the loader, removed by the rank.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

const BLOCK: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_millis(20);
/// So often a loader waits for room before it gives back what it has and starts again.
const TRIES: u32 = 5;

/// The batches that one loader has handed over, as its rank knows them.
pub(super) struct Handed {
    loader: u32,
    next: u64,
}

impl Handed {
    /// Those of the loader with this pid.
    pub(super) fn by(loader: u32) -> Self {
        Self { loader, next: 0 }
    }

    /// Removes the next batch; there is nothing to remove where batches go through a pipe.
    pub(super) fn release_next(&mut self) {
        let _ = fs::remove_file(path_of(self.loader, self.next));
        self.next += 1;
    }
}

/// Writes batch `sequence` of `length` bytes as the calling loader, and returns how often there was no room for it.
///
/// # Errors
/// Fails for any other reason than a full file system.
pub(super) fn hand_over(sequence: u64, length: u64, number: u32) -> io::Result<u64> {
    let path = path_of(std::process::id(), sequence);
    let mut refusals = 0;
    loop {
        match write(&path, length, &mut refusals) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                fs::remove_file(&path)?;
                // Loaders that give up together do not come back together.
                std::thread::sleep(PATIENCE * (2 + number));
            }
            other => return other.map(|()| refusals),
        }
    }
}

fn write(path: &PathBuf, length: u64, refusals: &mut u64) -> io::Result<()> {
    let block = vec![0x3C; BLOCK];
    let mut file = File::create(path)?;
    let mut left = length;
    let mut tries = 0;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        match file.write(&block[..wanted]) {
            Ok(written) => left -= written as u64,
            Err(error) if error.kind() == io::ErrorKind::StorageFull && tries < TRIES => {
                *refusals += 1;
                tries += 1;
                std::thread::sleep(PATIENCE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn path_of(loader: u32, sequence: u64) -> PathBuf {
    PathBuf::from(format!("/dev/shm/torch_{loader}_{sequence}"))
}
