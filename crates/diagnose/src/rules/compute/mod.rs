//! The card computes.

pub(crate) mod compute_saturated;
pub(crate) mod gpu_contention;
pub(crate) mod launch_bound;
pub(crate) mod low_sm_occupancy;
pub(crate) mod memory_bandwidth_saturated;
