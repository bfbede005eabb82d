"""Calls every function that the library exports and compares the answers with the board.

Arguments: the library's path, and a JSON file with what the board and the members should give.
NVIDIA's own bindings (nvidia-ml-py) make the calls where they have a wrapper; ctypes makes the rest.
Every symbol that is looked up is noted; an exported function that no check has called fails the run.
"""

import ctypes
import json
import os
import re
import sys
import time

import pynvml as nvml

import oracle_health
import oracle_links
import oracle_work
from oracle_base import MIB, called, direct, equal, failures, integer, note_lookups, refused, wait_until, within


def check_library(board):
    equal("nvmlInit_v2", direct("nvmlInit_v2")(), 0)
    equal("nvmlInit", direct("nvmlInit")(), 0)
    equal("driver version", nvml.nvmlSystemGetDriverVersion(), board["driver_version"])
    equal("library version", nvml.nvmlSystemGetNVMLVersion(), "13." + board["driver_version"])
    equal("cuda version", nvml.nvmlSystemGetCudaDriverVersion(), 13000)
    equal("cuda version 2", nvml.nvmlSystemGetCudaDriverVersion_v2(), 13000)
    equal("error text", nvml.nvmlErrorString(15), "GPU is lost")
    equal("count", nvml.nvmlDeviceGetCount(), len(board["cards"]))
    equal("count, first version", integer("nvmlDeviceGetCount"), (0, len(board["cards"])))
    equal("process name", nvml.nvmlSystemGetProcessName(os.getpid()), sys.orig_argv[0])
    refused("name of no process", nvml.NVML_ERROR_NOT_FOUND, nvml.nvmlSystemGetProcessName, 2**22 + 1)


def check_handles(board):
    for index, card in enumerate(board["cards"]):
        by_index = nvml.nvmlDeviceGetHandleByIndex(index)
        same = ctypes.addressof(by_index.contents)
        by_old_call = nvml.c_nvmlDevice_t()
        direct("nvmlDeviceGetHandleByIndex")(ctypes.c_uint(index), ctypes.byref(by_old_call))
        by_old_bus = nvml.c_nvmlDevice_t()
        direct("nvmlDeviceGetHandleByPciBusId")(card["bus_id"].encode(), ctypes.byref(by_old_bus))
        for handle in [
            by_old_call,
            by_old_bus,
            nvml.nvmlDeviceGetHandleByUUID(card["uuid"]),
            nvml.nvmlDeviceGetHandleBySerial(card["serial"].encode()),
            nvml.nvmlDeviceGetHandleByPciBusId(card["bus_id"]),
        ]:
            equal(f"handle of card {index}", ctypes.addressof(handle.contents), same)
    refused("index too high", nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlDeviceGetHandleByIndex, 99)
    refused("unknown uuid", nvml.NVML_ERROR_NOT_FOUND, nvml.nvmlDeviceGetHandleByUUID, "GPU-0")


