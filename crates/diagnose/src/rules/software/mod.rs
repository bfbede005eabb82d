//! The driver and its library.

pub(crate) mod arch_unsupported;
pub(crate) mod compute_mode_exclusive;
pub(crate) mod driver_hung;
pub(crate) mod driver_library_mismatch;
pub(crate) mod driver_not_loaded;
pub(crate) mod driver_too_old;
pub(crate) mod fabric_manager_down;
pub(crate) mod mig_misconfig;
pub(crate) mod nvml_abi_mismatch;
pub(crate) mod persistence_off;
