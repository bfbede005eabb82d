//! Containers and what they are allowed.

pub(crate) mod container_limit;