def check_identity(index, handle, card):
    equal("name", nvml.nvmlDeviceGetName(handle), card["name"])
    equal("uuid", nvml.nvmlDeviceGetUUID(handle), card["uuid"])
    equal("index", nvml.nvmlDeviceGetIndex(handle), index)
    equal("minor number", nvml.nvmlDeviceGetMinorNumber(handle), index)
    if card["brand"] == nvml.NVML_BRAND_GEFORCE:
        refused("serial", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetSerial, handle)
    else:
        equal("serial", nvml.nvmlDeviceGetSerial(handle), card["serial"])
    equal("brand", nvml.nvmlDeviceGetBrand(handle), card["brand"])
    equal("architecture", nvml.nvmlDeviceGetArchitecture(handle), card["architecture"])
    equal("capability", list(nvml.nvmlDeviceGetCudaComputeCapability(handle)), card["compute_capability"])
    equal("cores", nvml.nvmlDeviceGetNumGpuCores(handle), card["cores"])
    equal("bus width", nvml.nvmlDeviceGetMemoryBusWidth(handle), card["memory_bus_bits"])
    within("vbios length", len(nvml.nvmlDeviceGetVbiosVersion(handle)), 14, 14)
    equal("one board", nvml.nvmlDeviceGetMultiGpuBoard(handle), 0)
    equal("board id", nvml.nvmlDeviceGetBoardId(handle), card["bus"] << 8)
    if card["architecture"] >= nvml.NVML_DEVICE_ARCH_TURING:
        equal("firmware", nvml.nvmlDeviceGetGspFirmwareMode(handle), [1, 1])
        equal("firmware version", nvml.nvmlDeviceGetGspFirmwareVersion(handle), card["driver_version"].encode())
    check_inforom(handle, card)
    old_call = nvml.nvmlPciInfo_t()
    equal("pci info, second version", direct("nvmlDeviceGetPciInfo_v2")(handle, ctypes.byref(old_call)), 0)
    for pci in [nvml.nvmlDeviceGetPciInfo_v3(handle), old_call]:
        equal("pci address", (pci.domain, pci.bus, pci.device), (0, card["bus"], 0))
        equal("pci device", pci.pciDeviceId, card["pci_device"] << 16 | 0x10DE)
        equal("pci subsystem", pci.pciSubSystemId, card["pci_subsystem"] << 16 | 0x10DE)
        equal("pci bus id", pci.busId, card["bus_id"])
        equal("pci legacy bus id", pci.busIdLegacy, card["bus_id"][4:])
    mask = 0
    for shift, word in enumerate(nvml.nvmlDeviceGetCpuAffinity(handle, 4)):
        mask |= word << 64 * shift
    equal("processors", bin(mask).count("1"), os.cpu_count())


def check_inforom(handle, card):
    image = nvml.nvmlDeviceGetInforomImageVersion
    part = nvml.nvmlDeviceGetInforomVersion
    if card["brand"] == nvml.NVML_BRAND_GEFORCE:
        expected = nvml.NVML_ERROR_NOT_SUPPORTED
    elif card["inforom_corrupt"]:
        expected = nvml.NVML_ERROR_CORRUPTED_INFOROM
    else:
        within("image version", len(image(handle)), 14, 16)
        equal("board object", part(handle, nvml.NVML_INFOROM_OEM), "2.0")
        refused("power object", nvml.NVML_ERROR_NOT_SUPPORTED, part, handle, nvml.NVML_INFOROM_POWER)
        nvml.nvmlDeviceValidateInforom(handle)
        return
    refused("image version", expected, image, handle)
    refused("object version", expected, part, handle, 0)
    refused("inforom", expected, nvml.nvmlDeviceValidateInforom, handle)


def check_neighbours():
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(3)]
    ancestor = nvml.nvmlDeviceGetTopologyCommonAncestor
    equal("topology of one card", ancestor(handles[0], handles[0]), nvml.NVML_TOPOLOGY_INTERNAL)
    equal("topology of one socket", ancestor(handles[0], handles[1]), nvml.NVML_TOPOLOGY_NODE)
    equal("topology of two sockets", ancestor(handles[0], handles[2]), nvml.NVML_TOPOLOGY_SYSTEM)
    nearest = nvml.nvmlDeviceGetTopologyNearestGpus(handles[0], nvml.NVML_TOPOLOGY_NODE)
    equal("nearest", [ctypes.addressof(one.contents) for one in nearest], [ctypes.addressof(handles[1].contents)])
    equal("nearer", len(nvml.nvmlDeviceGetTopologyNearestGpus(handles[0], nvml.NVML_TOPOLOGY_SINGLE)), 0)
    equal("processors' memory", list(nvml.nvmlDeviceGetMemoryAffinity(handles[0], 2, 0)), [1, 0])
    refused("own node", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetNumaNodeId, handles[0])
    same_board = nvml.nvmlDeviceOnSameBoard
    equal("same board", [same_board(handles[0], other) for other in handles[:2]], [1, 0])


