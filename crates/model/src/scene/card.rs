//! One card over a window.

use serde::{Deserialize, Serialize};

use crate::process::Pid;
use crate::reading::Reading;
use crate::sample::{
    CardKind, CardMemory, ClientKind, ClockReasons, Clocks, Ecc, Fabric, Fan, Owner, PcieLink, PowerLimits,
    RemappedRows, RetiredPages, TemperatureLimits, Vendor,
};
use crate::text::Arg;
use crate::trend::Trend;
use crate::units::{Bytes, BytesPerSecond, Celsius, Megahertz, Percent, Seconds, Share, Watts};

/// One card, or one instance of a card, over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Card {
    /// The library's index.
    pub index: u32,
    /// Whether no input gives its number: then `index` only tells it from the others and is never shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unnumbered: bool,
    /// Whether no list of cards has it: it stands in `Scene::unlisted_cards`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unlisted: bool,
    /// Who made it.
    pub vendor: Vendor,
    /// Whole card or instance.
    pub kind: CardKind,
    /// The whole card's index, for an instance.
    pub parent: Option<u32>,
    /// Whether the card answers, else what came back; the newest answer counts.
    pub handle: Reading<()>,
    /// `GPU-…` or `MIG-…`.
    pub uuid: Reading<String>,
    /// Product name.
    pub name: Reading<String>,
    /// PCI address, `0000:65:00.0`.
    pub pci_address: Reading<String>,
    /// The N of `/dev/nvidiaN`.
    pub minor: Reading<u32>,
    /// Frame buffer, newest.
    pub memory: Reading<CardMemory>,
    /// Used frame buffer over the window.
    pub memory_used: Reading<Trend<Bytes>>,
    /// The CPU's window into the card's memory, newest.
    pub bar1: Reading<CardMemory>,
    /// Of several texts the one in which that window was fullest; only where scenes are made of texts.
    #[serde(skip_serializing_if = "Reading::is_not_in_source")]
    pub bar1_most: Reading<CardMemory>,
    /// Share of time in which a kernel ran.
    pub busy: Reading<Trend<Percent>>,
    /// Share of time in which memory was read or written.
    pub memory_busy: Reading<Trend<Percent>>,
    /// For at least how long no kernel has run, up to the end of the window; 0 when one ran last.
    pub idle_for: Reading<Seconds>,
    /// Whether work was seen before that: then the time is exact, else it is only as far as was looked back.
    pub seen_working: bool,
    /// Power.
    pub power: Reading<Trend<Watts>>,
    /// Mean power over the window by the energy counter.
    pub mean_power_by_energy: Reading<Watts>,
    /// Power limits, newest.
    pub power_limits: PowerLimits,
    /// Core temperature.
    pub temperature: Reading<Trend<Celsius>>,
    /// Temperature of the memory.
    pub memory_temperature: Reading<Trend<Celsius>>,
    /// Temperature limits, newest.
    pub temperature_limits: TemperatureLimits,
    /// Fan speed, newest.
    pub fan: Reading<Percent>,
    /// The fans one by one, newest.
    pub fans: Reading<Vec<Fan>>,
    /// Multiprocessor clock.
    pub sm_clock: Reading<Trend<Megahertz>>,
    /// Clocks, newest.
    pub clocks: Clocks,
    /// P-state, newest.
    pub performance_state: Reading<u32>,
    /// Every reason bit that was seen in the window.
    pub clock_reasons: Reading<ClockReasons>,
    /// The reason bits that were seen at more than half of the looks: a change of the P-state may set one for a moment.
    pub lasting_clock_reasons: Reading<ClockReasons>,
    /// Share of the window in which each reason lowered the clocks, by the counters.
    pub reason_shares: ReasonShares,
    /// Share of the window in which the card was held back, by its own account.
    pub violation_shares: ViolationShares,
    /// What its parts did.
    pub activity: ActivityTrends,
    /// Share of time in which the video encoder worked.
    pub encoder: Reading<Trend<Percent>>,
    /// Share of time in which the video decoder worked.
    pub decoder: Reading<Trend<Percent>>,
    /// PCIe link, newest.
    pub pcie: PcieLink,
    /// PCIe replays in the window.
    pub pcie_replays: Reading<u64>,
    /// What went over the PCIe link in the window.
    pub pcie_traffic: PcieTraffic,
    /// Errors of the PCIe link in the window.
    pub pcie_errors: PcieErrorGrowth,
    /// `NVLinks`, by number; unsupported: the product has none.
    pub nvlinks: Reading<Vec<NvLinkState>>,
    /// Into the card, over all `NVLinks`.
    pub nvlink_received: Reading<BytesPerSecond>,
    /// Out of the card, over all `NVLinks`.
    pub nvlink_sent: Reading<BytesPerSecond>,
    /// Its place in the fabric, newest.
    pub fabric: Reading<Fabric>,
    /// Error correction, newest.
    pub ecc: Ecc,
    /// Memory errors in the window.
    pub ecc_growth: EccGrowth,
    /// Rows that were replaced, newest.
    pub remapped_rows: Reading<RemappedRows>,
    /// Pages that are not used any more, newest.
    pub retired_pages: Reading<RetiredPages>,
    /// Version of the card's own configuration store, newest; a damaged one fails with NVML's code 14.
    pub inforom: Reading<String>,
    /// Compute mode, newest.
    pub compute_mode: Reading<String>,
    /// Persistence mode, newest.
    pub persistence: Reading<bool>,
    /// Whether multi-instance mode is on.
    pub mig_enabled: Reading<bool>,
    /// Whether it will be on after the next reset.
    pub mig_pending: Reading<bool>,
    /// Whether a display shows a picture of the card, newest.
    pub display_active: Reading<bool>,
    /// Compute capability, as `9.0`.
    pub compute_capability: Reading<String>,
    /// Processes that have a context on the card, newest list, by pid.
    pub clients: Reading<Vec<Client>>,
    /// Used memory that no listed process holds.
    pub unexplained: Reading<Bytes>,
    /// To whom a scheduler has given it, as an exporter says it; the pod is named with its namespace.
    pub given_to: Reading<Owner>,
}

