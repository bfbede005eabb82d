"""MIG devices, performance counters and events."""

import ctypes
import time

import pynvml as nvml

from oracle_base import MIB, direct, equal, refused, within

NOT_SUPPORTED = nvml.NVML_ERROR_NOT_SUPPORTED
INVALID = nvml.NVML_ERROR_INVALID_ARGUMENT


def check(handle, card):
    check_whole_card(handle, card)
    check_instances(handle, card)
    check_counters(handle, card)


def check_whole_card(handle, card):
    equal("most mig devices", nvml.nvmlDeviceGetMaxMigDeviceCount(handle), card["mig_devices"])
    equal("is a mig device", nvml.nvmlDeviceIsMigDeviceHandle(handle).value, 0)
    if card["mig_devices"]:
        mode = int(bool(card["instances"]))
        equal("mig mode", nvml.nvmlDeviceGetMigMode(handle), [mode, mode])
    else:
        refused("mig mode", NOT_SUPPORTED, nvml.nvmlDeviceGetMigMode, handle)
    none = nvml.NVML_ERROR_NOT_FOUND if card["mig_devices"] else NOT_SUPPORTED
    last = max(card["mig_devices"] - 1, 0)
    refused("mig device", none, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, last)
    refused("card of mig", INVALID, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, handle)
    refused("gpu instance", NOT_SUPPORTED, nvml.nvmlDeviceGetGpuInstanceId, handle)
    refused("compute instance", NOT_SUPPORTED, nvml.nvmlDeviceGetComputeInstanceId, handle)
    refused("attributes", NOT_SUPPORTED, nvml.nvmlDeviceGetAttributes_v2, handle)


