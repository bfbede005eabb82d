//! Containers and what they are allowed.

pub(crate) mod container_limit;
pub(crate) mod nvml_lost_in_container;
