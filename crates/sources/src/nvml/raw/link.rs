//! How cards are joined, as the library says it.

use nvml_wrapper_sys::bindings::{nvmlGpuFabricInfo_t, nvmlGpuFabricInfo_v2_t, nvmlGpuFabricInfoV_t};

use super::{Answer, Device, Library, Refusal, card_choice, card_value, filled, found, version};

/// Whether one card may read the other's memory (`NVML_P2P_CAPS_INDEX_READ`).
const READ: u32 = 0;

/// A card's place in the fabric, as the library gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nvml) struct FabricAnswer {
    pub(in crate::nvml) state: u8,
    pub(in crate::nvml) status: u32,
    pub(in crate::nvml) health: u32,
}

impl Library {
    pub(in crate::nvml) fn link_generation(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetCurrPcieLinkGeneration, device)
    }

    pub(in crate::nvml) fn link_width(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetCurrPcieLinkWidth, device)
    }

    pub(in crate::nvml) fn maximum_link_generation(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetMaxPcieLinkGeneration, device)
    }

    /// Returns the highest generation of the card itself, whatever its slot can.
    pub(in crate::nvml) fn maximum_card_generation(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetGpuMaxPcieLinkGeneration, device)
    }

    pub(in crate::nvml) fn maximum_link_width(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetMaxPcieLinkWidth, device)
    }

    pub(in crate::nvml) fn replays(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPcieReplayCounter, device)
    }

    /// Returns kilobytes per second over 20 ms, for which it blocks.
    pub(in crate::nvml) fn throughput(&self, device: Device, counter: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetPcieThroughput, device, counter)
    }

    /// Returns whether an `NVLink` is up.
    pub(in crate::nvml) fn nvlink_state(&self, device: Device, link: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetNvLinkState, device, link)
    }

    pub(in crate::nvml) fn nvlink_version(&self, device: Device, link: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetNvLinkVersion, device, link)
    }

    /// Returns what kind of thing stands at the other end.
    pub(in crate::nvml) fn nvlink_remote(&self, device: Device, link: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetNvLinkRemoteDeviceType, device, link)
    }

    pub(in crate::nvml) fn nvlink_errors(&self, device: Device, link: u32, counter: u32) -> Answer<u64> {
        let function = found(&self.functions.nvmlDeviceGetNvLinkErrorCounter)?;
        // SAFETY: writes one unsigned long long.
        filled(|count| unsafe { function(device.0, link, counter, count) })
    }

    /// Returns the card's place in the fabric, asked in the newest form that the library knows.
    pub(in crate::nvml) fn fabric(&self, device: Device) -> Answer<FabricAnswer> {
        match self.fabric_v3(device) {
            Err(refusal) if refusal.is_unknown_form() => {}
            answer => return answer,
        }
        match self.fabric_v2(device) {
            Err(refusal) if refusal.is_unknown_form() => {}
            answer => return answer,
        }
        let answer: Answer<nvmlGpuFabricInfo_t> =
            card_value(&self.functions.nvmlDeviceGetGpuFabricInfo, device);
        answer.map(|fabric| FabricAnswer { state: fabric.state, status: fabric.status, health: 0 })
    }

    fn fabric_v3(&self, device: Device) -> Answer<FabricAnswer> {
        let function = found(&self.functions.nvmlDeviceGetGpuFabricInfoV)?;
        // SAFETY: writes one structure, whose version word, set before, says its size.
        let fabric = filled(|fabric: *mut nvmlGpuFabricInfoV_t| unsafe {
            (*fabric).version = version::<nvmlGpuFabricInfoV_t>(3);
            function(device.0, fabric)
        })?;
        Ok(FabricAnswer { state: fabric.state, status: fabric.status, health: fabric.healthMask })
    }

    fn fabric_v2(&self, device: Device) -> Answer<FabricAnswer> {
        let function = found(&self.functions.nvmlDeviceGetGpuFabricInfoV)?;
        // SAFETY: the library writes the structure that the version word, set before, names: this one, and the one of
        // the signature begins alike and is larger, so that the room is enough for either.
        let fabric = filled(|fabric: *mut nvmlGpuFabricInfoV_t| unsafe {
            (*fabric).version = version::<nvmlGpuFabricInfo_v2_t>(2);
            function(device.0, fabric)
        })?;
        Ok(FabricAnswer { state: fabric.state, status: fabric.status, health: fabric.healthMask })
    }

    /// Returns the farthest thing on the way between two cards (`nvmlGpuTopologyLevel_t`).
    pub(in crate::nvml) fn common_ancestor(&self, one: Device, other: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetTopologyCommonAncestor)?;
        // SAFETY: writes one enumeration value.
        filled(|level| unsafe { function(one.0, other.0, level) })
    }

    /// Returns whether one card may read the other's memory (`nvmlGpuP2PStatus_t`).
    pub(in crate::nvml) fn peer_to_peer(&self, one: Device, other: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetP2PStatus)?;
        // SAFETY: writes one enumeration value.
        filled(|status| unsafe { function(one.0, other.0, READ, status) })
    }
}

impl Refusal {
    /// Returns whether the library knows this structure only in an older form; some older drivers call it an invalid
    /// argument.
    const fn is_unknown_form(self) -> bool {
        self.is_unknown_function() || matches!(self, Self::Code(Self::INVALID_ARGUMENT))
    }
}