def check_memory(handle, card):
    total, held = card["memory_bytes"], card["held_bytes"]
    reserved = card["reserved_bytes"]
    one = nvml.nvmlDeviceGetMemoryInfo(handle)
    equal("memory", (one.total, one.used, one.free), (total, held + reserved, total - held - reserved))
    two = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    equal("memory 2", (two.total, two.used, two.free, two.reserved), (total, held, one.free, reserved))
    refused("memory 3", nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvml.nvmlDeviceGetMemoryInfo, handle, 3)
    bar1 = nvml.nvmlDeviceGetBAR1MemoryInfo(handle)
    equal("bar1 total", bar1.bar1Total, card["bar1_bytes"])
    equal("bar1 used", bar1.bar1Used, MIB + 2 * MIB * len(card["clients"]))
    equal("bar1 free", bar1.bar1Free, bar1.bar1Total - bar1.bar1Used)
    if card["architecture"] >= nvml.NVML_DEVICE_ARCH_HOPPER:
        sizes = nvml.nvmlDeviceGetConfComputeMemSizeInfo(handle)
        equal("protected", (sizes.protectedMemSizeKib, sizes.unprotectedMemSizeKib), (0, total >> 10))
    else:
        refused(
            "protected", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetConfComputeMemSizeInfo, handle
        )


def rows(name, handle, kind):
    count = ctypes.c_uint(0)
    code = direct(name)(handle, ctypes.byref(count), None)
    if count.value == 0:
        return code, []
    equal(f"{name} without rows", code, nvml.NVML_ERROR_INSUFFICIENT_SIZE)
    found = (kind * count.value)()
    code = direct(name)(handle, ctypes.byref(count), found)
    return code, [(row.pid, row.usedGpuMemory) for row in found]


class ShortRow(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("usedGpuMemory", ctypes.c_ulonglong)]


class LongRow(ctypes.Structure):
    _fields_ = ShortRow._fields_ + [("gpuInstanceId", ctypes.c_uint), ("computeInstanceId", ctypes.c_uint)]


def check_processes(handle, card):
    expected = sorted((client["pid"], client["bytes"]) for client in card["clients"])
    listed = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
    equal("compute processes", sorted((row.pid, row.usedGpuMemory) for row in listed), expected)
    ids = {card["instances"][0]["gpu_instance"]} if card["instances"] else {0xFFFFFFFF}
    equal("instances", {row.gpuInstanceId for row in listed} - ids, set())
    equal("graphics processes", nvml.nvmlDeviceGetGraphicsRunningProcesses(handle), [])
    equal("mps processes", nvml.nvmlDeviceGetMPSComputeRunningProcesses(handle), [])
    for family, content in [("Compute", expected), ("Graphics", []), ("MPSCompute", [])]:
        for suffix, kind in [("", ShortRow), ("_v2", LongRow), ("_v3", LongRow)]:
            name = f"nvmlDeviceGet{family}RunningProcesses{suffix}"
            code, found = rows(name, handle, kind)
            equal(name, (code, sorted(found)), (0, content))
    details = nvml.nvmlDeviceGetRunningProcessDetailList(handle, nvml.nvmlProcessDetailList_v1, 0)
    equal("details", sorted((row.pid, row.usedGpuMemory) for row in details), expected)
    graphics = nvml.nvmlDeviceGetRunningProcessDetailList(handle, nvml.nvmlProcessDetailList_v1, 1)
    equal("details of graphics", graphics, [])


