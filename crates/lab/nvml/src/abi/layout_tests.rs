//! Compares every structure with the published bindings.

use std::mem::{align_of, offset_of, size_of};

use nvml_wrapper_sys::bindings as published;

use super::*;

/// Asserts that two structures have the same size, alignment and offset of every named field.
macro_rules! same_layout {
    ($ours:ty, $theirs:ty, $($our_field:ident = $their_field:ident),+) => {
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($ours));
        assert_eq!(align_of::<$ours>(), align_of::<$theirs>(), stringify!($ours));
        $(assert_eq!(
            offset_of!($ours, $our_field),
            offset_of!($theirs, $their_field),
            concat!(stringify!($ours), ".", stringify!($our_field))
        );)+
    };
}

#[test]
fn memory_structures_are_laid_out_as_published() {
    same_layout!(Memory, published::nvmlMemory_t, total = total, free = free, used = used);
    same_layout!(
        MemoryV2,
        published::nvmlMemory_v2_t,
        version = version,
        total = total,
        reserved = reserved,
        free = free,
        used = used
    );
    same_layout!(
        Bar1Memory,
        published::nvmlBAR1Memory_t,
        total = bar1Total,
        free = bar1Free,
        used = bar1Used
    );
    same_layout!(
        ConfComputeMemSizeInfo,
        published::nvmlConfComputeMemSizeInfo_t,
        protected_mem_size_kib = protectedMemSizeKib,
        unprotected_mem_size_kib = unprotectedMemSizeKib
    );
}

#[test]
fn card_structures_are_laid_out_as_published() {
    same_layout!(
        PciInfo,
        published::nvmlPciInfo_t,
        bus_id_legacy = busIdLegacy,
        domain = domain,
        bus = bus,
        device = device,
        pci_device_id = pciDeviceId,
        pci_sub_system_id = pciSubSystemId,
        bus_id = busId
    );
    same_layout!(Utilization, published::nvmlUtilization_t, gpu = gpu, memory = memory);
    same_layout!(
        ViolationTime,
        published::nvmlViolationTime_t,
        reference_time = referenceTime,
        violation_time = violationTime
    );
    same_layout!(
        Temperature,
        published::nvmlTemperature_v1_t,
        version = version,
        sensor_type = sensorType,
        celsius = temperature
    );
    same_layout!(
        MarginTemperature,
        published::nvmlMarginTemperature_v1_t,
        version = version,
        margin_temperature = marginTemperature
    );
}

#[test]
fn process_structures_are_laid_out_as_published() {
    same_layout!(ProcessInfoV1, published::nvmlProcessInfo_v1_t, pid = pid, used_gpu_memory = usedGpuMemory);
    same_layout!(
        ProcessDetail,
        published::nvmlProcessDetail_v1_t,
        pid = pid,
        used_gpu_memory = usedGpuMemory,
        gpu_instance_id = gpuInstanceId,
        compute_instance_id = computeInstanceId,
        used_gpu_cc_protected_memory = usedGpuCcProtectedMemory
    );
    same_layout!(
        ProcessDetailList,
        published::nvmlProcessDetailList_v1_t,
        version = version,
        mode = mode,
        num_proc_array_entries = numProcArrayEntries,
        proc_array = procArray
    );
    same_layout!(
        ProcessUtilizationSample,
        published::nvmlProcessUtilizationSample_t,
        pid = pid,
        time_stamp = timeStamp,
        sm_util = smUtil,
        mem_util = memUtil,
        enc_util = encUtil,
        dec_util = decUtil
    );
    same_layout!(
        ProcessUtilizationInfo,
        published::nvmlProcessUtilizationInfo_v1_t,
        time_stamp = timeStamp,
        pid = pid,
        sm_util = smUtil,
        mem_util = memUtil,
        enc_util = encUtil,
        dec_util = decUtil,
        jpg_util = jpgUtil,
        ofa_util = ofaUtil
    );
    same_layout!(
        ProcessesUtilizationInfo,
        published::nvmlProcessesUtilizationInfo_v1_t,
        version = version,
        process_samples_count = processSamplesCount,
        last_seen_time_stamp = lastSeenTimeStamp,
        proc_util_array = procUtilArray
    );
    same_layout!(
        AccountingStats,
        published::nvmlAccountingStats_t,
        gpu_utilization = gpuUtilization,
        memory_utilization = memoryUtilization,
        max_memory_usage = maxMemoryUsage,
        time = time,
        start_time = startTime,
        is_running = isRunning,
        reserved = reserved
    );
}

#[test]
fn sample_structures_are_laid_out_as_published() {
    assert_eq!(size_of::<Value>(), size_of::<published::nvmlValue_t>());
    same_layout!(Sample, published::nvmlSample_t, time_stamp = timeStamp, sample_value = sampleValue);
    same_layout!(
        FieldValue,
        published::nvmlFieldValue_t,
        field_id = fieldId,
        scope_id = scopeId,
        timestamp = timestamp,
        latency_usec = latencyUsec,
        value_type = valueType,
        nvml_return = nvmlReturn,
        value = value
    );
}

