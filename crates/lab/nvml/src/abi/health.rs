//! Structures about memory errors, fans and the fabric.

use std::ffi::{c_uchar, c_uint, c_ulonglong};

/// `nvmlEccErrorCounts_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EccErrorCounts {
    pub(crate) l1_cache: c_ulonglong,
    pub(crate) l2_cache: c_ulonglong,
    pub(crate) device_memory: c_ulonglong,
    pub(crate) register_file: c_ulonglong,
}

/// `nvmlEccSramErrorStatus_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EccSramErrorStatus {
    pub(crate) version: c_uint,
    pub(crate) aggregate_unc_parity: c_ulonglong,
    pub(crate) aggregate_unc_sec_ded: c_ulonglong,
    pub(crate) aggregate_cor: c_ulonglong,
    pub(crate) volatile_unc_parity: c_ulonglong,
    pub(crate) volatile_unc_sec_ded: c_ulonglong,
    pub(crate) volatile_cor: c_ulonglong,
    pub(crate) aggregate_unc_bucket_l2: c_ulonglong,
    pub(crate) aggregate_unc_bucket_sm: c_ulonglong,
    pub(crate) aggregate_unc_bucket_pcie: c_ulonglong,
    pub(crate) aggregate_unc_bucket_mcu: c_ulonglong,
    pub(crate) aggregate_unc_bucket_other: c_ulonglong,
    pub(crate) threshold_exceeded: c_uint,
}

/// `nvmlRowRemapperHistogramValues_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowRemapperHistogram {
    pub(crate) max: c_uint,
    pub(crate) high: c_uint,
    pub(crate) partial: c_uint,
    pub(crate) low: c_uint,
    pub(crate) none: c_uint,
}

/// `nvmlFanSpeedInfo_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FanSpeedInfo {
    pub(crate) version: c_uint,
    pub(crate) fan: c_uint,
    pub(crate) speed: c_uint,
}

/// `nvmlGpuFabricInfo_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FabricInfo {
    pub(crate) cluster_uuid: [c_uchar; 16],
    pub(crate) status: c_uint,
    pub(crate) clique_id: c_uint,
    pub(crate) state: c_uchar,
}

/// `nvmlGpuFabricInfo_v2_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FabricInfoV2 {
    pub(crate) version: c_uint,
    pub(crate) cluster_uuid: [c_uchar; 16],
    pub(crate) status: c_uint,
    pub(crate) clique_id: c_uint,
    pub(crate) state: c_uchar,
    pub(crate) health_mask: c_uint,
}

/// `nvmlGpuFabricInfo_v3_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FabricInfoV3 {
    pub(crate) version: c_uint,
    pub(crate) cluster_uuid: [c_uchar; 16],
    pub(crate) status: c_uint,
    pub(crate) clique_id: c_uint,
    pub(crate) state: c_uchar,
    pub(crate) health_mask: c_uint,
    pub(crate) health_summary: c_uchar,
}
