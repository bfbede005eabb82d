//! Structures about performance counters, events and MIG instances.

use std::ffi::{c_char, c_uint, c_ulonglong};

use crate::device::Device;

/// `nvmlGpmSupport_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GpmSupport {
    pub(crate) version: c_uint,
    pub(crate) is_supported_device: c_uint,
}

/// The head of `nvmlGpmMetricsGet_t`; as many metrics follow as it says, whatever the header of the caller
/// thinks is the most.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpmMetricsHead {
    pub(crate) version: c_uint,
    pub(crate) num_metrics: c_uint,
    pub(crate) sample_1: crate::gpm::Sample,
    pub(crate) sample_2: crate::gpm::Sample,
}

/// `nvmlGpmMetric_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpmMetric {
    pub(crate) metric_id: c_uint,
    pub(crate) nvml_return: crate::Code,
    pub(crate) value: f64,
    pub(crate) short_name: *const c_char,
    pub(crate) long_name: *const c_char,
    pub(crate) unit: *const c_char,
}

/// `nvmlEventData_t` before there were instances.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventDataV1 {
    pub(crate) device: Device,
    pub(crate) kind: c_ulonglong,
    pub(crate) data: c_ulonglong,
}

/// `nvmlEventData_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventData {
    pub(crate) device: Device,
    pub(crate) kind: c_ulonglong,
    pub(crate) data: c_ulonglong,
    pub(crate) gpu_instance_id: c_uint,
    pub(crate) compute_instance_id: c_uint,
}

/// `nvmlDeviceAttributes_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeviceAttributes {
    pub(crate) multiprocessor_count: c_uint,
    pub(crate) shared_copy_engine_count: c_uint,
    pub(crate) shared_decoder_count: c_uint,
    pub(crate) shared_encoder_count: c_uint,
    pub(crate) shared_jpeg_count: c_uint,
    pub(crate) shared_ofa_count: c_uint,
    pub(crate) gpu_instance_slice_count: c_uint,
    pub(crate) compute_instance_slice_count: c_uint,
    pub(crate) memory_size_mb: c_ulonglong,
}