def check_work(handle, card):
    busy = card["busy_pid"]
    period = card["utilization_period_ms"] * 1000
    if card["instances"]:
        check_work_of_cut_card(handle)
        return
    equal("encoder", nvml.nvmlDeviceGetEncoderUtilization(handle), [0, period])
    equal("decoder", nvml.nvmlDeviceGetDecoderUtilization(handle), [0, period])
    if busy is None:
        rates = nvml.nvmlDeviceGetUtilizationRates(handle)
        equal("utilization of an idle card", (rates.gpu, rates.memory), (0, 0))
        not_found = nvml.NVML_ERROR_NOT_FOUND
        refused("process samples", not_found, nvml.nvmlDeviceGetProcessUtilization, handle, 0)
        refused("process infos", not_found, nvml.nvmlDeviceGetProcessesUtilizationInfo, handle, 0)
        low, high = card["rest_milliwatts"]
        # The sensor of newer cards averages over a second, and the holder may have come just now.
        wait_until("the power of a resting card", lambda: low <= nvml.nvmlDeviceGetPowerUsage(handle) <= high)
    else:
        wait_until("a busy card", lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu >= 80)
        within("memory utilization", nvml.nvmlDeviceGetUtilizationRates(handle).memory, 10, 40)
        for function in [nvml.nvmlDeviceGetProcessUtilization, nvml.nvmlDeviceGetProcessesUtilizationInfo]:
            samples = function(handle, 0)
            equal("process of the samples", [sample.pid for sample in samples], [busy])
            wait_until("a busy second", lambda: function(handle, 0)[0].smUtil >= 70)
            within("age of the sample", time.time() - samples[0].timeStamp / 1e6, -0.1, 5)
        limit = card["enforced_milliwatts"]
        wait_until(
            "power at the limit", lambda: 0.85 * limit <= nvml.nvmlDeviceGetPowerUsage(handle) <= 1.1 * limit
        )
    for kind in range(7):
        value_type, samples = nvml.nvmlDeviceGetSamples(handle, kind, 0)
        equal("sample type", value_type, nvml.NVML_VALUE_TYPE_UNSIGNED_INT)
        stamps = [sample.timeStamp for sample in samples]
        equal(f"order of samples {kind}", stamps, sorted(set(stamps)))
        newest = nvml.nvmlDeviceGetSamples(handle, kind, stamps[-2])[1]
        equal(f"newer samples {kind}", newest[0].timeStamp, stamps[-1])
    refused("samples of no kind", nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlDeviceGetSamples, handle, 10, 0)


def check_work_of_cut_card(handle):
    not_supported = nvml.NVML_ERROR_NOT_SUPPORTED
    for function in [
        nvml.nvmlDeviceGetUtilizationRates,
        nvml.nvmlDeviceGetEncoderUtilization,
        nvml.nvmlDeviceGetDecoderUtilization,
    ]:
        refused("work of a card that is cut", not_supported, function, handle)
    refused("process samples", not_supported, nvml.nvmlDeviceGetProcessUtilization, handle, 0)
    refused("samples", not_supported, nvml.nvmlDeviceGetSamples, handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, 0)


def check_heat(handle, card):
    temperature = nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    within("temperature", temperature, 28, card["maximum_operating"])
    within("temperature 2", nvml.nvmlDeviceGetTemperatureV(handle, 0), temperature - 2, temperature + 2)
    refused("other sensor", nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlDeviceGetTemperature, handle, 7)
    threshold = nvml.nvmlDeviceGetTemperatureThreshold
    equal("slowdown", threshold(handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN), card["slowdown"])
    equal("shutdown", threshold(handle, nvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN), card["shutdown"])
    equal("maximum", threshold(handle, nvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX), card["maximum_operating"])
    if card["margin"]:
        margin = nvml.nvmlDeviceGetMarginTemperature(handle)
        within("margin", margin + temperature, card["maximum_operating"] - 2, card["maximum_operating"] + 2)
    else:
        refused("margin", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetMarginTemperature, handle)