#[test]
fn health_structures_are_laid_out_as_published() {
    same_layout!(
        EccErrorCounts,
        published::nvmlEccErrorCounts_t,
        l1_cache = l1Cache,
        l2_cache = l2Cache,
        device_memory = deviceMemory,
        register_file = registerFile
    );
    same_layout!(
        EccSramErrorStatus,
        published::nvmlEccSramErrorStatus_v1_t,
        version = version,
        aggregate_unc_parity = aggregateUncParity,
        aggregate_unc_sec_ded = aggregateUncSecDed,
        aggregate_cor = aggregateCor,
        volatile_unc_parity = volatileUncParity,
        volatile_unc_sec_ded = volatileUncSecDed,
        volatile_cor = volatileCor,
        aggregate_unc_bucket_l2 = aggregateUncBucketL2,
        aggregate_unc_bucket_sm = aggregateUncBucketSm,
        aggregate_unc_bucket_pcie = aggregateUncBucketPcie,
        aggregate_unc_bucket_mcu = aggregateUncBucketMcu,
        aggregate_unc_bucket_other = aggregateUncBucketOther,
        threshold_exceeded = bThresholdExceeded
    );
    same_layout!(
        RowRemapperHistogram,
        published::nvmlRowRemapperHistogramValues_t,
        max = max,
        high = high,
        partial = partial,
        low = low,
        none = none
    );
    same_layout!(FanSpeedInfo, published::nvmlFanSpeedInfo_v1_t, version = version, fan = fan, speed = speed);
}

#[test]
fn fabric_structures_are_laid_out_as_published() {
    same_layout!(
        FabricInfo,
        published::nvmlGpuFabricInfo_t,
        cluster_uuid = clusterUuid,
        status = status,
        clique_id = cliqueId,
        state = state
    );
    same_layout!(
        FabricInfoV2,
        published::nvmlGpuFabricInfo_v2_t,
        version = version,
        cluster_uuid = clusterUuid,
        status = status,
        clique_id = cliqueId,
        state = state,
        health_mask = healthMask
    );
    same_layout!(
        FabricInfoV3,
        published::nvmlGpuFabricInfo_v3_t,
        version = version,
        cluster_uuid = clusterUuid,
        status = status,
        clique_id = cliqueId,
        state = state,
        health_mask = healthMask,
        health_summary = healthSummary
    );
}

#[test]
fn work_structures_are_laid_out_as_published() {
    same_layout!(
        GpmSupport,
        published::nvmlGpmSupport_t,
        version = version,
        is_supported_device = isSupportedDevice
    );
    assert_eq!(
        offset_of!(GpmMetricsHead, num_metrics),
        offset_of!(published::nvmlGpmMetricsGet_t, numMetrics)
    );
    assert_eq!(offset_of!(GpmMetricsHead, sample_1), offset_of!(published::nvmlGpmMetricsGet_t, sample1));
    assert_eq!(offset_of!(GpmMetricsHead, sample_2), offset_of!(published::nvmlGpmMetricsGet_t, sample2));
    assert_eq!(size_of::<GpmMetricsHead>(), offset_of!(published::nvmlGpmMetricsGet_t, metrics));
    same_layout!(
        GpmMetric,
        published::nvmlGpmMetric_t,
        metric_id = metricId,
        nvml_return = nvmlReturn,
        value = value,
        short_name = metricInfo
    );
    same_layout!(
        EventData,
        published::nvmlEventData_t,
        device = device,
        kind = eventType,
        data = eventData,
        gpu_instance_id = gpuInstanceId,
        compute_instance_id = computeInstanceId
    );
    same_layout!(
        DeviceAttributes,
        published::nvmlDeviceAttributes_t,
        multiprocessor_count = multiprocessorCount,
        gpu_instance_slice_count = gpuInstanceSliceCount,
        compute_instance_slice_count = computeInstanceSliceCount,
        memory_size_mb = memorySizeMB
    );
}

#[test]
fn a_row_of_a_long_list_is_the_published_structure() {
    // Rows are written as 64-bit words: pid, memory, both instance ids.
    type Row = published::nvmlProcessInfo_v2_t;
    assert_eq!(size_of::<Row>(), 24);
    assert_eq!(offset_of!(Row, pid), 0);
    assert_eq!(offset_of!(Row, usedGpuMemory), 8);
    assert_eq!(offset_of!(Row, gpuInstanceId), 16);
    assert_eq!(offset_of!(Row, computeInstanceId), 20);
}

#[test]
fn version_words_are_the_published_ones() {
    assert_eq!(version_word::<MemoryV2>(2), 0x0200_0028);
    assert_eq!(version_word::<Temperature>(1), 0x0100_000C);
    assert_eq!(version_word::<MarginTemperature>(1), 0x0100_0008);
    assert_eq!(version_word::<ProcessDetailList>(1), 0x0100_0018);
    assert_eq!(version_word::<ProcessesUtilizationInfo>(1), 0x0100_0018);
    assert_eq!(version_word::<FanSpeedInfo>(1), 0x0100_000C);
    assert_eq!(version_word::<FabricInfoV2>(2), 0x0200_0024);
    assert_eq!(version_word::<FabricInfoV3>(3), 0x0300_0028);
}