impl Card {
    /// Stands in commands for the number of a card of which no input gives number, address or unique name.
    pub const NUMBER_TO_FIND: &str = "N";

    /// Returns what people and tools call the card: its number, else its PCI address or unique name.
    pub fn called(&self) -> String {
        if !self.is_unnumbered {
            return self.index.to_string();
        }
        self.unique_name().unwrap_or(Self::NUMBER_TO_FIND).to_owned()
    }

    /// Returns what a sentence or a command calls the card.
    pub fn shown(&self) -> Arg {
        if self.is_unnumbered { Arg::Raw(self.called()) } else { Arg::from(self.index) }
    }

    /// Returns whether no input says which card it is.
    pub fn is_nameless(&self) -> bool {
        self.is_unnumbered && self.unique_name().is_none()
    }

    fn unique_name(&self) -> Option<&str> {
        self.pci_address.known().or(self.uuid.known()).map(String::as_str)
    }

    /// Returns mean power as a share of the enforced limit.
    pub fn power_ratio(&self) -> Reading<f64> {
        let limit = self.power_limits.enforced.as_ref().copied();
        self.power.as_ref().copied().and_then(|power| limit.map(|limit| power.mean.0 / limit.0))
    }

    /// Returns used memory as a share of all memory.
    pub fn memory_share(&self) -> Reading<f64> {
        self.memory.as_ref().map(|memory| memory.used.0 as f64 / memory.total.0.max(1) as f64)
    }

    /// Returns the listed clients; none when the list could not be read.
    pub fn known_clients(&self) -> &[Client] {
        self.clients.known().map_or(&[], Vec::as_slice)
    }
}

