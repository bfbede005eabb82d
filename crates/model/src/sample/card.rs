//! One card at one instant, as its driver library answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::Pid;
use crate::reading::Reading;
use crate::sample::health::{Activity, Ecc, Fan, RemappedRows, RetiredPages, Violations, XidEvent};
use crate::sample::link::{CardPair, Fabric, NvLink, NvLinkTraffic, PcieLink};
use crate::units::{Bytes, Celsius, Joules, Megahertz, Percent, Watts};

/// Everything that one sweep over the NVIDIA library gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvmlSample {
    /// Driver version (`nvmlSystemGetDriverVersion`).
    pub driver_version: Reading<String>,
    /// Library version (`nvmlSystemGetNVMLVersion`).
    pub library_version: Reading<String>,
    /// Highest CUDA version of the driver, as `13.0` (`nvmlSystemGetCudaDriverVersion_v2`).
    pub cuda_version: Reading<String>,
    /// How long `nvmlInit_v2` took, and waking cards that nothing kept initialised, in milliseconds.
    pub init_ms: u64,
    /// How many cards the library counts.
    pub card_count: Reading<u32>,
    /// The cards, by index; instances behind their card.
    pub cards: Vec<CardSample>,
    /// The ways between cards.
    pub pairs: Reading<Vec<CardPair>>,
    /// Error events since the previous sample.
    pub xid_events: Reading<Vec<XidEvent>>,
}

impl NvmlSample {
    /// No machine has more whole cards.
    pub const CARDS_MAX: u32 = 256;
    /// No machine has more whole cards and instances: a card has seven instances at most.
    pub const PARTS_MAX: u32 = 8 * Self::CARDS_MAX;
}

/// Whose card it is, as far as the input says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// A whole card.
    #[default]
    Card,
    /// A part of a card in multi-instance mode.
    MigInstance,
}

/// Who made a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    /// NVIDIA.
    #[default]
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
    /// Somebody else.
    Other,
}

/// One card at one instant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CardSample {
    /// The library's index.
    pub index: u32,
    /// Who made it.
    pub vendor: Vendor,
    /// Whole card or instance.
    pub kind: CardKind,
    /// The whole card's index, for an instance.
    pub parent: Option<u32>,
    /// Whether the card answers: known when the handle could be had, else what came back.
    pub handle: Reading<()>,
    /// `GPU-…` or `MIG-…`.
    pub uuid: Reading<String>,
    /// Product name.
    pub name: Reading<String>,
    /// PCI address, `0000:65:00.0`, lower case, four-digit domain.
    pub pci_address: Reading<String>,
    /// The N of `/dev/nvidiaN`.
    pub minor: Reading<u32>,
    /// Frame buffer.
    pub memory: Reading<CardMemory>,
    /// The CPU's window into the card's memory; `reserved` is not used.
    pub bar1: Reading<CardMemory>,
    /// Share of the last sample period in which a kernel ran.
    pub busy: Reading<Percent>,
    /// Share of the last sample period in which memory was read or written.
    pub memory_busy: Reading<Percent>,
    /// The driver's own buffer of `busy` (`nvmlDeviceGetSamples`), oldest first.
    pub busy_samples: Reading<Vec<TimedValue>>,
    /// The driver's own buffer of `memory_busy`, oldest first.
    pub memory_busy_samples: Reading<Vec<TimedValue>>,
    /// Power drawn now (averaged by the card as its product does).
    pub power: Reading<Watts>,
    /// Power limits.
    pub power_limits: PowerLimits,
    /// Energy since the driver was loaded.
    pub energy: Reading<Joules>,
    /// Core temperature.
    pub temperature: Reading<Celsius>,
    /// Temperature of the memory.
    pub memory_temperature: Reading<Celsius>,
    /// Temperature limits.
    pub temperature_limits: TemperatureLimits,
    /// Fan speed as intended by the card.
    pub fan: Reading<Percent>,
    /// The fans one by one; empty for a card without any.
    pub fans: Reading<Vec<Fan>>,
    /// Clocks.
    pub clocks: Clocks,
    /// P-state, 0 (fastest) to 15.
    pub performance_state: Reading<u32>,
    /// Why clocks are not higher, now.
    pub clock_reasons: Reading<ClockReasons>,
    /// How long each reason has held, ever.
    pub reason_counters: ReasonCounters,
    /// How long the card was held back, ever.
    pub violations: Violations,
    /// What its parts did.
    pub activity: Activity,
    /// Share of the last sample period in which the video encoder worked.
    pub encoder: Reading<Percent>,
    /// Share of the last sample period in which the video decoder worked.
    pub decoder: Reading<Percent>,
    /// PCIe link.
    pub pcie: PcieLink,
    /// `NVLinks`, by number; unsupported: the product has none.
    pub nvlinks: Reading<Vec<NvLink>>,
    /// What went over them.
    pub nvlink_traffic: NvLinkTraffic,
    /// Its place in the fabric.
    pub fabric: Reading<Fabric>,
    /// Error correction.
    pub ecc: Ecc,
    /// Rows that were replaced.
    pub remapped_rows: Reading<RemappedRows>,
    /// Pages that are not used any more.
    pub retired_pages: Reading<RetiredPages>,
    /// Version of the card's own configuration store; a damaged one fails with NVML's code 14.
    pub inforom: Reading<String>,
    /// `default`, `exclusive_process`, `prohibited` …
    pub compute_mode: Reading<String>,
    /// Whether the driver keeps the card initialised between uses.
    pub persistence: Reading<bool>,
    /// Whether multi-instance mode is on.
    pub mig_enabled: Reading<bool>,
    /// Whether it will be on after the next reset.
    pub mig_pending: Reading<bool>,
    /// Whether a display shows a picture of the card.
    pub display_active: Reading<bool>,
    /// Compute capability, as `9.0`.
    pub compute_capability: Reading<String>,
    /// Processes that have a context on the card.
    pub clients: Reading<Vec<CardClient>>,
    /// Per-process work since the previous sample; only processes that worked appear.
    pub client_work: Reading<Vec<ProcessUtilization>>,
}

