"""NVLink, the fabric, and peers."""

import ctypes

import pynvml as nvml

from oracle_base import direct, equal, refused

NOT_SUPPORTED = nvml.NVML_ERROR_NOT_SUPPORTED
INVALID = nvml.NVML_ERROR_INVALID_ARGUMENT
# The bindings have a tuple in place of this number.
READ = 0


def check(handle, card, board):
    check_links(handle, card, board)
    check_link_fields(handle, card)
    check_fabric(handle, card)
    check_peers(handle, card, board)


def check_links(handle, card, board):
    calls = [
        nvml.nvmlDeviceGetNvLinkState,
        nvml.nvmlDeviceGetNvLinkVersion,
        nvml.nvmlDeviceGetNvLinkRemotePciInfo,
        nvml.nvmlDeviceGetNvLinkRemoteDeviceType,
    ]
    if not card["links"]:
        for function in calls:
            refused(function.__name__, NOT_SUPPORTED, function, handle, 0)
        return
    refused("no such link", INVALID, nvml.nvmlDeviceGetNvLinkState, handle, 18)
    for link in range(card["links"]):
        is_up = link in card["links_up"]
        equal(f"link {link}", nvml.nvmlDeviceGetNvLinkState(handle, link), int(is_up))
        equal("version", nvml.nvmlDeviceGetNvLinkVersion(handle, link), card["link_version"])
        equal("peers", nvml.nvmlDeviceGetNvLinkCapability(handle, link, nvml.NVML_NVLINK_CAP_P2P_SUPPORTED), 1)
        equal("graphics", nvml.nvmlDeviceGetNvLinkCapability(handle, link, nvml.NVML_NVLINK_CAP_SLI_BRIDGE), 0)
        for counter in range(5):
            expected = card["checksum_errors"] if (link, counter) == (0, 2) else 0
            equal("errors", nvml.nvmlDeviceGetNvLinkErrorCounter(handle, link, counter), expected)
        if not is_up:
            for function in calls[2:]:
                refused(function.__name__, NOT_SUPPORTED, function, handle, link)
            continue
        peer = board["cards"][card["link_peers"][link]]
        old_call = nvml.nvmlPciInfo_t()
        direct("nvmlDeviceGetNvLinkRemotePciInfo")(handle, link, ctypes.byref(old_call))
        for pci in [nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link), old_call]:
            equal("peer", pci.busId, peer["bus_id"])
        equal("kind", nvml.nvmlDeviceGetNvLinkRemoteDeviceType(handle, link), 0)
    refused("no counter", INVALID, nvml.nvmlDeviceGetNvLinkErrorCounter, handle, 0, 9)
    refused("no capability", INVALID, nvml.nvmlDeviceGetNvLinkCapability, handle, 0, 99)


def check_link_fields(handle, card):
    def fields(*questions):
        return nvml.nvmlDeviceGetFieldValues(handle, list(questions))

    everything = 0xFFFFFFFF
    if not card["links"]:
        for value in fields(91, 38, (164, 0), (138, everything)):
            equal(f"field {value.fieldId}", value.nvmlReturn, NOT_SUPPORTED)
        return
    count, total, common = fields(91, 38, 90)
    equal("links", count.value.uiVal, card["links"])
    equal("checksum errors", total.value.ullVal, card["checksum_errors"])
    for link in range(card["links"]):
        is_up = link in card["links_up"]
        speed, state, version, errors = fields((164, link), (165, link), (166, link), (163, link))
        equal(f"speed {link}", speed.value.uiVal, card["link_speed"] if is_up else 0)
        equal("state", state.value.uiVal, int(is_up))
        equal("version", version.value.uiVal, card["link_version"])
        equal("checksum errors of a link", errors.value.ullVal, 0 if link else card["checksum_errors"])
    equal("common speed", common.value.uiVal, card["link_speed"] if 0 in card["links_up"] else 0)
    for value in fields((138, everything), (139, 0), (140, everything), (141, 1)):
        equal("nothing moves", (value.nvmlReturn, value.value.ullVal), (0, 0))
    newer, wrong = fields((208, 0), (164, 18))
    equal("newer counter", newer.nvmlReturn, 0 if card["link_version"] >= 5 else NOT_SUPPORTED)
    equal("no such link", wrong.nvmlReturn, INVALID)


def check_fabric(handle, card):
    info = nvml.c_nvmlGpuFabricInfo_t()
    older = nvml.nvmlDeviceGetGpuFabricInfo
    newer = nvml.nvmlDeviceGetGpuFabricInfoV
    third = (ctypes.c_ubyte * 40)()
    third[0], third[3] = 40, 3
    if card["architecture"] < nvml.NVML_DEVICE_ARCH_HOPPER:
        refused("fabric", NOT_SUPPORTED, older, handle, ctypes.byref(info))
        refused("fabric 3", NOT_SUPPORTED, newer, handle, ctypes.byref(third))
        return
    # A board without switches has nothing to register with.
    older(handle, ctypes.byref(info))
    equal("fabric", (info.state, info.status), (0, 0))
    newer(handle, ctypes.byref(third))
    equal("fabric 3", (third[0], third[28], third[36]), (40, 0, 0))
    third[3] = 9
    refused("version", nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH, newer, handle, ctypes.byref(third))


def check_peers(handle, card, board):
    for index, other in enumerate(board["cards"]):
        if other is card:
            continue
        peer = nvml.nvmlDeviceGetHandleByIndex(index)
        status = nvml.nvmlDeviceGetP2PStatus
        equal("reads", status(handle, peer, READ), nvml.NVML_P2P_STATUS_OK)
        linked = card["links_up"] and other["links_up"]
        expected = nvml.NVML_P2P_STATUS_OK if linked else nvml.NVML_P2P_STATUS_NOT_SUPPORTED
        equal("over nvlink", status(handle, peer, nvml.NVML_P2P_CAPS_INDEX_NVLINK), expected)
        refused("no capability", INVALID, status, handle, peer, 99)