def check_instances(handle, card):
    for position, instance in enumerate(card["instances"]):
        mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, position)
        equal("is a mig device", nvml.nvmlDeviceIsMigDeviceHandle(mig).value, 1)
        back = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
        equal("card of mig", ctypes.addressof(back.contents), ctypes.addressof(handle.contents))
        by_uuid = nvml.nvmlDeviceGetHandleByUUID(instance["uuid"])
        equal("handle by uuid", ctypes.addressof(by_uuid.contents), ctypes.addressof(mig.contents))
        equal("uuid", nvml.nvmlDeviceGetUUID(mig), instance["uuid"])
        equal("name", nvml.nvmlDeviceGetName(mig), f"{card['name']} MIG {instance['profile']}")
        equal("gpu instance", nvml.nvmlDeviceGetGpuInstanceId(mig), instance["gpu_instance"])
        equal("compute instance", nvml.nvmlDeviceGetComputeInstanceId(mig), 0)
        attributes = nvml.nvmlDeviceGetAttributes_v2(mig)
        found = [attributes.multiprocessorCount, attributes.gpuInstanceSliceCount, attributes.memorySizeMB]
        expected = [instance["multiprocessors"], instance["slices"], instance["memory_bytes"] // MIB]
        equal("attributes", found, expected)
        memory = nvml.nvmlDeviceGetMemoryInfo(mig)
        equal("memory", (memory.total, memory.used), (instance["memory_bytes"], instance["held_bytes"]))
        rows = nvml.nvmlDeviceGetComputeRunningProcesses(mig)
        equal("clients", [row.pid for row in rows], instance["pids"])
        equal("ids", {(row.gpuInstanceId, row.computeInstanceId) for row in rows} - {(instance["gpu_instance"], 0)}, set())
        for function in [nvml.nvmlDeviceGetUtilizationRates, nvml.nvmlDeviceGetPowerUsage]:
            refused(function.__name__, NOT_SUPPORTED, function, mig)


def check_counters(handle, card):
    one, two = nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()
    is_supported = nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice
    equal("has counters", is_supported, int(card["architecture"] >= nvml.NVML_DEVICE_ARCH_HOPPER))
    if is_supported:
        request = nvml.c_nvmlGpmMetricsGet_t()
        request.version, request.sample1, request.sample2 = 1, one, two
        for position, metric in enumerate([1, 2, 5, 10, 21, 150]):
            request.metrics[position].metricId = metric
        request.numMetrics = 6
        refused("no samples", INVALID, nvml.nvmlGpmMetricsGet, request)
        nvml.nvmlGpmSampleGet(handle, one)
        time.sleep(0.3)
        nvml.nvmlGpmSampleGet(handle, two)
        nvml.nvmlGpmMetricsGet(request)
        graphics, processors, tensor, memory, received, unknown = list(request.metrics)[:6]
        equal("codes", [metric.nvmlReturn for metric in list(request.metrics)[:6]], [0, 0, 0, 0, 0, NOT_SUPPORTED])
        equal("short name", processors.metricInfo.shortName, b"SMUTIL")
        low, high = (90, 100) if card["busy_pid"] else (0, 0)
        within("graphics", graphics.value, low, high)
        within("multiprocessors", processors.value, low, high)
        within("tensor", tensor.value, low * 0.5, high)
        within("memory", memory.value, low * 0.1, high * 0.5)
        equal("received", received.value, 0)
        equal("unknown", unknown.value, 0)
        request.version = 9
        refused("version", nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvml.nvmlGpmMetricsGet, request)
        none = nvml.NVML_ERROR_NOT_FOUND
        refused("no such instance", none, nvml.nvmlGpmMigSampleGet, handle, 5, one)
    else:
        refused("sample", NOT_SUPPORTED, nvml.nvmlGpmSampleGet, handle, one)
        for instance in card["instances"]:
            refused("sample of an instance", NOT_SUPPORTED, nvml.nvmlGpmMigSampleGet, handle, instance["gpu_instance"], one)
    for sample in [one, two]:
        nvml.nvmlGpmSampleFree(sample)
    refused("freed sample", INVALID, nvml.nvmlGpmSampleFree, one)


class OldEvent(ctypes.Structure):
    _fields_ = [("device", ctypes.c_void_p), ("eventType", ctypes.c_ulonglong), ("eventData", ctypes.c_ulonglong)]


def check_events(board):
    kinds = nvml.nvmlEventTypeXidCriticalError
    events, later = nvml.nvmlEventSetCreate(), nvml.nvmlEventSetCreate()
    for index, card in enumerate(board["cards"]):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        supported = nvml.nvmlDeviceGetSupportedEventTypes(handle)
        equal("xid events", supported & kinds, kinds)
        has_ecc = card["ecc"] != "none"
        equal("ecc events", bool(supported & nvml.nvmlEventTypeDoubleBitEccError), has_ecc)
        refused("no such event", NOT_SUPPORTED, nvml.nvmlDeviceRegisterEvents, handle, 1 << 40, events)
        for register in [events, later]:
            nvml.nvmlDeviceRegisterEvents(handle, kinds, register)
    refused("nothing happened", nvml.NVML_ERROR_TIMEOUT, nvml.nvmlEventSetWait_v2, events, 0)
    expected = board["xid"]
    data = nvml.nvmlEventSetWait_v2(events, 20000)
    handle = nvml.nvmlDeviceGetHandleByIndex(expected["card"])
    found = (ctypes.addressof(data.device.contents), data.eventType, data.eventData, data.gpuInstanceId)
    equal("event", found, (ctypes.addressof(handle.contents), kinds, expected["xid"], 0xFFFFFFFF))
    refused("told once", nvml.NVML_ERROR_TIMEOUT, nvml.nvmlEventSetWait_v2, events, 10)
    old = OldEvent()
    code = direct("nvmlEventSetWait")(later, ctypes.byref(old), ctypes.c_uint(1000))
    equal("event of the older call", (code, old.eventData), (0, expected["xid"]))
    for register in [events, later]:
        nvml.nvmlEventSetFree(register)
    refused("freed set", INVALID, nvml.nvmlEventSetFree, events)
