//! Processes at one instant.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command_line::CommandLine;
use crate::process::Pid;
use crate::reading::Reading;
use crate::sample::ProcessRole;

/// The processes that a sample looked at.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessTable {
    /// GPU processes with their trees (parents up to init, children down), by pid.
    pub processes: Vec<ProcessSample>,
    /// How many processes `/proc` listed, looked at or not.
    pub listed: Reading<u64>,
    /// Who has a device file of a card open, from a sweep over all processes.
    pub device_holders: Reading<Vec<DeviceHolder>>,
    /// Control groups of the processes above that say something about limits or pressure.
    pub cgroups: Vec<CgroupSample>,
}

/// Scheduler state of a process or thread (`/proc/PID/stat` field 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// R
    Running,
    /// S
    Sleeping,
    /// D: uninterruptible, mostly I/O or the driver.
    Blocked,
    /// Z: dead, not yet collected by its parent.
    Zombie,
    /// T or t
    Stopped,
    /// I
    Idle,
    /// X
    Dead,
}

/// One process at one instant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessSample {
    /// Process number.
    pub pid: Pid,
    /// Start, in clock ticks since boot.
    pub start_ticks: u64,
    /// Parent.
    pub parent: Pid,
    /// Process group.
    pub group: Pid,
    /// Session.
    pub session: Pid,
    /// Controlling terminal (device number); 0: none.
    pub terminal: i64,
    /// State of its main thread.
    pub state: Reading<ProcessState>,
    /// `comm`, control characters escaped.
    pub name: String,
    /// What it is for, as far as its name and arguments tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<ProcessRole>,
    /// Real user id of its owner.
    pub uid: Reading<u32>,
    /// The owner's name.
    pub user: Reading<String>,
    /// Arguments, masked.
    pub command: Reading<CommandLine>,
    /// Path of its program (`/proc/PID/exe`).
    pub executable: Reading<String>,
    /// Its paths in the control-group hierarchies, by controller list (`""` is v2).
    pub cgroups: Reading<BTreeMap<String, String>>,
    /// Where it belongs, as far as its control groups and environment tell.
    #[serde(skip_serializing_if = "Owner::is_nobody")]
    pub owner: Owner,
    /// Allowed environment variables that are set (names of an allow-list only).
    pub environment: Reading<BTreeMap<String, String>>,
    /// Pid namespace numbers, outermost first (`NSpid`).
    pub namespace_pids: Reading<Vec<u32>>,
    /// Processor time of all its threads, user and system, in clock ticks.
    pub cpu_ticks: u64,
    /// Number of threads.
    pub thread_count: u64,
    /// Time blocked on block devices, in clock ticks; unsupported where delay accounting is off.
    pub block_delay_ticks: Reading<u64>,
    /// Time its main thread waited for a processor, in nanoseconds (`schedstat`).
    pub run_delay_ns: Reading<u64>,
    /// I/O counters.
    pub io: Reading<IoCounters>,
    /// Kernel function in which the main thread waits.
    pub wait_channel: Reading<String>,
    /// Resident memory in bytes.
    pub resident: Reading<u64>,
    /// Memory that it shares with others (`/dev/shm` and the like), in bytes.
    pub shared_resident: Reading<u64>,
    /// Memory of it that was sent to swap, in bytes.
    pub swapped: Reading<u64>,
    /// Page faults that had to wait for a disk, ever.
    pub major_faults: Reading<u64>,
    /// On how many processors it may run.
    pub cpus_allowed: Reading<u32>,
    /// Network connections that it has open.
    pub open_sockets: Reading<u64>,
    /// Libraries of CUDA and of frameworks that it has loaded (file names), sorted, each once.
    pub libraries: Reading<Vec<String>>,
    /// Mount points of regular files it has open, with the number of files.
    pub file_mounts: Reading<BTreeMap<String, u64>>,
    /// Its threads, where they were looked at.
    pub threads: Reading<Vec<ThreadSample>>,
}

