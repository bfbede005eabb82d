//! Structures of NVML's C ABI; a test compares them with the published bindings.

mod health;
#[cfg(test)]
mod layout_tests;
mod work;

pub(crate) use health::{
    EccErrorCounts, EccSramErrorStatus, FabricInfo, FabricInfoV2, FabricInfoV3, FanSpeedInfo,
    RowRemapperHistogram,
};
pub(crate) use work::{DeviceAttributes, EventData, EventDataV1, GpmMetric, GpmMetricsHead, GpmSupport};

use std::ffi::{c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_ulonglong};

/// "Not available" in a memory figure.
pub(crate) const NOT_AVAILABLE: u64 = u64::MAX;
/// Instance id of a process outside MIG.
pub(crate) const NO_INSTANCE: u32 = u32::MAX;

/// `nvmlMemory_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) total: c_ulonglong,
    pub(crate) free: c_ulonglong,
    pub(crate) used: c_ulonglong,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MemoryV2 {
    pub(crate) version: c_uint,
    pub(crate) total: c_ulonglong,
    pub(crate) reserved: c_ulonglong,
    pub(crate) free: c_ulonglong,
    pub(crate) used: c_ulonglong,
}

/// `nvmlPciInfo_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PciInfo {
    pub(crate) bus_id_legacy: [c_char; 16],
    pub(crate) domain: c_uint,
    pub(crate) bus: c_uint,
    pub(crate) device: c_uint,
    pub(crate) pci_device_id: c_uint,
    pub(crate) pci_sub_system_id: c_uint,
    pub(crate) bus_id: [c_char; 32],
}

/// `nvmlUtilization_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Utilization {
    pub(crate) gpu: c_uint,
    pub(crate) memory: c_uint,
}

/// `nvmlProcessInfo_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessInfoV1 {
    pub(crate) pid: c_uint,
    pub(crate) used_gpu_memory: c_ulonglong,
}

/// `nvmlProcessDetail_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessDetail {
    pub(crate) pid: c_uint,
    pub(crate) used_gpu_memory: c_ulonglong,
    pub(crate) gpu_instance_id: c_uint,
    pub(crate) compute_instance_id: c_uint,
    pub(crate) used_gpu_cc_protected_memory: c_ulonglong,
}

/// `nvmlProcessDetailList_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessDetailList {
    pub(crate) version: c_uint,
    pub(crate) mode: c_uint,
    pub(crate) num_proc_array_entries: c_uint,
    pub(crate) proc_array: crate::pointer::Out<ProcessDetail>,
}

/// `nvmlProcessUtilizationSample_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessUtilizationSample {
    pub(crate) pid: c_uint,
    pub(crate) time_stamp: c_ulonglong,
    pub(crate) sm_util: c_uint,
    pub(crate) mem_util: c_uint,
    pub(crate) enc_util: c_uint,
    pub(crate) dec_util: c_uint,
}

/// `nvmlProcessUtilizationInfo_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessUtilizationInfo {
    pub(crate) time_stamp: c_ulonglong,
    pub(crate) pid: c_uint,
    pub(crate) sm_util: c_uint,
    pub(crate) mem_util: c_uint,
    pub(crate) enc_util: c_uint,
    pub(crate) dec_util: c_uint,
    pub(crate) jpg_util: c_uint,
    pub(crate) ofa_util: c_uint,
}

/// `nvmlProcessesUtilizationInfo_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessesUtilizationInfo {
    pub(crate) version: c_uint,
    pub(crate) process_samples_count: c_uint,
    pub(crate) last_seen_time_stamp: c_ulonglong,
    pub(crate) proc_util_array: crate::pointer::Out<ProcessUtilizationInfo>,
}

/// `nvmlBAR1Memory_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bar1Memory {
    pub(crate) total: c_ulonglong,
    pub(crate) free: c_ulonglong,
    pub(crate) used: c_ulonglong,
}

/// `nvmlValue_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Value {
    pub(crate) double: f64,
    pub(crate) signed_int: c_int,
    pub(crate) unsigned_int: c_uint,
    pub(crate) unsigned_long: c_ulong,
    pub(crate) unsigned_long_long: c_ulonglong,
    pub(crate) signed_long_long: c_longlong,
    pub(crate) signed_long: c_long,
}

/// `nvmlValueType_t`: unsigned int.
pub(crate) const VALUE_UNSIGNED_INT: c_uint = 1;
/// `nvmlValueType_t`: unsigned long long.
pub(crate) const VALUE_UNSIGNED_LONG_LONG: c_uint = 3;
/// `nvmlValueType_t`: signed int.
pub(crate) const VALUE_SIGNED_INT: c_uint = 5;

/// `nvmlSample_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) time_stamp: c_ulonglong,
    pub(crate) sample_value: Value,
}

/// `nvmlFieldValue_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FieldValue {
    pub(crate) field_id: c_uint,
    pub(crate) scope_id: c_uint,
    pub(crate) timestamp: c_longlong,
    pub(crate) latency_usec: c_longlong,
    pub(crate) value_type: c_uint,
    pub(crate) nvml_return: crate::Code,
    pub(crate) value: Value,
}

/// `nvmlViolationTime_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ViolationTime {
    pub(crate) reference_time: c_ulonglong,
    pub(crate) violation_time: c_ulonglong,
}

/// `nvmlTemperature_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Temperature {
    pub(crate) version: c_uint,
    pub(crate) sensor_type: c_uint,
    pub(crate) celsius: c_int,
}

/// `nvmlMarginTemperature_v1_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MarginTemperature {
    pub(crate) version: c_uint,
    pub(crate) margin_temperature: c_int,
}

/// `nvmlConfComputeMemSizeInfo_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConfComputeMemSizeInfo {
    pub(crate) protected_mem_size_kib: c_ulonglong,
    pub(crate) unprotected_mem_size_kib: c_ulonglong,
}

/// `nvmlAccountingStats_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AccountingStats {
    pub(crate) gpu_utilization: c_uint,
    pub(crate) memory_utilization: c_uint,
    pub(crate) max_memory_usage: c_ulonglong,
    pub(crate) time: c_ulonglong,
    pub(crate) start_time: c_ulonglong,
    pub(crate) is_running: c_uint,
    pub(crate) reserved: [c_uint; 5],
}

/// Version word of a structure: its size and its version.
pub(crate) const fn version_word<T>(version: u32) -> c_uint {
    #[expect(clippy::cast_possible_truncation, reason = "these structures have less than a hundred bytes")]
    let size = size_of::<T>() as u32;
    size | (version << 24)
}
