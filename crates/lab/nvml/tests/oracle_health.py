"""Memory errors, their repair, and fans."""

import ctypes

import pynvml as nvml

from oracle_base import equal, refused, within

NOT_SUPPORTED = nvml.NVML_ERROR_NOT_SUPPORTED
VOLATILE, AGGREGATE = nvml.NVML_VOLATILE_ECC, nvml.NVML_AGGREGATE_ECC


def check(handle, card):
    check_errors(handle, card)
    check_caches(handle, card)
    check_rows(handle, card)
    check_pages(handle, card)
    check_fans(handle, card)


def check_errors(handle, card):
    total = nvml.nvmlDeviceGetTotalEccErrors
    detailed = nvml.nvmlDeviceGetDetailedEccErrors
    counter = nvml.nvmlDeviceGetMemoryErrorCounter
    memory, cache = nvml.NVML_MEMORY_LOCATION_DEVICE_MEMORY, nvml.NVML_MEMORY_LOCATION_L2_CACHE
    sram = nvml.NVML_MEMORY_LOCATION_SRAM
    if card["ecc"] == "none":
        refused("ecc mode", NOT_SUPPORTED, nvml.nvmlDeviceGetEccMode, handle)
        refused("usual ecc mode", NOT_SUPPORTED, nvml.nvmlDeviceGetDefaultEccMode, handle)
        refused("ecc errors", NOT_SUPPORTED, total, handle, 1, VOLATILE)
        refused("ecc details", NOT_SUPPORTED, detailed, handle, 1, VOLATILE)
        refused("place", NOT_SUPPORTED, counter, handle, 1, VOLATILE, memory)
        return
    equal("ecc mode", nvml.nvmlDeviceGetEccMode(handle), [1, 1])
    equal("usual ecc mode", nvml.nvmlDeviceGetDefaultEccMode(handle), [1])
    ever = [card["corrected"], card["uncorrected_ever"]]
    for kind, (now, all_time) in enumerate(zip([card["corrected"], card["uncorrected"]], ever)):
        equal("ecc errors", total(handle, kind, VOLATILE), sum(now))
        equal("ecc errors ever", total(handle, kind, AGGREGATE), sum(all_time))
        counts = detailed(handle, kind, VOLATILE)
        equal("ecc details", [counts.deviceMemory, counts.l2Cache, counts.l1Cache], [*now, 0])
        equal("errors in memory", counter(handle, kind, VOLATILE, memory), now[0])
        has_one_sram = card["ecc"] == "row-remapping"
        here, elsewhere = (sram, cache) if has_one_sram else (cache, sram)
        equal("errors in caches", counter(handle, kind, VOLATILE, here), now[1])
        refused("no such place", NOT_SUPPORTED, counter, handle, kind, VOLATILE, elsewhere)
    refused("no kind", nvml.NVML_ERROR_INVALID_ARGUMENT, total, handle, 2, VOLATILE)
    refused("no counter", nvml.NVML_ERROR_INVALID_ARGUMENT, total, handle, 0, 2)


def check_caches(handle, card):
    status = nvml.c_nvmlEccSramErrorStatus_v1_t()
    function = nvml.nvmlDeviceGetSramEccErrorStatus
    if card["ecc"] != "row-remapping":
        refused("caches", NOT_SUPPORTED, function, handle, ctypes.byref(status))
        return
    function(handle, ctypes.byref(status))
    found = [status.volatileCor, status.volatileUncSecDed, status.aggregateUncSecDed, status.bThresholdExceeded]
    expected = [card["corrected"][1], card["uncorrected"][1], card["uncorrected_ever"][1]]
    equal("caches", found, [*expected, card["threshold_exceeded"]])
    status.version = 7
    refused("version", nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH, function, handle, ctypes.byref(status))


def check_rows(handle, card):
    if card["ecc"] != "row-remapping":
        refused("rows", NOT_SUPPORTED, nvml.nvmlDeviceGetRemappedRows, handle)
        refused("banks", NOT_SUPPORTED, nvml.nvmlDeviceGetRowRemapperHistogram, handle)
        return
    corrected, uncorrected = card["rows"]
    if card["instances"]:
        refused("rows of a card that is cut", NOT_SUPPORTED, nvml.nvmlDeviceGetRemappedRows, handle)
    else:
        equal("rows", nvml.nvmlDeviceGetRemappedRows(handle), (corrected, uncorrected, 1, 0))
    banks = nvml.nvmlDeviceGetRowRemapperHistogram(handle)
    used = corrected + uncorrected
    equal("banks", [banks.max, banks.high, banks.none], [card["memory_banks"] - used, used, 0])


def check_pages(handle, card):
    single = nvml.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS
    double = nvml.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR
    if card["ecc"] != "page-retirement":
        refused("pages", NOT_SUPPORTED, nvml.nvmlDeviceGetRetiredPages, handle, 1)
        refused("waiting pages", NOT_SUPPORTED, nvml.nvmlDeviceGetRetiredPagesPendingStatus, handle)
        return
    for cause, count in [(single, card["rows"][0]), (double, card["rows"][1])]:
        equal("pages", len(nvml.nvmlDeviceGetRetiredPages(handle, cause)), count)
        equal("pages with time", len(nvml.nvmlDeviceGetRetiredPages_v2(handle, cause)), count)
    equal("waiting pages", nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle), 1)


def check_fans(handle, card):
    equal("fans", nvml.nvmlDeviceGetNumFans(handle), card["fans"])
    calls = [
        (nvml.nvmlDeviceGetFanSpeed,),
        (nvml.nvmlDeviceGetFanSpeed_v2, 0),
        (nvml.nvmlDeviceGetTargetFanSpeed, 0),
        (nvml.nvmlDeviceGetFanControlPolicy_v2, 0),
        (nvml.nvmlDeviceGetFanSpeedRPM,),
        (nvml.nvmlDeviceGetMinMaxFanSpeed,),
    ]
    if not card["fans"]:
        for function, *arguments in calls:
            refused(f"{function.__name__} without fan", NOT_SUPPORTED, function, handle, *arguments)
        return
    for function, *arguments in calls[:3]:
        within(function.__name__, function(handle, *arguments), 30, 100)
    equal("policy", nvml.nvmlDeviceGetFanControlPolicy_v2(handle, 0), 0)
    within("turns", nvml.nvmlDeviceGetFanSpeedRPM(handle), 990, 3300)
    equal("range", nvml.nvmlDeviceGetMinMaxFanSpeed(handle), [30, 100])
    refused("no such fan", nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlDeviceGetFanSpeed_v2, handle, card["fans"])
