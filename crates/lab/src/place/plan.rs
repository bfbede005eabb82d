//! What a box shall be: its board, its members, its stores, and what its kernel log says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::store::Store;
use crate::board::BoardFile;
use crate::workloads::Work;

/// Everything that bringing a box up needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the box is called.
    pub name: String,
    /// Its cards and driver.
    pub board: BoardFile,
    /// Whether the driver's library is installed.
    #[serde(default = "yes")]
    pub library_installed: bool,
    /// Who lives in it.
    #[serde(default)]
    pub members: Vec<Member>,
    /// File systems served to it.
    #[serde(default)]
    pub stores: Vec<Store>,
    /// Files on the real disk for members that read from there.
    #[serde(default)]
    pub data_set: Option<DataSet>,
    /// What the kernel said before and while the box was up.
    #[serde(default)]
    pub kernel_log: Vec<KernelLine>,
    /// Seed of what members draw while they run.
    #[serde(default)]
    pub seed: u64,
}

/// A member of a box: whose it is, how it appears, what it does, and what it is held to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name in the plan; no person sees it.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// Its command line as a person sees it.
    pub command: Vec<String>,
    /// The file name of its executable, which is its first thread name too.
    #[serde(default = "python")]
    pub program: String,
    /// Variables of its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The cards that it uses, one per rank.
    #[serde(default)]
    pub cards: Vec<usize>,
    /// CPU time that it may use, in cores.
    #[serde(default)]
    pub cpu_cores: Option<f64>,
    /// CPUs that it may run on.
    #[serde(default)]
    pub cpus: Option<Vec<usize>>,
    /// How fast it may read from the disk, in bytes per second.
    #[serde(default)]
    pub read_bytes_per_s: Option<u64>,
    /// Comes only when the members before it are ready.
    #[serde(default)]
    pub comes_later: bool,
    /// What it does.
    pub work: Work,
}

/// Files on the real disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// How many files.
    pub files: u32,
    /// The size of each in bytes.
    pub file_bytes: u64,
}

/// One line of the kernel log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelLine {
    /// How long before the box came up, in seconds.
    pub seconds_ago: f64,
    /// Syslog level: 3 error, 4 warning, 6 information.
    #[serde(default = "warning")]
    pub level: u8,
    /// What it says.
    pub text: String,
}

fn yes() -> bool {
    true
}

fn python() -> String {
    "python3".to_owned()
}

fn warning() -> u8 {
    4
}
