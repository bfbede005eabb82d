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

MIB = 1 << 20
called = set()
failures = []


def note_lookups():
    original = nvml._nvmlGetFunctionPointer

    def noting(name):
        called.add(name)
        return original(name)

    nvml._nvmlGetFunctionPointer = noting


def direct(name):
    """The function `name` itself, for what the bindings do not wrap."""
    return nvml._nvmlGetFunctionPointer(name)


def equal(what, found, expected):
    if found != expected:
        failures.append(f"{what}: found {found!r}, expected {expected!r}")


def within(what, found, low, high):
    if not low <= found <= high:
        failures.append(f"{what}: found {found!r}, expected {low!r} to {high!r}")


def refused(what, code, function, *arguments):
    try:
        found = function(*arguments)
    except nvml.NVMLError as error:
        equal(what, error.value, code)
    else:
        failures.append(f"{what}: found {found!r}, expected error {code}")


def wait_until(what, is_so):
    deadline = time.monotonic() + 10
    while not is_so():
        if time.monotonic() > deadline:
            failures.append(f"waited ten seconds for: {what}")
            return
        time.sleep(0.02)


def integer(name, *arguments, kind=ctypes.c_uint):
    """Calls a function whose last parameter takes a number, and returns code and number."""
    value = kind(0)
    code = direct(name)(*arguments, ctypes.byref(value))
    return code, value.value


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


def check_neighbours():
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(3)]
    ancestor = nvml.nvmlDeviceGetTopologyCommonAncestor
    equal("topology of one card", ancestor(handles[0], handles[0]), nvml.NVML_TOPOLOGY_INTERNAL)
    equal("topology of one socket", ancestor(handles[0], handles[1]), nvml.NVML_TOPOLOGY_NODE)
    equal("topology of two sockets", ancestor(handles[0], handles[2]), nvml.NVML_TOPOLOGY_SYSTEM)
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
    equal("instances", {row.gpuInstanceId for row in listed} - {0xFFFFFFFF}, set())
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
    equal("fans", nvml.nvmlDeviceGetNumFans(handle), card["fans"])
    if card["fans"]:
        within("fan speed", nvml.nvmlDeviceGetFanSpeed(handle), 30, 100)
        within("fan speed 2", nvml.nvmlDeviceGetFanSpeed_v2(handle, 0), 30, 100)
    else:
        refused("fan speed", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetFanSpeed, handle)
        refused("fan speed 2", nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetFanSpeed_v2, handle, 0)


def check_power(handle, card):
    equal("limit", nvml.nvmlDeviceGetPowerManagementLimit(handle), card["limit_milliwatts"])
    equal("enforced limit", nvml.nvmlDeviceGetEnforcedPowerLimit(handle), card["enforced_milliwatts"])
    equal("default limit", nvml.nvmlDeviceGetPowerManagementDefaultLimit(handle), card["default_milliwatts"])
    equal("limits", nvml.nvmlDeviceGetPowerManagementLimitConstraints(handle), card["limit_range_milliwatts"])
    before = nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    wait_until("energy to grow", lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) > before)


