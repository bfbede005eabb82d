//! The card computes.

pub(crate) mod compute_saturated;
