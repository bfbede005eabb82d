//! What a board file says about one card: a product and what differs from a healthy one.

mod health;
mod instances;
mod link;

use serde::{Deserialize, Serialize};

pub use health::{EccSetting, ErrorCounts, RepairSetting};
pub use instances::MigSetting;
pub use link::{FabricSetting, FabricState, NvLinkSetting, PcieErrors};

/// A card as the board file has it: a profile name and what differs from it.
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the board file")]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardSetting {
    /// Name of the product profile, e.g. `a100-sxm4-80gb`.
    pub profile: String,
    /// How many cards of this kind follow each other (1 when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// Frame buffer in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Memory taken by one CUDA context, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_mib: Option<u64>,
    /// BAR1 aperture in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar1_mib: Option<u64>,
    /// BAR1 that is mapped beyond what driver and contexts map, in MiB.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bar1_used_mib: u64,
    /// Power limit that somebody set, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// Limit that is enforced although another was set (out-of-band caps), in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforced_power_limit_w: Option<f64>,
    /// Power cannot be read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub power_readings_fail: bool,
    /// Highest SM clock that somebody allowed (locked clocks), in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_limit_mhz: Option<u32>,
    /// The clock limit is no setting that the card names as a reason: it is slow and says nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock_limit_is_silent: bool,
    /// The card never leaves this performance state (8 is slow), whatever runs on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_state: Option<u32>,
    /// The utilization counter shows this percentage all the time, whatever runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_utilization: Option<u32>,
    /// Highest link generation of slot and card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_generation: Option<u32>,
    /// Most lanes of slot and card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_width: Option<u32>,
    /// Highest link generation of the card alone (its product's when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_card_generation: Option<u32>,
    /// Generation that the link really runs at under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_current_generation: Option<u32>,
    /// Lanes that the link really uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_current_width: Option<u32>,
    /// Link replays per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_replays_per_s: Option<f64>,
    /// Errors of the PCIe link.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pcie_errors: PcieErrors,
    /// NUMA node that the card hangs on; unknown (-1) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// NVLink.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nvlink: NvLinkSetting,
    /// Place of the card in the `NVSwitch` fabric.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fabric: FabricSetting,
    /// PCI bus number; domain and device are 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_bus: Option<u8>,
    /// `GPU-…` name of the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Air temperature in front of the card, in degrees Celsius (28 when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambient_c: Option<f64>,
    /// Temperature when the box comes up, in degrees Celsius (that of an idle card when absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_c: Option<f64>,
    /// The memory is so much hotter than on a healthy card, in kelvin.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory_hotter_c: f64,
    /// The fans stand still although they should turn, or the chassis blows no air through a card without fan.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fan_failed: bool,
    /// What a card with failed fans says of their speed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fan_says: FailedFan,
    /// A power brake is asserted from outside (power supply, chassis).
    #[serde(default, skip_serializing_if = "is_default")]
    pub power_brake: bool,
    /// The hardware halves clocks without heat and without a brake (protection against current spikes).
    #[serde(default, skip_serializing_if = "is_default")]
    pub hw_slowdown: bool,
    /// Another card of a sync-boost group keeps this one's clocks low.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync_boost: bool,
    /// The card is lost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: bool,
    /// The card is lost so many seconds after the box came up; 0 for a card that is lost from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after_s: Option<f64>,
    /// The card is on the PCI bus, but the driver does not enumerate it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: bool,
    /// A client that dies leaves its memory and its row in the process list behind.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keeps_memory_after_death: bool,
    /// A display is attached and active.
    #[serde(default, skip_serializing_if = "is_default")]
    pub display: bool,
    /// Compute mode of NVML: 0 default, 2 prohibited, 3 exclusive process.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compute_mode: u32,
    /// MIG.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mig: MigSetting,
    /// Memory errors.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecc: EccSetting,
    /// What was repaired, or waits for it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repair: RepairSetting,
    /// The checksum of the `InfoROM` is wrong.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inforom_corrupt: bool,
    /// What the driver asks for: 0 nothing, 1 reset, 2 reboot, 3 drain peers, 4 drain and reset.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recovery_action: u32,
}

/// What a card says of the speed of fans that stand still.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailedFan {
    /// The speed that is wanted, and 0 revolutions per minute.
    #[default]
    NoTurns,
    /// The call fails (`ERR!`).
    Error,
}

/// Whether a key need not be written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