def check_power(handle, card):
    equal("limit", nvml.nvmlDeviceGetPowerManagementLimit(handle), card["limit_milliwatts"])
    equal("enforced limit", nvml.nvmlDeviceGetEnforcedPowerLimit(handle), card["enforced_milliwatts"])
    equal("default limit", nvml.nvmlDeviceGetPowerManagementDefaultLimit(handle), card["default_milliwatts"])
    equal("limits", nvml.nvmlDeviceGetPowerManagementLimitConstraints(handle), card["limit_range_milliwatts"])
    equal("power is limited", nvml.nvmlDeviceGetPowerManagementMode(handle), 1)
    before = nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    wait_until("energy to grow", lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) > before)


def check_clocks(handle, card):
    highest = [card["sm_mhz"], card["sm_mhz"], card["memory_mhz"], card["sm_mhz"] * 9 // 10]
    for kind, mhz in enumerate(highest):
        equal(f"highest clock {kind}", nvml.nvmlDeviceGetMaxClockInfo(handle, kind), mhz)
        equal(f"boost clock {kind}", nvml.nvmlDeviceGetMaxCustomerBoostClock(handle, kind), mhz)
        within(f"clock {kind}", nvml.nvmlDeviceGetClockInfo(handle, kind), card["idle_mhz"] * 9 // 10, mhz)
        equal(f"set clock {kind}", nvml.nvmlDeviceGetApplicationsClock(handle, kind), mhz)
        equal(f"usual clock {kind}", nvml.nvmlDeviceGetDefaultApplicationsClock(handle, kind), mhz)
        equal(f"highest settable clock {kind}", nvml.nvmlDeviceGetClock(handle, kind, 3), mhz)
        lowest, most = nvml.nvmlDeviceGetMinMaxClockOfPState(handle, kind, card["busy_state"])
        equal(f"highest clock of a state {kind}", most, mhz)
        within(f"lowest clock of a state {kind}", lowest, 1, mhz)
    refused("no state", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetMinMaxClockOfPState, handle, 1, 15)
    state = nvml.nvmlDeviceGetPerformanceState(handle)
    equal("performance state", state, card["busy_state"] if card["busy_pid"] else card["held_state"])
    equal("power state", nvml.nvmlDeviceGetPowerState(handle), state)
    for function in [
        nvml.nvmlDeviceGetSupportedClocksEventReasons,
        nvml.nvmlDeviceGetSupportedClocksThrottleReasons,
    ]:
        equal("known reasons", function(handle), 0x1FF)
    for function in [
        nvml.nvmlDeviceGetCurrentClocksEventReasons,
        nvml.nvmlDeviceGetCurrentClocksThrottleReasons,
    ]:
        if card["busy_pid"] is None:
            equal("reason of an idle card", function(handle), nvml.nvmlClocksEventReasonGpuIdle)
        else:
            wait_until("a power cap", lambda: function(handle) & nvml.nvmlClocksEventReasonSwPowerCap)
    power = nvml.nvmlDeviceGetViolationStatus(handle, nvml.NVML_PERF_POLICY_POWER)
    equal("capped time", power.violationTime > 0, card["busy_pid"] is not None)
    within("time of the violation", time.time() - power.referenceTime / 1e6, -0.1, 5)


def check_link(handle, card):
    generation = card["generation"] if card["busy_pid"] else card["resting_generation"]
    equal("generation", nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle), generation)
    equal("width", nvml.nvmlDeviceGetCurrPcieLinkWidth(handle), card["current_width"])
    equal("highest generation", nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle), card["generation"])
    equal("highest generation 2", nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration(handle), card["generation"])
    equal("highest width", nvml.nvmlDeviceGetMaxPcieLinkWidth(handle), card["width"])
    equal("highest speed", nvml.nvmlDeviceGetPcieLinkMaxSpeed(handle), card["generation"])
    speeds = {1: 2500, 3: 8000, 4: 16000, 5: 32000}
    equal("speed", nvml.nvmlDeviceGetPcieSpeed(handle), speeds[generation])
    started = time.monotonic()
    equal("throughput", nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_RX_BYTES), 0)
    within("time of a throughput call", time.monotonic() - started, 0.02, 1)
    refused("throughput of no counter", 2, nvml.nvmlDeviceGetPcieThroughput, handle, 2)
    replays = nvml.nvmlDeviceGetPcieReplayCounter
    if card["replays_per_s"]:
        before = replays(handle)
        wait_until("replays", lambda: replays(handle) > before)
    else:
        equal("replays", replays(handle), 0)


