//! Which process, exactly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process number in the pid namespace of the `/proc` that was read.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Pid(pub u32);

impl std::fmt::Display for Pid {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The kernel's random id of one boot (`/proc/sys/kernel/random/boot_id`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BootId(pub String);

/// Which process, exactly: a pid alone can be recycled, a pid with its start time cannot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProcessKey {
    /// The boot in which the process runs.
    pub boot_id: BootId,
    /// Its number.
    pub pid: Pid,
    /// When it started, in clock ticks since boot (`/proc/PID/stat` field 22).
    pub start_ticks: u64,
}
