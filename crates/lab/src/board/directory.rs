//! Where the parts of one box lie on disk.

use std::path::{Path, PathBuf};

/// The directory that holds everything of one box.
///
/// ```text
/// board.toml               what the box has
/// state                    the memory-mapped table (a link into /dev/shm where that exists)
/// lib/libnvidia-ml.so.1    the library, which finds its box by its own path
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxDirectory {
    path: PathBuf,
}

impl BoxDirectory {
    /// Names a box directory; nothing is read or created.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the box of a library that lies at `<box>/lib/<library>`.
    pub fn of_library(library: &Path) -> Option<Self> {
        Some(Self::new(library.parent()?.parent()?))
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The board file.
    pub fn board_file(&self) -> PathBuf {
        self.path.join("board.toml")
    }

    /// The memory-mapped state file.
    pub fn state_file(&self) -> PathBuf {
        self.path.join("state")
    }

    /// The directory to put into `LD_LIBRARY_PATH`.
    pub fn library_directory(&self) -> PathBuf {
        self.path.join("lib")
    }

    /// The NVML library of the box.
    pub fn library(&self) -> PathBuf {
        self.library_directory().join("libnvidia-ml.so.1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_knows_its_box() {
        let directory = BoxDirectory::new("/run/box");
        assert_eq!(BoxDirectory::of_library(&directory.library()), Some(directory));
    }
}