def check_modes(handle, card):
    equal("persistence", nvml.nvmlDeviceGetPersistenceMode(handle), 1)
    equal("compute mode", nvml.nvmlDeviceGetComputeMode(handle), card["compute_mode"])
    equal("display", nvml.nvmlDeviceGetDisplayMode(handle), card["display"])
    equal("display active", nvml.nvmlDeviceGetDisplayActive(handle), card["display"])
    not_supported = nvml.NVML_ERROR_NOT_SUPPORTED
    refused("driver model", not_supported, nvml.nvmlDeviceGetDriverModel, handle)
    models = ctypes.c_uint(), ctypes.c_uint()
    code = direct("nvmlDeviceGetDriverModel")(handle, *map(ctypes.byref, models))
    equal("driver model, first version", code, not_supported)


def check_accounting(handle, card):
    equal("accounting", nvml.nvmlDeviceGetAccountingMode(handle), 1)
    equal("accounting buffer", nvml.nvmlDeviceGetAccountingBufferSize(handle), 4000)
    pids = sorted(client["pid"] for client in card["clients"])
    equal("accounted processes", sorted(nvml.nvmlDeviceGetAccountingPids(handle)), pids)
    for client in card["clients"]:
        stats = nvml.nvmlDeviceGetAccountingStats(handle, client["pid"])
        equal("accounted memory", stats.maxMemoryUsage, client["bytes"])
        equal("running", (stats.isRunning, stats.time), (1, 0))
        is_busy = client["pid"] == card["busy_pid"]
        within("accounted work", stats.gpuUtilization, *((20, 100) if is_busy else (0, 0)))
    refused("no process", nvml.NVML_ERROR_NOT_FOUND, nvml.nvmlDeviceGetAccountingStats, handle, 1)


def check_settings(handle, card):
    limit = int(card["limit_milliwatts"])
    calls = [
        (nvml.nvmlDeviceSetPersistenceMode, 1),
        (nvml.nvmlDeviceSetComputeMode, card["compute_mode"]),
        (nvml.nvmlDeviceSetPowerManagementLimit, limit),
        (nvml.nvmlDeviceSetGpuLockedClocks, 300, card["sm_mhz"]),
        (nvml.nvmlDeviceResetGpuLockedClocks,),
    ]
    if os.geteuid() != 0:
        for function, *arguments in calls:
            refused("a setting", nvml.NVML_ERROR_NO_PERMISSION, function, handle, *arguments)
        refused("accounting", nvml.NVML_ERROR_NO_PERMISSION, nvml.nvmlDeviceSetAccountingMode, handle, 0)
        return
    for function, *arguments in calls:
        function(handle, *arguments)
    invalid = nvml.NVML_ERROR_INVALID_ARGUMENT
    refused("power limit", invalid, nvml.nvmlDeviceSetPowerManagementLimit, handle, 1)
    refused("compute mode", invalid, nvml.nvmlDeviceSetComputeMode, handle, 7)
    refused("accounting", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceSetAccountingMode, handle, 0)
    equal("limit", nvml.nvmlDeviceGetPowerManagementLimit(handle), limit)


