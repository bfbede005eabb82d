//! One card over a window.

use serde::{Deserialize, Serialize};

use crate::process::Pid;
use crate::reading::Reading;
use crate::sample::{
    CardKind, CardMemory, ClientKind, ClockReasons, Clocks, PcieLink, PowerLimits, TemperatureLimits,
};
use crate::trend::Trend;
use crate::units::{Bytes, Celsius, Megahertz, Percent, Seconds, Share, Watts};

/// One card, or one instance of a card, over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Card {
    /// The library's index.
    pub index: u32,
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
    /// Temperature limits, newest.
    pub temperature_limits: TemperatureLimits,
    /// Fan speed, newest.
    pub fan: Reading<Percent>,
    /// Multiprocessor clock.
    pub sm_clock: Reading<Trend<Megahertz>>,
    /// Clocks, newest.
    pub clocks: Clocks,
    /// P-state, newest.
    pub performance_state: Reading<u32>,
    /// Every reason bit that was seen in the window.
    pub clock_reasons: Reading<ClockReasons>,
    /// Share of the window in which each reason lowered the clocks, by the counters.
    pub reason_shares: ReasonShares,
    /// PCIe link, newest.
    pub pcie: PcieLink,
    /// PCIe replays in the window.
    pub pcie_replays: Reading<u64>,
    /// Compute mode, newest.
    pub compute_mode: Reading<String>,
    /// Persistence mode, newest.
    pub persistence: Reading<bool>,
    /// Whether multi-instance mode is on.
    pub mig_enabled: Reading<bool>,
    /// Processes that have a context on the card, newest list, by pid.
    pub clients: Reading<Vec<Client>>,
    /// Used memory that no listed process holds.
    pub unexplained: Reading<Bytes>,
}

impl Card {
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
