//! A container as its runtime, or the pod that it belongs to, describes it.

use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;
use crate::reading::Reading;
use crate::units::{Bytes, Cores};

closed_list! {
    /// How far a container has come.
    pub enum ContainerState {
        /// It does not run yet, or not again yet.
        Waiting = "waiting",
        /// It runs.
        Running = "running",
        /// It was stopped for a while.
        Paused = "paused",
        /// It ended.
        Ended = "ended",
    }
}

/// A container as its runtime, or the pod that it belongs to, describes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Container {
    /// Its name; its short id where it has none; empty where the source says neither.
    pub name: String,
    /// Its image.
    pub image: Reading<String>,
    /// How far it has come.
    pub state: Reading<ContainerState>,
    /// Why it is so, in the runtime's own word or sentence, secrets masked: `CrashLoopBackOff`.
    pub reason: Reading<String>,
    /// How it ended, the last time first.
    pub ends: Vec<ContainerEnd>,
    /// How often it was started anew.
    pub restarts: Reading<u64>,
    /// Memory that it may use; unsupported: no limit is set.
    pub memory_limit: Reading<Bytes>,
    /// Memory that it uses.
    pub memory_used: Reading<Bytes>,
    /// Processor time per wall time that it may use; unsupported: no limit is set.
    pub cpu_limit: Reading<Cores>,
    /// Processor time per wall time that it uses.
    pub cpu_used: Reading<Cores>,
    /// Tasks that it may have; unsupported: no limit is set.
    pub tasks_limit: Reading<u64>,
    /// Tasks that it has.
    pub tasks: Reading<u64>,
    /// Size of its shared memory (`/dev/shm`); unsupported: it has that of the machine.
    pub shared_memory: Reading<Bytes>,
    /// Cards that it was promised, by number or name (`all`, `0,1`, `2`); unsupported: none.
    pub promised_cards: Reading<String>,
    /// What starts it (`runc`, `nvidia`).
    pub runtime: Reading<String>,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContainerEnd {
    /// Its exit code.
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<u32>,
    /// The runtime's word for it: `OOMKilled`, `Error`.
    pub reason: Option<String>,
    /// Whether the runtime says that it was for want of memory in its group.
    pub for_memory: bool,
    /// When, as the source writes it.
    pub at: Option<String>,
}
