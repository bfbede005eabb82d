//! Small files, read into a buffer that is used again and again.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gpuwhy_formats::Malformed;
use gpuwhy_model::reading::{Access, Failure, Reading};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, read};

/// How much a buffer grows at once.
const CHUNK: usize = 4096;

/// Nothing that is read whole here is larger; a file that is gets cut.
const FILE_MAX: usize = 16 << 20;

/// How many files this process has read, directories and links included.
static READ: AtomicU64 = AtomicU64::new(0);

/// Counts a file, directory or link that is read.
pub(crate) fn count_one() {
    READ.fetch_add(1, Ordering::Relaxed);
}

/// Returns how many files, directories and links this process has read so far.
pub(crate) fn read_so_far() -> u64 {
    READ.load(Ordering::Relaxed)
}

/// Why a file gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadError {
    /// The system refused.
    #[error("cannot read `{path}`")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        errno: Errno,
    },
    /// The text was not what it should be.
    #[error("`{path}`: {malformed}")]
    Malformed {
        /// The file.
        path: String,
        /// Where, and what was expected.
        malformed: Malformed,
    },
}

impl ReadError {
    /// Returns the reading that this error makes, where `access` would open what is closed.
    pub(crate) fn reading_with<T>(self, access: Access) -> Reading<T> {
        match self {
            Self::Io { errno: Errno::ACCESS | Errno::PERM, .. } => Reading::Denied(access),
            Self::Io { errno: Errno::NOENT | Errno::NOTDIR, path } => {
                Reading::Failed(Failure::Missing { path })
            }
            Self::Io { errno: Errno::SRCH, .. } => Reading::Failed(Failure::Vanished),
            Self::Io { errno, path } => Reading::Failed(Failure::Io { path, error: errno.to_string() }),
            Self::Malformed { path, malformed } => Reading::Failed(malformed.in_file(path)),
        }
    }

    /// Returns whether the file, or the process that it describes, is not there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { errno: Errno::NOENT | Errno::NOTDIR | Errno::SRCH, .. })
    }

    /// Returns whether we may not read the file.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Self::Io { errno: Errno::ACCESS | Errno::PERM, .. })
    }
}

/// Reads a whole file below a directory into the buffer.
///
/// # Errors
/// Fails with what the system said.
pub(crate) fn read_at<'buffer>(
    directory: impl AsFd,
    name: &str,
    buffer: &'buffer mut Vec<u8>,
) -> Result<&'buffer [u8], Errno> {
    read_until(directory, name, buffer, |taken, _| taken == 0)
}

/// Reads a file of one record below a directory, as those of a process are: what a read leaves room for was all.
///
/// # Errors
/// Fails with what the system said.
pub(crate) fn read_record<'buffer>(
    directory: impl AsFd,
    name: &str,
    buffer: &'buffer mut Vec<u8>,
) -> Result<&'buffer [u8], Errno> {
    read_until(directory, name, buffer, |taken, room| taken < room)
}

/// Reads until a read of so many bytes, for which there was so much room, has been the last.
fn read_until<'buffer>(
    directory: impl AsFd,
    name: &str,
    buffer: &'buffer mut Vec<u8>,
    is_last: impl Fn(usize, usize) -> bool,
) -> Result<&'buffer [u8], Errno> {
    count_one();
    // Never waits for a writer, should somebody have put a pipe there.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = openat(directory, name, flags, Mode::empty())?;
    let mut length = 0;
    loop {
        if buffer.len() - length < CHUNK / 2 {
            buffer.resize(length + CHUNK, 0);
        }
        let room = buffer.len() - length;
        match read(&file, &mut buffer[length..]) {
            Ok(taken) => {
                length += taken;
                if is_last(taken, room) || length > FILE_MAX {
                    return Ok(&buffer[..length]);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Reads a whole file.
///
/// # Errors
/// Fails with the path and what the system said.
pub(crate) fn read_path<'buffer>(
    path: &Path,
    buffer: &'buffer mut Vec<u8>,
) -> Result<&'buffer [u8], ReadError> {
    let name = path.to_string_lossy();
    read_at(rustix::fs::CWD, &name, buffer).map_err(|errno| ReadError::Io { path: name.into_owned(), errno })
}

/// Returns the names in a directory, sorted; those that are no UTF-8 are left out.
///
/// # Errors
/// Fails with the path and what the system said.
pub(crate) fn names_in(path: &Path) -> Result<Vec<String>, ReadError> {
    count_one();
    let failed = |error: std::io::Error| ReadError::Io {
        path: path.display().to_string(),
        errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
    };
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Reads a whole file and understands it.
pub(crate) fn read_and_parse<T>(
    path: &Path,
    buffer: &mut Vec<u8>,
    access: Access,
    parse: impl FnOnce(&[u8]) -> Result<T, Malformed>,
) -> Reading<T> {
    match read_path(path, buffer) {
        Ok(bytes) => match parse(bytes) {
            Ok(value) => Reading::Known(value),
            Err(malformed) => Reading::Failed(malformed.in_file(path.display().to_string())),
        },
        Err(error) => error.reading_with(access),
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadError, read_and_parse, read_path};
    use gpuwhy_formats::proc::whole_number;
    use gpuwhy_model::reading::{Access, Failure, Reading};
    use rustix::io::Errno;

    #[test]
    fn files_longer_than_the_buffer_are_read_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("long");
        std::fs::write(&path, vec![b'x'; 100_000]).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(read_path(&path, &mut buffer).unwrap().len(), 100_000);
        std::fs::write(&path, b"7\n").unwrap();
        assert_eq!(read_path(&path, &mut buffer).unwrap(), b"7\n");
    }

    #[test]
    fn every_error_says_why_there_is_no_value() {
        let error = |errno| ReadError::Io { path: "/x".to_owned(), errno };
        let read = |errno| error(errno).reading_with::<u32>(Access::Root);
        assert_eq!(read(Errno::ACCESS), Reading::Denied(Access::Root));
        assert_eq!(read(Errno::NOENT), Reading::Failed(Failure::Missing { path: "/x".to_owned() }));
        assert_eq!(read(Errno::SRCH), Reading::Failed(Failure::Vanished));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        std::fs::write(&path, "many").unwrap();
        let reading = read_and_parse(&path, &mut Vec::new(), Access::Root, whole_number);
        assert!(matches!(reading, Reading::Failed(Failure::Syntax { line: 1, .. })));
    }
}