def check_fields(handle, card):
    expected = {
        185: None,
        186: None,
        187: card["limit_range_milliwatts"][0],
        188: card["limit_range_milliwatts"][1],
        189: card["default_milliwatts"],
        190: card["enforced_milliwatts"],
        192: card["limit_milliwatts"],
        197: 0,
        198: 0,
        269: 0,
        270: 0,
        271: 0,
        74: None,
        83: None,
        94: None,
    }
    if card["ecc"] == "row-remapping":
        expected |= {142: card["rows"][0], 143: card["rows"][1], 144: 1, 145: 0, 301: 0, 302: 0}
    if card["ecc"] == "page-retirement":
        expected |= {29: card["rows"][0], 30: card["rows"][1], 31: 1, 92: 0, 93: 1}
    if card["ecc"] != "none":
        expected |= {1: 1, 2: 1, 3: sum(card["corrected"]), 4: sum(card["uncorrected"])}
        expected |= {5: sum(card["corrected"]), 6: sum(card["uncorrected_ever"])}
        expected |= {11: card["corrected"][0], 23: card["uncorrected_ever"][0]}
    if card["architecture"] >= nvml.NVML_DEVICE_ARCH_AMPERE:
        expected |= {169: 0, 173: card["link_errors"], 180: 0, 176: (card["link_errors"] + 1) // 2}
    expected |= {230: 0, 95: 0}
    values = nvml.nvmlDeviceGetFieldValues(handle, list(expected))
    for value, (field, figure) in zip(values, expected.items()):
        equal(f"field {field}", (value.fieldId, value.nvmlReturn), (field, 0))
        is_long = value.valueType == nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        found = value.value.ullVal if is_long else value.value.uiVal
        if figure is not None:
            equal(f"field {field}", found, figure)
        within("age of a field", time.time() - value.timestamp / 1e6, -0.1, 5)
    shutdown, slowdown, unknown = nvml.nvmlDeviceGetFieldValues(handle, [193, 194, 5000])
    equal("unknown field", unknown.nvmlReturn, nvml.NVML_ERROR_INVALID_ARGUMENT)
    if card["margin"]:
        distances = (shutdown.value.siVal, slowdown.value.siVal)
        maximum = card["maximum_operating"]
        equal("distances", distances, (maximum - card["shutdown"], maximum - card["slowdown"]))
    else:
        equal("distances", shutdown.nvmlReturn, nvml.NVML_ERROR_NOT_SUPPORTED)


def exports(library):
    """The functions that the library exports: names in its string tables that the dynamic linker finds."""
    with open(library, "rb") as file:
        names = {name.decode() for name in re.findall(rb"\0(nvml[A-Z][A-Za-z0-9_]*)(?=\0)", file.read())}
    loaded = ctypes.CDLL(library)
    return {name for name in names if hasattr(loaded, name)}


def main():
    library, expectation = sys.argv[1:]
    exported = exports(library)
    with open(expectation, encoding="utf-8") as file:
        board = json.load(file)
    note_lookups()
    nvml.nvmlInit()
    check_library(board)
    check_handles(board)
    check_neighbours()
    oracle_work.check_events(board)
    for index, card in enumerate(board["cards"]):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        before = len(failures)
        check_work(handle, card)
        check_identity(index, handle, card)
        check_memory(handle, card)
        check_processes(handle, card)
        check_heat(handle, card)
        check_power(handle, card)
        check_clocks(handle, card)
        oracle_health.check(handle, card)
        check_link(handle, card)
        check_modes(handle, card)
        oracle_links.check(handle, card, board)
        oracle_work.check(handle, card)
        check_accounting(handle, card)
        check_settings(handle, card)
        check_fields(handle, card)
        failures[before:] = [f"card {index}: {failure}" for failure in failures[before:]]
    nvml.nvmlShutdown()
    missing = sorted(exported - called)
    if missing:
        failures.append(f"no check calls {', '.join(missing)}")
    print("\n".join(failures) or f"{len(exported)} functions agree with the board")
    sys.exit(1 if failures else 0)


main()
