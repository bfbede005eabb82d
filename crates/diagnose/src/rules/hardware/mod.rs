//! The card itself is broken.

pub(crate) mod gpu_lost;