/// Where a process belongs; what is not known, or is not so, is none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Owner {
    /// Id or name of its container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Unique id of its pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// Job of a scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// systemd unit that holds this one piece of work; none where a unit holds the work of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Login session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Owner {
    /// Returns whether nothing is known.
    pub const fn is_nobody(&self) -> bool {
        self.container.is_none()
            && self.pod.is_none()
            && self.job.is_none()
            && self.unit.is_none()
            && self.session.is_none()
    }

    /// Returns this with what is missing taken from another one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            container: self.container.or(other.container),
            pod: self.pod.or(other.pod),
            job: self.job.or(other.job),
            unit: self.unit.or(other.unit),
            session: self.session.or(other.session),
        }
    }
}

/// `/proc/PID/io`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IoCounters {
    /// All bytes asked for by read calls, page cache and network file systems included.
    pub read_chars: u64,
    /// All bytes given to write calls.
    pub written_chars: u64,
    /// Bytes really fetched from storage.
    pub read_bytes: u64,
    /// Bytes really sent to storage.
    pub written_bytes: u64,
}

/// One thread at one instant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThreadSample {
    /// Thread number.
    pub tid: Pid,
    /// `comm`, control characters escaped.
    pub name: String,
    /// State.
    pub state: Reading<ProcessState>,
    /// Processor time, user and system, in clock ticks.
    pub cpu_ticks: u64,
    /// Time waited for a processor, in nanoseconds.
    pub run_delay_ns: Reading<u64>,
    /// Kernel function in which it waits.
    pub wait_channel: Reading<String>,
}

/// A process that has a device file of a card open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceHolder {
    /// Process number.
    pub pid: Pid,
    /// Start, in clock ticks since boot.
    pub start_ticks: u64,
    /// The device files (`/dev/nvidia0`, `/dev/nvidia-uvm` …), each once, sorted.
    pub devices: Vec<String>,
}

/// A control group that limits or weighs some of the looked-at processes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CgroupSample {
    /// Its path in the hierarchy, as `/proc/PID/cgroup` gives it.
    pub path: String,
    /// Processor quota in cores; unsupported: no quota is set.
    pub cpu_quota_cores: Reading<f64>,
    /// Scheduling periods so far.
    pub cpu_periods: Reading<u64>,
    /// Scheduling periods in which it was stopped at its quota.
    pub cpu_throttled_periods: Reading<u64>,
    /// Time it was stopped at its quota, in nanoseconds.
    pub cpu_throttled_ns: Reading<u64>,
    /// Total time some task of it waited for I/O, in microseconds.
    pub io_some_us: Reading<u64>,
    /// Total time some task of it waited for a processor, in microseconds.
    pub cpu_some_us: Reading<u64>,
    /// Total time some task of it waited for memory, in microseconds.
    pub memory_some_us: Reading<u64>,
    /// Memory that it may use, in bytes; unsupported: no limit is set.
    pub memory_limit: Reading<u64>,
    /// Memory that it uses, in bytes.
    pub memory_used: Reading<u64>,
    /// How often it came up against its memory limit, ever.
    pub memory_limit_hits: Reading<u64>,
    /// How many of its processes were ended for want of memory, ever.
    pub oom_kills: Reading<u64>,
    /// Tasks that it may have; unsupported: no limit is set.
    pub tasks_limit: Reading<u64>,
    /// Tasks that it has.
    pub tasks: Reading<u64>,
    /// How often it was refused a task for that limit, ever.
    pub tasks_refused: Reading<u64>,
}

/// A call into the driver that did not return in time.
#[expect(clippy::struct_excessive_bools, reason = "each is one fact about the call")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StuckCall {
    /// The process of ours that made the call.
    pub pid: Pid,
    /// Its start, in clock ticks since boot.
    pub start_ticks: u64,
    /// The call; none where the process belongs to an earlier run and left no word.
    pub call: Option<String>,
    /// The card's index, where the call was about one.
    pub card: Option<u32>,
    /// How long the call has not returned, in seconds.
    pub for_s: f64,
    /// Whether the process belongs to an earlier run of gpuwhy.
    pub from_earlier_run: bool,
    /// Whether the process is still there although it was killed.
    pub survived_kill: bool,
    /// Whether the call has returned since: it was slow, it does not hang.
    #[serde(default)]
    pub has_returned: bool,
    /// Whether the call may still be waking a card that nothing kept initialised: it has not had the time for that.
    #[serde(default)]
    pub may_be_waking: bool,
    /// Its state.
    pub state: Reading<ProcessState>,
    /// Kernel function in which it waits.
    pub wait_channel: Reading<String>,
}
