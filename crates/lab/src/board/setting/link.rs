//! Links of a card: PCI Express, NVLink, and the fabric behind it.

use serde::{Deserialize, Serialize};

use super::is_default;

/// Errors of the PCI Express link since the driver was loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PcieErrors {
    /// Corrected errors.
    #[serde(skip_serializing_if = "is_default")]
    pub correctable: u64,
    /// Further corrected errors per second; half of them are bad packets, half bad link-layer packets.
    #[serde(skip_serializing_if = "is_default")]
    pub correctable_per_s: f64,
    /// Errors that the link survived without correcting them.
    #[serde(skip_serializing_if = "is_default")]
    pub non_fatal: u64,
    /// Errors that the link did not survive.
    #[serde(skip_serializing_if = "is_default")]
    pub fatal: u64,
    /// Requests that nobody answers.
    #[serde(skip_serializing_if = "is_default")]
    pub unsupported_requests: u64,
    /// Times that the link had to find itself again.
    #[serde(skip_serializing_if = "is_default")]
    pub recoveries: u64,
    /// Further such times per second.
    #[serde(skip_serializing_if = "is_default")]
    pub recoveries_per_s: f64,
}

/// What differs from a product's healthy NVLink.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NvLinkSetting {
    /// A bridge joins this card and its neighbour; only for products whose links need one.
    #[serde(skip_serializing_if = "is_default")]
    pub bridged: bool,
    /// Links that are down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<u32>,
    /// The link on which the errors below happen (0 when absent).
    #[serde(skip_serializing_if = "is_default")]
    pub faulty_link: u32,
    /// Checksum errors since the driver was loaded.
    #[serde(skip_serializing_if = "is_default")]
    pub checksum_errors: u64,
    /// Further checksum errors per second.
    #[serde(skip_serializing_if = "is_default")]
    pub checksum_errors_per_s: f64,
    /// Replays since the driver was loaded.
    #[serde(skip_serializing_if = "is_default")]
    pub replays: u64,
    /// Further replays per second.
    #[serde(skip_serializing_if = "is_default")]
    pub replays_per_s: f64,
    /// Recoveries since the driver was loaded.
    #[serde(skip_serializing_if = "is_default")]
    pub recoveries: u64,
    /// Further recoveries per second.
    #[serde(skip_serializing_if = "is_default")]
    pub recoveries_per_s: f64,
    /// Links that run at half of their speed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<u32>,
}

/// How a card stands in the `NVSwitch` fabric, where the product has one.
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the board file")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FabricSetting {
    /// How far the card's registration came (as the fabric manager's state says when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<FabricState>,
    /// NVML's code for how the registration ended.
    #[serde(skip_serializing_if = "is_default")]
    pub status: u32,
    /// Less bandwidth than there should be.
    #[serde(skip_serializing_if = "is_default")]
    pub degraded_bandwidth: bool,
    /// Routes are being repaired.
    #[serde(skip_serializing_if = "is_default")]
    pub route_recovery: bool,
    /// A route is broken.
    #[serde(skip_serializing_if = "is_default")]
    pub route_unhealthy: bool,
    /// Accesses are being repaired after a time-out.
    #[serde(skip_serializing_if = "is_default")]
    pub access_timeout_recovery: bool,
    /// NVML's number of what is wrongly configured (2 to 5), 0 for nothing.
    #[serde(skip_serializing_if = "is_default")]
    pub misconfiguration: u32,
}

/// How far the registration of a card with the fabric came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FabricState {
    /// Nobody began it.
    NotStarted,
    /// It goes on.
    InProgress,
    /// It is done.
    Completed,
}
