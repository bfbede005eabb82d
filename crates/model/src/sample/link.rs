//! How cards are joined: PCIe, `NVLink`, the fabric, and paths between cards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;
use crate::reading::Reading;
use crate::units::BytesPerSecond;

/// The PCIe link of a card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PcieLink {
    /// Generation now.
    pub generation: Reading<u32>,
    /// Generation at most, in this slot.
    pub generation_max: Reading<u32>,
    /// Generation at most that the card itself can.
    pub card_generation_max: Reading<u32>,
    /// Lanes now.
    pub width: Reading<u32>,
    /// Lanes at most, in this slot.
    pub width_max: Reading<u32>,
    /// Replays since the driver was loaded.
    pub replays: Reading<u64>,
    /// From the host to the card, over the last 20 ms, or since the previous sample where the card measures it (GPM).
    pub to_card: Reading<BytesPerSecond>,
    /// From the card to the host, over the last 20 ms, or since the previous sample where the card measures it (GPM).
    pub to_host: Reading<BytesPerSecond>,
    /// Bytes from the host to the card since the driver was loaded.
    pub to_card_bytes: Reading<u64>,
    /// Bytes from the card to the host since the driver was loaded.
    pub to_host_bytes: Reading<u64>,
    /// Errors since the driver was loaded.
    pub errors: PcieErrors,
}

/// Errors of a PCIe link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PcieErrors {
    /// Corrected ones.
    pub corrected: Reading<u64>,
    /// Ones that lost something, but not the link.
    pub non_fatal: Reading<u64>,
    /// Ones that lost the link.
    pub fatal: Reading<u64>,
}

/// One `NVLink` of a card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvLink {
    /// Its number on the card.
    pub link: u32,
    /// Whether it is up.
    pub active: Reading<bool>,
    /// Generation of the link.
    pub version: Reading<u32>,
    /// What it leads to: `gpu`, `switch`, `npu` …
    pub remote: Reading<String>,
    /// Data that arrived damaged, ever.
    pub crc_errors: Reading<u64>,
    /// Packets that were sent again, ever.
    pub replays: Reading<u64>,
    /// Times that the link was trained anew, ever.
    pub recoveries: Reading<u64>,
}

/// What went over all `NVLinks` of a card since the driver was loaded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvLinkTraffic {
    /// Bytes that came in.
    pub received_bytes: Reading<u64>,
    /// Bytes that went out.
    pub sent_bytes: Reading<u64>,
}

closed_list! {
    /// How far a card is with joining the fabric of `NVSwitches`.
    pub enum FabricState {
        /// This product has no fabric.
        NotSupported = "not-supported",
        /// Nobody has begun.
        NotStarted = "not-started",
        /// It is being done.
        InProgress = "in-progress",
        /// It is done; the status says how it went.
        Completed = "completed",
    }
}

/// A card's place in the fabric of `NVSwitches`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fabric {
    /// How far it is.
    pub state: FabricState,
    /// The `nvmlReturn_t` that joining ended with.
    pub status: u32,
    /// `nvmlGpuFabricInfo` health mask; 0: nothing is said.
    pub health: u32,
}

closed_list! {
    /// The farthest thing on the way between two cards.
    pub enum CardPath {
        /// The same board.
        Board = "board",
        /// One PCIe switch.
        Switch = "switch",
        /// Several PCIe switches.
        Switches = "switches",
        /// A host bridge.
        HostBridge = "host-bridge",
        /// The interconnect inside one NUMA node.
        Node = "node",
        /// The interconnect between NUMA nodes.
        System = "system",
    }
}

/// The way between two cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CardPair {
    /// Index of one card.
    pub one: u32,
    /// Index of the other, which is higher.
    pub other: u32,
    /// The way over PCIe.
    pub path: CardPath,
    /// Whether they reach each other's memory directly.
    pub peer_to_peer: Option<bool>,
}
