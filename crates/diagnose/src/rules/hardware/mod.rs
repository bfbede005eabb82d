//! The card itself is broken, or reports an error.

pub(crate) mod ecc_correctable_storm;
pub(crate) mod ecc_uncorrectable;
pub(crate) mod fan_failed;
pub(crate) mod gpu_lost;
pub(crate) mod inforom_corrupt;
mod offered;
mod report;
pub(crate) mod row_remap_pending;
pub(crate) mod xid_app_fault;
pub(crate) mod xid_hw_fault;
