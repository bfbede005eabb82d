//! Processes and workloads over a window.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::command_line::CommandLine;
use crate::process::{Pid, ProcessKey};
use crate::reading::Reading;
use crate::sample::{Owner, ProcessRole, ProcessState};
use crate::units::{Bytes, BytesPerSecond, Cores, Seconds, Share};

/// One process over a window. Processes that ended before the last sample are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Process {
    /// Which process.
    pub key: ProcessKey,
    /// Parent's number.
    pub parent: Pid,
    /// Process group.
    pub group: Pid,
    /// Session.
    pub session: Pid,
    /// Controlling terminal (device number); 0: none.
    pub terminal: i64,
    /// Newest state of its main thread.
    pub state: Reading<ProcessState>,
    /// `comm`
    pub name: String,
    /// What it is for, as far as its name and arguments tell.
    pub role: Option<ProcessRole>,
    /// Owner's user id.
    pub uid: Reading<u32>,
    /// Owner's name.
    pub user: Reading<String>,
    /// Arguments, masked.
    pub command: Reading<CommandLine>,
    /// Path of its program.
    pub executable: Reading<String>,
    /// Control-group paths, by controller list.
    pub cgroups: Reading<BTreeMap<String, String>>,
    /// Where it belongs: container, pod, job, unit, session.
    pub owner: Owner,
    /// Allowed environment variables.
    pub environment: Reading<BTreeMap<String, String>>,
    /// Pid namespace numbers, outermost first.
    pub namespace_pids: Reading<Vec<u32>>,
    /// How long it has run.
    pub age: Reading<Seconds>,
    /// Processor time since its start, in seconds.
    pub cpu_time: Reading<Seconds>,
    /// Processor time per wall time in the window.
    pub cores: Reading<Cores>,
    /// Number of threads.
    pub thread_count: u64,
    /// Share of the window it was blocked on block devices, per thread that could be (1.0: one thread, all the time).
    pub block_delay: Reading<Share>,
    /// Share of the window its main thread waited for a processor.
    pub run_delay: Reading<Share>,
    /// I/O rates.
    pub io: Reading<IoRates>,
    /// In which states its main thread was seen.
    pub states: StateShares,
    /// Kernel functions in which its main thread was seen waiting, most often first.
    pub wait_channels: Vec<WaitChannel>,
    /// Resident memory.
    pub resident: Reading<Bytes>,
    /// Memory that it shares with others.
    pub shared_resident: Reading<Bytes>,
    /// Memory of it that was sent to swap.
    pub swapped: Reading<Bytes>,
    /// Page faults a second that had to wait for a disk.
    pub major_faults_per_s: Reading<f64>,
    /// On how many processors it may run.
    pub cpus_allowed: Reading<u32>,
    /// Network connections that it had open.
    pub open_sockets: Reading<u64>,
    /// Libraries of CUDA and of frameworks that it has loaded, sorted.
    pub libraries: Reading<Vec<String>>,
    /// Mount points of regular files it had open, with the number of files.
    pub file_mounts: Reading<BTreeMap<String, u64>>,
    /// Threads, where they were looked at.
    pub threads: Reading<Vec<Thread>>,
}

/// Rates of a process's I/O in the window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IoRates {
    /// Asked for by read calls, page cache and network file systems included.
    pub read_chars: BytesPerSecond,
    /// Given to write calls.
    pub written_chars: BytesPerSecond,
    /// Fetched from storage.
    pub read_bytes: BytesPerSecond,
    /// Sent to storage.
    pub written_bytes: BytesPerSecond,
}

/// How often a thread was seen in each state.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateShares {
    /// How often it was looked at.
    pub n: usize,
    /// Share of looks in which it ran or could run.
    pub running: f64,
    /// Share of looks in which it was blocked uninterruptibly.
    pub blocked: f64,
    /// Share of looks in which it slept.
    pub sleeping: f64,
}

/// A kernel function in which a thread was seen waiting.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WaitChannel {
    /// Its name.
    pub name: String,
    /// How often.
    pub seen: usize,
}

/// One thread over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thread {
    /// Thread number.
    pub tid: Pid,
    /// `comm`
    pub name: String,
    /// Processor time per wall time between the looks at it.
    pub cores: Reading<Cores>,
    /// Share of time it waited for a processor.
    pub run_delay: Reading<Share>,
    /// In which states it was seen.
    pub states: StateShares,
    /// Kernel functions in which it was seen waiting, most often first.
    pub wait_channels: Vec<WaitChannel>,
}

/// The unit a person thinks in: a process tree with its owner.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// The process at the top of the tree.
    pub root: Pid,
    /// All its processes, by pid.
    pub processes: Vec<Pid>,
    /// Those of them that have a context on a card, by pid.
    pub gpu_processes: Vec<Pid>,
    /// Indices of the cards they have it on, sorted.
    pub cards: Vec<u32>,
}

/// A control group over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cgroup {
    /// Its path, as `/proc/PID/cgroup` gives it.
    pub path: String,
    /// Processor quota.
    pub cpu_quota: Reading<Cores>,
    /// Share of scheduling periods in which it was stopped at its quota.
    pub cpu_throttled: Reading<Share>,
    /// Share of the window in which some task of it waited for I/O.
    pub io_some: Reading<Share>,
    /// Share of the window in which some task of it waited for a processor.
    pub cpu_some: Reading<Share>,
    /// Share of the window in which some task of it waited for memory.
    pub memory_some: Reading<Share>,
    /// Memory that it may use; unsupported: no limit is set.
    pub memory_limit: Reading<Bytes>,
    /// Memory that it uses, newest.
    pub memory_used: Reading<Bytes>,
    /// How often it came up against its memory limit in the window.
    pub memory_limit_hits: Reading<u64>,
    /// How many of its processes were ended for want of memory, ever.
    pub oom_kills: Reading<u64>,
    /// How many of them in the window.
    pub oom_kill_growth: Reading<u64>,
    /// Tasks that it may have; unsupported: no limit is set.
    pub tasks_limit: Reading<u64>,
    /// Tasks that it has, newest.
    pub tasks: Reading<u64>,
    /// How often it was refused a task for that limit in the window.
    pub tasks_refused: Reading<u64>,
    /// Devices that its processes may use, as the first version of control groups lists them: `c 195:* rwm`.
    pub device_rules: Reading<Vec<String>>,
}
