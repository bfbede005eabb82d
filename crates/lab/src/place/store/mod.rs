//! A store is a file system served by a process of the box: slow on purpose, or never answering.

mod server;
mod wire;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use server::{StoreError, serve};

/// The file of a silent store whose read is never answered.
pub const SILENT_FILE: &str = "silent";

/// What one store serves, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Name of the store inside the box; the mount point is `stores/NAME`.
    pub name: String,
    /// What stands in the mount table as source, such as `nas:/data`.
    pub source: String,
    /// What stands in the mount table as type, such as `fuse.sshfs`.
    pub kind: String,
    /// How it behaves.
    pub behaviour: Behaviour,
}

/// How a store answers reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Behaviour {
    /// Serves `files` files of `file_bytes` each, at most `bytes_per_second` altogether.
    Slow {
        /// Bytes per second over all readers.
        bytes_per_second: u64,
        /// How many files there are, named `shard-00000.tar` and so on.
        files: u32,
        /// The size of each file in bytes.
        file_bytes: u64,
    },
    /// Takes the read of [`SILENT_FILE`] and never answers: the reader cannot be killed while we live.
    Silent,
}

/// The name of data file `number`, the same on every store and disk.
pub fn data_file_name(number: u32) -> String {
    format!("shard-{number:05}.tar")
}

/// A mount point and the store to serve there, as handed to the serving process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mounted {
    /// Where the store appears.
    pub point: PathBuf,
    /// What it serves.
    pub store: Store,
}
