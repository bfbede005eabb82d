//! Why clocks are not higher: the bits of NVML's mask.

use crate::state::REASON_BITS;

/// A set of clock-event reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reasons(u64);

impl Reasons {
    /// Clocks are as high as they can be.
    pub const NONE: Self = Self(0);
    /// Nothing runs.
    pub const GPU_IDLE: Self = Self(0x1);
    /// Somebody set the clocks.
    pub const APPLICATIONS_CLOCKS: Self = Self(0x2);
    /// The driver keeps the card inside its power limit.
    pub const SW_POWER_CAP: Self = Self(0x4);
    /// The hardware halves clocks; another bit says why.
    pub const HW_SLOWDOWN: Self = Self(0x8);
    /// Another card of its sync-boost group is slower.
    pub const SYNC_BOOST: Self = Self(0x10);
    /// The driver keeps the card below its highest operating temperature.
    pub const SW_THERMAL: Self = Self(0x20);
    /// The hardware halves clocks for heat.
    pub const HW_THERMAL: Self = Self(0x40);
    /// A power brake is asserted from outside.
    pub const HW_POWER_BRAKE: Self = Self(0x80);

    /// Makes a set of NVML's mask.
    pub fn from_mask(mask: u64) -> Self {
        Self(mask)
    }

    /// NVML's mask.
    pub fn mask(self) -> u64 {
        self.0
    }

    /// Adds the reasons of another set.
    pub fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether all reasons of `other` are in this set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Positions of the bits that are set and counted.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..REASON_BITS).filter(move |bit| self.0 & (1 << bit) != 0)
    }
}
