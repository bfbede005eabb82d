//! The card is there and healthy, but its clocks are lowered: by heat, power, a brake, or for no reason given.

mod clocks;
pub(crate) mod hw_slowdown;
pub(crate) mod low_clocks;
pub(crate) mod power_throttle;
pub(crate) mod thermal_throttle;
