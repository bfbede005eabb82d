//! A Scene: what was seen of a machine over a window, ready to be judged.
//!
//! The list of sections is closed; each is a list of entities with readings, and a new source fills a section.

mod card;
mod cluster;
mod container;
mod figures;
mod host;
mod job;
mod neighbours;
mod process;
mod program;
mod provenance;
mod resources;
mod serving;
mod stack;
mod trace;

pub use card::{
    ActivityTrends, Card, Client, EccGrowth, NvLinkState, PcieErrorGrowth, PcieTraffic, ReasonShares,
    UnplacedClient, ViolationShares,
};
pub use cluster::{
    ClusterNode, NodeActivity, NodeCondition, NodeCounts, Queue, Quota, QuotaHolder, QuotaReach, Reservation,
    SchedulerState,
};
pub use container::{Container, ContainerEnd, ContainerState};
pub use figures::{Benchmark, Figures, Flow, MemberFigure, MemoryStep};
pub use host::{Disk, Driver, Host, JoinedPair, Machine, ModuleBuild, Paging, Pressures, ProcessLimit};
pub use job::{Job, JobPhase, JobUsage, Scheduler, WaitReason};
pub use neighbours::Interface;
pub use process::{Cgroup, IoRates, Process, StateShares, Thread, WaitChannel, Workload};
pub use program::{
    AllocatorState, ArchUnsupported, CollectiveTimeout, ContainerNotStarted, CudaError, ErrorClass,
    Exception, LimitHit, LogLine, MemoryOfProcess, NcclWay, OutOfCardMemory, PluginEvent, PluginReport,
    Preallocation, ProcessEnd, ProgramFact, ServerMemory, ServerState, Standing, StartObstacle, Step,
    TooManyWorkers, Wanted,
};
pub use provenance::{Provenance, SourceKind};
pub use resources::Resources;
pub use serving::{Serving, ServingBound, ServingLook, ServingTimes, TimeSpread};
pub use stack::{CallShare, Frame, Profile, ProfileKind, Stack};
pub use trace::{IdleTime, Trace};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;
use crate::process::Pid;
use crate::reading::Reading;
use crate::sample::{DeviceHolder, KernelLine, MountPoint, StuckCall};

closed_list! {
    /// The sections of a scene. A new one needs a note in `docs/decisions/`.
    pub enum SectionName {
        /// When and for how long was looked.
        Window = "window",
        /// The machine, its driver, who looks.
        Machine = "machine",
        /// Cards and instances.
        Cards = "cards",
        /// Processes.
        Processes = "processes",
        /// Process trees as a person thinks of them.
        Workloads = "workloads",
        /// Processors, memory, pressure.
        Host = "host",
        /// File systems.
        Mounts = "mounts",
        /// Network interfaces.
        Network = "network",
        /// Log lines of the kernel and of services.
        Events = "events",
        /// Jobs of a scheduler.
        Jobs = "jobs",
        /// Nodes of a cluster.
        Cluster = "cluster",
        /// Queues of a scheduler, their limits and reservations, the scheduler itself.
        Queues = "queues",
        /// Model servers.
        Serving = "serving",
        /// What the program itself says: logs, traces, stacks.
        Program = "program",
        /// Where all this comes from.
        Provenance = "provenance",
    }
}

/// What was seen of a machine over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scene {
    /// When and for how long was looked.
    pub window: Window,
    /// The machine, its driver, who looks.
    pub machine: Machine,
    /// Cards by index, instances behind their card.
    pub cards: Vec<Card>,
    /// Cards that no list of cards has: texts name them by their PCI address alone. Joining parts finds them; a machine
    /// that is looked at has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unlisted_cards: Vec<Card>,
    /// Processes on cards of which the input does not say the number; joining parts finds their cards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unplaced_clients: Vec<UnplacedClient>,
    /// GPU processes with their trees, by pid.
    pub processes: Vec<Process>,
    /// Process trees as a person thinks of them, by the pid of their root.
    pub workloads: Vec<Workload>,
    /// Who has device files of cards open, when all processes were swept.
    pub device_holders: Reading<Vec<DeviceHolder>>,
    /// Control groups that limit some of the processes.
    pub cgroups: Vec<Cgroup>,
    /// Processors, memory, pressure.
    pub host: Host,
    /// File systems.
    pub mounts: Reading<Vec<MountPoint>>,
    /// Network links, by name.
    pub network: Reading<Vec<Interface>>,
    /// Lines of the kernel log, oldest first; those before the window too.
    pub events: Reading<Vec<KernelLine>>,
    /// Jobs of a scheduler.
    pub jobs: Vec<Job>,
    /// Nodes of a cluster.
    pub cluster: Vec<ClusterNode>,
    /// Queues of a scheduler.
    pub queues: Vec<Queue>,
    /// Limits of what jobs may use.
    pub quotas: Vec<Quota>,
    /// Nodes that are kept for somebody.
    pub reservations: Vec<Reservation>,
    /// How the scheduler itself does.
    pub scheduler: SchedulerState,
    /// Model servers.
    pub serving: Vec<Serving>,
    /// What programs themselves said.
    pub program: Vec<LogLine>,
    /// Where threads of programs stood.
    pub stacks: Vec<Stack>,
    /// Where the time of programs went.
    pub profiles: Vec<Profile>,
    /// What traces of programs say of their cards.
    pub traces: Vec<Trace>,
    /// Where all this comes from.
    pub provenance: Provenance,
}

/// When and for how long was looked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// End of the window, UTC.
    pub taken_at: Timestamp,
    /// Seconds from the first sample to the last; 0 for a single look.
    pub span_s: f64,
    /// Number of samples.
    pub samples: usize,
    /// End of the window in nanoseconds since boot, where the input has it.
    pub end_boot_ns: Option<u64>,
}

impl Default for Window {
    fn default() -> Self {
        Self { taken_at: Timestamp::UNIX_EPOCH, span_s: 0.0, samples: 0, end_boot_ns: None }
    }
}

impl Scene {
    /// Returns the process with this number, if it was looked at.
    pub fn process(&self, pid: Pid) -> Option<&Process> {
        // Processes are sorted by pid.
        self.processes
            .binary_search_by_key(&pid, |process| process.key.pid)
            .ok()
            .map(|place| &self.processes[place])
    }

    /// Returns the workload that a process belongs to.
    pub fn workload_of(&self, pid: Pid) -> Option<&Workload> {
        // Most often it is one with a card that is asked for; these are few in each.
        let with_card = self.workloads.iter().find(|workload| workload.gpu_processes.contains(&pid));
        with_card.or_else(|| self.workloads.iter().find(|workload| workload.processes.contains(&pid)))
    }

    /// Returns the workloads that have a context on a card.
    pub fn workloads_on(&self, card: u32) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().filter(move |workload| workload.cards.contains(&card))
    }

    /// Returns the processes of a workload.
    pub fn processes_of<'scene>(
        &'scene self,
        workload: &'scene Workload,
    ) -> impl Iterator<Item = &'scene Process> {
        workload.processes.iter().filter_map(|pid| self.process(*pid))
    }

    /// Returns the card with this index.
    pub fn card(&self, index: u32) -> Option<&Card> {
        self.cards.iter().find(|card| card.index == index && card.parent.is_none())
    }

    /// Returns the calls into the driver that did not return.
    pub fn stuck_calls(&self) -> &[StuckCall] {
        &self.machine.driver.stuck_calls
    }
}
