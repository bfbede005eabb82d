//! What a card says of its own health at one instant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reading::Reading;
use crate::units::Percent;

/// Error correction of a card's memories.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ecc {
    /// Whether it is on.
    pub enabled: Reading<bool>,
    /// Errors since the driver was loaded or the card was reset.
    pub volatile: EccCounts,
    /// Errors in the card's life.
    pub aggregate: EccCounts,
    /// Whether the card itself says that its SRAM had more errors than it may have.
    pub sram_threshold_exceeded: Reading<bool>,
}

/// Numbers of memory errors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EccCounts {
    /// Corrected, in all memories.
    pub corrected: Reading<u64>,
    /// Not corrected, in all memories: data were lost.
    pub uncorrected: Reading<u64>,
    /// Not corrected, in the frame buffer.
    pub dram_uncorrected: Reading<u64>,
    /// Not corrected, in caches and registers.
    pub sram_uncorrected: Reading<u64>,
}

/// Rows of memory that were replaced by spare ones (Ampere and later).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RemappedRows {
    /// For corrected errors.
    pub corrected: u64,
    /// For errors that could not be corrected.
    pub uncorrected: u64,
    /// A replacement waits for a reset.
    pub pending: bool,
    /// A replacement failed: the memory is broken.
    pub failed: bool,
    /// How many banks still have how many spare rows; none where the driver does not say.
    pub spare_rows: Option<SpareRows>,
}

/// Number of memory banks by how many spare rows they have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpareRows {
    /// All.
    pub all: u32,
    /// Nearly all.
    pub high: u32,
    /// Some.
    pub partial: u32,
    /// Few.
    pub low: u32,
    /// None.
    pub none: u32,
}

/// Pages of memory that are not used any more (before Ampere).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RetiredPages {
    /// For repeated corrected errors.
    pub single_bit: u64,
    /// For an error that could not be corrected.
    pub double_bit: u64,
    /// Some are still in use until the driver is loaded anew.
    pub pending: bool,
}

/// How long the card ran below its clocks for a reason, in nanoseconds since the driver was loaded
/// (`nvmlDeviceGetViolationStatus`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Violations {
    /// Power.
    pub power_ns: Reading<u64>,
    /// Heat.
    pub thermal_ns: Reading<u64>,
    /// The board's own limit.
    pub board_limit_ns: Reading<u64>,
    /// Voltage kept low for reliability.
    pub reliability_ns: Reading<u64>,
}

/// One fan of a card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fan {
    /// Its speed, as a share of the highest; on some products only the intended one.
    pub speed: Reading<Percent>,
    /// The speed that the card wants.
    pub target: Reading<Percent>,
    /// Turns per minute, as the driver means it to turn: a blocked fan is not seen here.
    pub rpm: Reading<u32>,
}

/// What parts of a card worked, in hundredths of time or of the peak, since the previous sample (GPM, Hopper and
/// later).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Activity {
    /// Multiprocessors with at least one warp.
    pub sm_active: Reading<Percent>,
    /// Warps in flight, of those that could be.
    pub sm_occupancy: Reading<Percent>,
    /// Matrix units.
    pub tensor_active: Reading<Percent>,
    /// The memory interface.
    pub dram_active: Reading<Percent>,
}

/// An error event that the driver delivered to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct XidEvent {
    /// The card's index.
    pub card: u32,
    /// The error's number.
    pub number: u32,
}