/// How a card's memory is divided.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CardMemory {
    /// All of it.
    pub total: Bytes,
    /// Taken by driver and firmware.
    pub reserved: Reading<Bytes>,
    /// Allocated; without `reserved` where that is known.
    pub used: Bytes,
    /// Not allocated.
    pub free: Bytes,
}

/// A value with the card's own time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimedValue {
    /// Microseconds of the host's calendar clock.
    pub time_us: u64,
    /// The value in the unit of its series.
    pub value: f64,
}

/// Power limits of a card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PowerLimits {
    /// The limit in force, out-of-band caps included.
    pub enforced: Reading<Watts>,
    /// The product's default.
    pub default: Reading<Watts>,
    /// The highest that can be set.
    pub maximum: Reading<Watts>,
    /// The limit that was asked for; above the one in force where something out of band caps it.
    pub requested: Reading<Watts>,
}

/// Temperatures at which a card protects itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TemperatureLimits {
    /// Clocks are cut from here on.
    pub slowdown: Reading<Celsius>,
    /// The card turns itself off.
    pub shutdown: Reading<Celsius>,
    /// Margin left to the highest operating temperature; 0 or below: clocks may be cut.
    pub margin: Reading<Celsius>,
    /// Highest temperature that the core may work at.
    pub operating_maximum: Reading<Celsius>,
    /// Highest temperature that the memory may work at.
    pub memory_maximum: Reading<Celsius>,
}

/// Clock frequencies now and at most.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Clocks {
    /// Multiprocessor clock.
    pub sm: Reading<Megahertz>,
    /// Its highest value.
    pub sm_max: Reading<Megahertz>,
    /// Memory clock.
    pub memory: Reading<Megahertz>,
    /// Its highest value.
    pub memory_max: Reading<Megahertz>,
}

/// The bits of `nvmlDeviceGetCurrentClocksEventReasons`; unknown bits are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ClockReasons(pub u64);

impl ClockReasons {
    /// Nothing runs.
    pub const IDLE: u64 = 0x1;
    /// Someone set application clocks.
    pub const APPLICATION_CLOCKS: u64 = 0x2;
    /// The driver keeps the card inside its power limit.
    pub const SOFTWARE_POWER_CAP: u64 = 0x4;
    /// The hardware slowed down, for heat, brake or current.
    pub const HARDWARE_SLOWDOWN: u64 = 0x8;
    /// Clocks are kept equal in a group.
    pub const SYNC_BOOST: u64 = 0x10;
    /// The driver slowed down for heat.
    pub const SOFTWARE_THERMAL: u64 = 0x20;
    /// The hardware slowed down for heat.
    pub const HARDWARE_THERMAL: u64 = 0x40;
    /// The brake from outside.
    pub const POWER_BRAKE: u64 = 0x80;

    /// Returns whether all the given bits are set.
    pub const fn has(self, bits: u64) -> bool {
        self.0 & bits == bits
    }
}

/// How long each reason has lowered the clocks, in nanoseconds since the driver was loaded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReasonCounters {
    /// Software power cap.
    pub software_power_cap_ns: Reading<u64>,
    /// Sync boost.
    pub sync_boost_ns: Reading<u64>,
    /// Software thermal slowdown.
    pub software_thermal_ns: Reading<u64>,
    /// Hardware thermal slowdown.
    pub hardware_thermal_ns: Reading<u64>,
    /// Hardware power brake.
    pub power_brake_ns: Reading<u64>,
}

/// What kind of context a process has on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// Compute context.
    Compute,
    /// Graphics context.
    Graphics,
    /// Client of the multi-process service.
    Mps,
}

/// One process that has a context on a card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CardClient {
    /// Its number as the driver gives it (initial pid namespace).
    pub pid: Pid,
    /// Compute or graphics.
    pub kind: ClientKind,
    /// Frame buffer it holds.
    #[serde(default)]
    pub memory: Reading<Bytes>,
    /// The name that the driver or tool shows, where an input gives one.
    #[serde(default)]
    pub name: Reading<String>,
}

/// How much one process worked on a card in one of the driver's sample periods.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUtilization {
    /// Its number as the driver gives it.
    pub pid: Pid,
    /// The driver's time stamp, microseconds of the host's calendar clock.
    pub time_us: u64,
    /// Share of the period in which its kernels ran.
    pub sm: Percent,
    /// Share of the period in which it used memory.
    pub memory: Percent,
}
