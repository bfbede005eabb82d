//! A Sample: one instant of a machine, raw counters and states, every section with its own read time.
//!
//! A recording is a sequence of Samples (JSON lines), never Scenes or verdicts. Differences and trends are made
//! by [`crate::window`] alone.

mod card;
mod devices;
mod health;
mod host;
mod kernel;
mod link;
mod process;
mod role;

pub use card::{
    CardClient, CardKind, CardMemory, CardSample, ClientKind, ClockReasons, Clocks, NvmlSample, PowerLimits,
    ProcessUtilization, ReasonCounters, TemperatureLimits, TimedValue, Vendor,
};
pub use devices::{DiskSample, InterfaceKind, InterfaceSample, Paging, Service, Space};
pub use health::{
    Activity, Ecc, EccCounts, Fan, RemappedRows, RetiredPages, SpareRows, Violations, XidEvent,
};
pub use host::{
    CpuTimes, HostMemory, HostSample, MachineSample, MountPoint, PciDevice, Pressure, PressureLine, Viewer,
};
pub use kernel::{BusErrorSeverity, KernelFact, KernelLine, LogClock};
pub use link::{CardPair, CardPath, Fabric, FabricState, NvLink, NvLinkTraffic, PcieErrors, PcieLink};
pub use process::{
    CgroupSample, DeviceHolder, IoCounters, Owner, ProcessSample, ProcessState, ProcessTable, StuckCall,
    ThreadSample,
};
pub use role::ProcessRole;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reading::Reading;

/// The schema that a recording's lines follow.
pub const SAMPLE_SCHEMA: &str = "gpuwhy.sample/1";

/// When something was read: a steady clock for differences, a calendar time for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ReadTime {
    /// Nanoseconds since boot, time asleep included (`CLOCK_BOOTTIME`).
    pub boot_ns: u64,
    /// Calendar time, UTC.
    pub wall: Timestamp,
}

impl ReadTime {
    /// Returns the seconds from an earlier reading to this one; 0 when the clock did not move on.
    pub fn seconds_since(&self, earlier: &Self) -> f64 {
        self.boot_ns.saturating_sub(earlier.boot_ns) as f64 / 1e9
    }
}

impl Default for ReadTime {
    fn default() -> Self {
        Self { boot_ns: 0, wall: Timestamp::UNIX_EPOCH }
    }
}

/// One part of a sample, with the moment at which it was read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Section<T> {
    /// When the reading of this part began.
    pub read: ReadTime,
    /// The part, or why there is none.
    pub value: Reading<T>,
}

/// One instant of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Always [`SAMPLE_SCHEMA`].
    pub schema: String,
    /// When the sample was begun.
    pub taken: ReadTime,
    /// The machine and who looks at it.
    pub machine: Section<MachineSample>,
    /// What the NVIDIA library says.
    pub nvml: Section<NvmlSample>,
    /// Cards of other vendors, as the kernel shows them.
    #[serde(default)]
    pub other_cards: Section<Vec<CardSample>>,
    /// Calls into the driver that did not return.
    #[serde(default)]
    pub stuck_calls: Vec<StuckCall>,
    /// The processes that were looked at.
    pub processes: Section<ProcessTable>,
    /// Processors, memory, pressure.
    pub host: Section<HostSample>,
    /// Mounted file systems.
    #[serde(default)]
    pub mounts: Section<Vec<MountPoint>>,
    /// Lines of the kernel log that say something about cards, drivers or processes; new ones in each sample.
    #[serde(default)]
    pub kernel_log: Section<Vec<KernelLine>>,
}

impl Sample {
    /// Makes a sample in which nothing was read yet.
    pub fn empty(taken: ReadTime) -> Self {
        Self {
            schema: SAMPLE_SCHEMA.to_owned(),
            taken,
            machine: Section::default(),
            nvml: Section::default(),
            other_cards: Section::default(),
            stuck_calls: Vec::new(),
            processes: Section::default(),
            host: Section::default(),
            mounts: Section::default(),
            kernel_log: Section::default(),
        }
    }
}
