//! The driver and its library.

pub(crate) mod driver_hung;
pub(crate) mod driver_not_loaded;