def check_clocks(handle, card):
    highest = [card["sm_mhz"], card["sm_mhz"], card["memory_mhz"], card["sm_mhz"] * 9 // 10]
    for kind, mhz in enumerate(highest):
        equal(f"highest clock {kind}", nvml.nvmlDeviceGetMaxClockInfo(handle, kind), mhz)
        equal(f"boost clock {kind}", nvml.nvmlDeviceGetMaxCustomerBoostClock(handle, kind), mhz)
        within(f"clock {kind}", nvml.nvmlDeviceGetClockInfo(handle, kind), card["idle_mhz"] * 9 // 10, mhz)
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


def check_health(handle, card):
    not_supported = nvml.NVML_ERROR_NOT_SUPPORTED
    volatile, device = nvml.NVML_VOLATILE_ECC, nvml.NVML_MEMORY_LOCATION_DEVICE_MEMORY
    if card["ecc"] == "none":
        refused("ecc mode", not_supported, nvml.nvmlDeviceGetEccMode, handle)
        refused("ecc errors", not_supported, nvml.nvmlDeviceGetTotalEccErrors, handle, 1, volatile)
        refused("place", not_supported, nvml.nvmlDeviceGetMemoryErrorCounter, handle, 1, volatile, device)
    else:
        equal("ecc mode", nvml.nvmlDeviceGetEccMode(handle), [1, 1])
        for kind, errors in enumerate([card["ecc_correctable"], card["ecc_uncorrectable"]]):
            equal("ecc errors", nvml.nvmlDeviceGetTotalEccErrors(handle, kind, volatile), errors)
            counter = nvml.nvmlDeviceGetMemoryErrorCounter
            equal("errors in memory", counter(handle, kind, volatile, device), errors)
            equal("errors in cache", counter(handle, kind, volatile, nvml.NVML_MEMORY_LOCATION_L2_CACHE), 0)
    if card["ecc"] == "row-remapping":
        equal("rows", nvml.nvmlDeviceGetRemappedRows(handle), (0, card["remapped_rows"], 1, 0))
    else:
        refused("rows", not_supported, nvml.nvmlDeviceGetRemappedRows, handle)
    if card["ecc"] == "page-retirement":
        double = nvml.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR
        equal("pages", len(nvml.nvmlDeviceGetRetiredPages(handle, double)), card["remapped_rows"])
        equal("waiting pages", nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle), 1)
    else:
        refused("pages", not_supported, nvml.nvmlDeviceGetRetiredPages, handle, 1)
        refused("waiting pages", not_supported, nvml.nvmlDeviceGetRetiredPagesPendingStatus, handle)


def check_link(handle, card):
    generation = card["generation"] if card["busy_pid"] else card["resting_generation"]
    equal("generation", nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle), generation)
    equal("width", nvml.nvmlDeviceGetCurrPcieLinkWidth(handle), card["current_width"])
    equal("highest generation", nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle), card["generation"])
    equal("highest generation 2", nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration(handle), card["generation"])
    equal("highest width", nvml.nvmlDeviceGetMaxPcieLinkWidth(handle), card["width"])
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


def check_instances(handle, card):
    equal("most mig devices", nvml.nvmlDeviceGetMaxMigDeviceCount(handle), card["mig_devices"])
    equal("is a mig device", nvml.nvmlDeviceIsMigDeviceHandle(handle).value, 0)
    not_supported = nvml.NVML_ERROR_NOT_SUPPORTED
    if card["mig_devices"]:
        equal("mig mode", nvml.nvmlDeviceGetMigMode(handle), [0, 0])
    else:
        refused("mig mode", not_supported, nvml.nvmlDeviceGetMigMode, handle)
    none = nvml.NVML_ERROR_NOT_FOUND if card["mig_devices"] else not_supported
    refused("mig device", none, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, 0)
    refused("card of mig", 2, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, handle)
    refused("gpu instance", not_supported, nvml.nvmlDeviceGetGpuInstanceId, handle)
    refused("compute instance", not_supported, nvml.nvmlDeviceGetComputeInstanceId, handle)


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


def check_settings(handle):
    # Root hears that a box has no such setting, others that they may not.
    code = nvml.NVML_ERROR_NOT_SUPPORTED if os.geteuid() == 0 else nvml.NVML_ERROR_NO_PERMISSION
    refused("set persistence", code, nvml.nvmlDeviceSetPersistenceMode, handle, 1)
    refused("set compute mode", code, nvml.nvmlDeviceSetComputeMode, handle, 0)
    refused("set power limit", code, nvml.nvmlDeviceSetPowerManagementLimit, handle, 100000)
    refused("lock clocks", code, nvml.nvmlDeviceSetGpuLockedClocks, handle, 300, 600)
    refused("unlock clocks", code, nvml.nvmlDeviceResetGpuLockedClocks, handle)
    refused("set accounting", code, nvml.nvmlDeviceSetAccountingMode, handle, 0)


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
        expected |= {142: 0, 143: card["remapped_rows"], 144: 1, 145: 0}
    if card["ecc"] == "page-retirement":
        expected |= {29: 0, 30: card["remapped_rows"], 31: 1}
    if card["ecc"] != "none":
        expected |= {1: 1, 2: 1, 3: card["ecc_correctable"], 4: card["ecc_uncorrectable"]}
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
        check_health(handle, card)
        check_link(handle, card)
        check_modes(handle, card)
        check_instances(handle, card)
        check_accounting(handle, card)
        check_settings(handle)
        check_fields(handle, card)
        failures[before:] = [f"card {index}: {failure}" for failure in failures[before:]]
    nvml.nvmlShutdown()
    missing = sorted(exported - called)
    if missing:
        failures.append(f"no check calls {', '.join(missing)}")
    print("\n".join(failures) or f"{len(exported)} functions agree with the board")
    sys.exit(1 if failures else 0)


main()
