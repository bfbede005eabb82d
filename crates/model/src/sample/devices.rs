//! Disks, network links and services of a machine at one instant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reading::Reading;
use crate::units::BytesPerSecond;

/// A disk since boot (`/proc/diskstats`); partitions are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiskSample {
    /// Its name (`nvme0n1`).
    pub name: String,
    /// Device number, `259:0`.
    pub device: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time in which at least one request was in flight, in milliseconds.
    pub busy_ms: u64,
    /// Time that all requests waited, summed, in milliseconds.
    pub waited_ms: u64,
}

/// What kind of network link it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterfaceKind {
    /// A network interface of the kernel with hardware behind it.
    #[default]
    Network,
    /// One without hardware: loopback, bridge, tunnel, container pair.
    Virtual,
    /// A port of an `InfiniBand` or `RoCE` adapter.
    Infiniband,
}

/// A network link at one instant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterfaceSample {
    /// Its name (`eth0`, `mlx5_0/1`).
    pub name: String,
    /// What kind.
    pub kind: InterfaceKind,
    /// Whether it is up.
    pub up: Reading<bool>,
    /// What the link can carry one way.
    pub speed: Reading<BytesPerSecond>,
    /// Bytes that came in, ever.
    pub received_bytes: Reading<u64>,
    /// Bytes that went out, ever.
    pub sent_bytes: Reading<u64>,
    /// Packets that were damaged or dropped, either way, ever.
    pub errors: Reading<u64>,
    /// Times that the link went down, ever.
    pub downs: Reading<u64>,
    /// Ticks in which data had to wait for credit of the other side, ever (`port_xmit_wait`).
    pub congestion: Reading<u64>,
}

/// Room in a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Space {
    /// All of it, in bytes.
    pub total: u64,
    /// What is left for everybody, in bytes.
    pub available: u64,
}

/// Faults and paging of the whole machine since boot (`/proc/vmstat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Paging {
    /// Page faults that had to wait for a disk.
    pub major_faults: u64,
    /// Pages fetched from swap.
    pub swapped_in: u64,
    /// Pages sent to swap.
    pub swapped_out: u64,
    /// Processes ended for want of memory.
    pub oom_kills: u64,
}

/// A service around cards (`nvidia-fabricmanager`, `nvidia-persistenced` …).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Service {
    /// Its name, without `.service`.
    pub name: String,
    /// Whether it is installed.
    pub installed: Reading<bool>,
    /// Whether a process of it runs.
    pub running: Reading<bool>,
    /// Version of its program, where it can be told.
    pub version: Reading<String>,
    /// Whether the service manager or its own words say that it ended by an error; false: not said.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}