/// One process that has a context on a card, over a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its number as the driver gives it.
    pub pid: Pid,
    /// Compute or graphics.
    pub kind: ClientKind,
    /// Frame buffer it holds.
    #[serde(default)]
    pub memory: Reading<Bytes>,
    /// Frame buffer it held over the window.
    #[serde(default)]
    pub memory_trend: Reading<Trend<Bytes>>,
    /// The name that the driver or tool shows, where an input gives one.
    #[serde(default)]
    pub name: Reading<String>,
    /// Share of time in which its kernels ran, over the periods that the driver reported in the window.
    #[serde(default)]
    pub sm: Reading<Trend<Percent>>,
    /// For at least how long it has not worked, up to the end of the window; 0 when it worked last.
    #[serde(default)]
    pub idle_for: Reading<Seconds>,
    /// Whether work was seen before that: then the time is exact, else it is only as far as was looked back.
    #[serde(default)]
    pub seen_working: bool,
}

/// A process on a card of which the input does not say the number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnplacedClient {
    /// The card's UUID, where the input has it.
    #[serde(default)]
    pub card_uuid: Option<String>,
    /// The card's PCI address, where the input has it.
    #[serde(default)]
    pub card_address: Option<String>,
    /// The process.
    pub client: Client,
}

impl Client {
    /// Returns a process of which nothing more is known.
    pub fn of(pid: Pid, kind: ClientKind) -> Self {
        Self {
            pid,
            kind,
            memory: Reading::default(),
            memory_trend: Reading::default(),
            name: Reading::default(),
            sm: Reading::default(),
            idle_for: Reading::default(),
            seen_working: false,
        }
    }
}

/// Share of the window in which each reason lowered the clocks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReasonShares {
    /// Software power cap.
    pub software_power_cap: Reading<Share>,
    /// Sync boost.
    pub sync_boost: Reading<Share>,
    /// Software thermal slowdown.
    pub software_thermal: Reading<Share>,
    /// Hardware thermal slowdown.
    pub hardware_thermal: Reading<Share>,
    /// Hardware power brake.
    pub power_brake: Reading<Share>,
}

/// Share of the window in which the card was held back, by its own account (`nvmlDeviceGetViolationStatus`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViolationShares {
    /// Power.
    pub power: Reading<Share>,
    /// Heat.
    pub thermal: Reading<Share>,
    /// The board's own limit.
    pub board_limit: Reading<Share>,
    /// Voltage kept low for reliability.
    pub reliability: Reading<Share>,
}

/// What the parts of a card did over the window, in hundredths.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActivityTrends {
    /// Multiprocessors with at least one warp.
    pub sm_active: Reading<Trend<Percent>>,
    /// Warps in flight, of those that could be.
    pub sm_occupancy: Reading<Trend<Percent>>,
    /// Matrix units.
    pub tensor_active: Reading<Trend<Percent>>,
    /// The memory interface.
    pub dram_active: Reading<Trend<Percent>>,
}

/// What went over a card's PCIe link in the window: by counters where the card has them, else the mean of the short
/// measurements.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PcieTraffic {
    /// From the host to the card.
    pub to_card: Reading<BytesPerSecond>,
    /// From the card to the host.
    pub to_host: Reading<BytesPerSecond>,
    /// Whether both come from counters, so that the whole window counts.
    pub is_by_counters: bool,
}

/// Errors of a card's PCIe link in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PcieErrorGrowth {
    /// Corrected ones.
    pub corrected: Reading<u64>,
    /// Ones that lost something, but not the link.
    pub non_fatal: Reading<u64>,
    /// Ones that lost the link.
    pub fatal: Reading<u64>,
}

/// Memory errors in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EccGrowth {
    /// Corrected ones.
    pub corrected: Reading<u64>,
    /// Ones that were not corrected: data were lost.
    pub uncorrected: Reading<u64>,
}

/// One `NVLink` over the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NvLinkState {
    /// Its number on the card.
    pub link: u32,
    /// Whether it is up, newest.
    pub active: Reading<bool>,
    /// Generation of the link.
    pub version: Reading<u32>,
    /// What it leads to: `gpu`, `switch`, `npu` …
    pub remote: Reading<String>,
    /// Data that arrived damaged, ever.
    pub crc_errors: Reading<u64>,
    /// Data that arrived damaged in the window.
    pub crc_growth: Reading<u64>,
    /// Packets that were sent again in the window.
    pub replay_growth: Reading<u64>,
    /// Times that the link was trained anew in the window.
    pub recovery_growth: Reading<u64>,
}
