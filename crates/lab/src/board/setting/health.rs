//! Errors of a card's memories, and their repair.

use serde::{Deserialize, Serialize};

use super::is_default;

/// Memory errors of a card.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EccSetting {
    /// ECC is switched off.
    #[serde(skip_serializing_if = "is_default")]
    pub disabled: bool,
    /// Corrected errors since the driver was loaded.
    #[serde(skip_serializing_if = "is_default")]
    pub corrected: ErrorCounts,
    /// Uncorrected errors since the driver was loaded.
    #[serde(skip_serializing_if = "is_default")]
    pub uncorrected: ErrorCounts,
    /// Corrected errors before that, which only the counters of the card's whole life have.
    #[serde(skip_serializing_if = "is_default")]
    pub earlier_corrected: ErrorCounts,
    /// Uncorrected errors before that.
    #[serde(skip_serializing_if = "is_default")]
    pub earlier_uncorrected: ErrorCounts,
    /// Further corrected errors of the frame buffer, per second.
    #[serde(skip_serializing_if = "is_default")]
    pub corrected_per_s: f64,
    /// The caches had more errors than the card may have.
    #[serde(skip_serializing_if = "is_default")]
    pub sram_threshold_exceeded: bool,
}

/// Errors by place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ErrorCounts {
    /// In the frame buffer.
    #[serde(skip_serializing_if = "is_default")]
    pub dram: u64,
    /// In caches and registers (the L2 cache, as far as a tool asks for one place).
    #[serde(skip_serializing_if = "is_default")]
    pub sram: u64,
}

impl ErrorCounts {
    /// Errors at all places.
    pub fn total(self) -> u64 {
        self.dram + self.sram
    }

    /// Both counts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { dram: self.dram + other.dram, sram: self.sram + other.sram }
    }
}

/// Repair of the frame buffer: rows that were replaced since Ampere, pages that were retired before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepairSetting {
    /// Rows or pages after repeated corrected errors.
    #[serde(skip_serializing_if = "is_default")]
    pub corrected: u32,
    /// Rows or pages after an uncorrected error.
    #[serde(skip_serializing_if = "is_default")]
    pub uncorrected: u32,
    /// A repair waits for a reset.
    #[serde(skip_serializing_if = "is_default")]
    pub pending: bool,
    /// A repair failed.
    #[serde(skip_serializing_if = "is_default")]
    pub failed: bool,
    /// Memory banks that have no spare row left.
    #[serde(skip_serializing_if = "is_default")]
    pub banks_without_spares: u32,
}
