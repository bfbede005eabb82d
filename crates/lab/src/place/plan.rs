//! What a box shall be: its board, its members, its stores, and what its kernel log says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::server::Server;
use super::shortage::Shortage;
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
    /// Servers of files, at the other end of a network cable.
    #[serde(default)]
    pub servers: Vec<Server>,
    /// Size of `/dev/shm` in bytes; the machine's own where absent.
    #[serde(default)]
    pub shared_memory_bytes: Option<u64>,
    /// The machine is short of memory.
    #[serde(default)]
    pub shortage: Option<Shortage>,
    /// With whose eyes a visitor looks, such as a monitor.
    #[serde(default)]
    pub visitor: Visitor,
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

/// Who a visitor of the box is, where nothing else is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Visitor {
    /// Its user; the caller where absent.
    pub user: Option<String>,
    /// It sits in a pid namespace of its own, and sees no process of anybody else.
    pub own_pids: bool,
    /// It sits in a container's control group.
    pub container: Option<ContainerKind>,
}

/// Whose container a control group belongs to, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContainerKind {
    /// Docker.
    Docker,
    /// A pod of Kubernetes.
    Kubernetes,
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
    /// How fast it may write to the disk, in bytes per second.
    #[serde(default)]
    pub write_bytes_per_s: Option<u64>,
    /// Host memory that it may have, page cache included, in bytes.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Processes and threads that it may have.
    #[serde(default)]
    pub tasks: Option<u64>,
    /// Its control groups are those of a container.
    #[serde(default)]
    pub container: Option<ContainerKind>,
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
