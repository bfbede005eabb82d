//! What the library says of a card's health.

use nvml_wrapper_sys::bindings::{
    nvmlEccSramErrorStatus_t, nvmlFanSpeedInfo_t, nvmlRowRemapperHistogramValues_t, nvmlViolationTime_t,
};

use super::{Answer, Device, Library, accepted, card_choice, card_text, card_value, filled, found, version};

/// Rows of memory that were replaced, as the library counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nvml) struct RowsReplaced {
    pub(in crate::nvml) corrected: u32,
    pub(in crate::nvml) uncorrected: u32,
    pub(in crate::nvml) pending: u32,
    pub(in crate::nvml) failed: u32,
}

/// Banks by how many spare rows they have left.
pub(in crate::nvml) type RowsOfSpares = nvmlRowRemapperHistogramValues_t;

impl Library {
    /// Returns the mode of error correction that is in force.
    pub(in crate::nvml) fn ecc_mode(&self, device: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetEccMode)?;
        let (mut current, mut pending) = (0, 0);
        // SAFETY: writes two enumeration values.
        accepted(unsafe { function(device.0, &raw mut current, &raw mut pending) })?;
        Ok(current)
    }

    /// Returns the errors of all memories, by kind (corrected 0, uncorrected 1) and counter (volatile 0, aggregate 1).
    pub(in crate::nvml) fn ecc_errors(&self, device: Device, kind: u32, counter: u32) -> Answer<u64> {
        let function = found(&self.functions.nvmlDeviceGetTotalEccErrors)?;
        // SAFETY: writes one unsigned long long.
        filled(|count| unsafe { function(device.0, kind, counter, count) })
    }

    /// Returns the errors of one memory.
    pub(in crate::nvml) fn memory_errors(
        &self,
        device: Device,
        kind: u32,
        counter: u32,
        location: u32,
    ) -> Answer<u64> {
        let function = found(&self.functions.nvmlDeviceGetMemoryErrorCounter)?;
        // SAFETY: writes one unsigned long long.
        filled(|count| unsafe { function(device.0, kind, counter, location, count) })
    }

    pub(in crate::nvml) fn sram_status(&self, device: Device) -> Answer<nvmlEccSramErrorStatus_t> {
        let function = found(&self.functions.nvmlDeviceGetSramEccErrorStatus)?;
        // SAFETY: writes one structure, whose version word, set before, says its size.
        filled(|status: *mut nvmlEccSramErrorStatus_t| unsafe {
            (*status).version = version::<nvmlEccSramErrorStatus_t>(1);
            function(device.0, status)
        })
    }

    pub(in crate::nvml) fn replaced_rows(&self, device: Device) -> Answer<RowsReplaced> {
        let function = found(&self.functions.nvmlDeviceGetRemappedRows)?;
        let mut rows = RowsReplaced { corrected: 0, uncorrected: 0, pending: 0, failed: 0 };
        // SAFETY: writes four unsigned ints.
        accepted(unsafe {
            function(
                device.0,
                &raw mut rows.corrected,
                &raw mut rows.uncorrected,
                &raw mut rows.pending,
                &raw mut rows.failed,
            )
        })?;
        Ok(rows)
    }

    pub(in crate::nvml) fn spare_rows(&self, device: Device) -> Answer<RowsOfSpares> {
        card_value(&self.functions.nvmlDeviceGetRowRemapperHistogram, device)
    }

    /// Returns for how many nanoseconds a policy has held the card back.
    pub(in crate::nvml) fn violation(&self, device: Device, policy: u32) -> Answer<u64> {
        let answer: Answer<nvmlViolationTime_t> =
            card_choice(&self.functions.nvmlDeviceGetViolationStatus, device, policy);
        answer.map(|time| time.violationTime)
    }

    /// Returns the speed of the fan, or of the only fan that older drivers know.
    pub(in crate::nvml) fn fan(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetFanSpeed, device)
    }

    pub(in crate::nvml) fn fan_count(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetNumFans, device)
    }

    pub(in crate::nvml) fn fan_speed(&self, device: Device, fan: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetFanSpeed_v2, device, fan)
    }

    pub(in crate::nvml) fn fan_target(&self, device: Device, fan: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetTargetFanSpeed, device, fan)
    }

    /// Returns turns per minute.
    pub(in crate::nvml) fn fan_turns(&self, device: Device, fan: u32) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetFanSpeedRPM)?;
        let mut info = nvmlFanSpeedInfo_t { version: version::<nvmlFanSpeedInfo_t>(1), fan, speed: 0 };
        // SAFETY: writes one structure, whose version word says its size.
        accepted(unsafe { function(device.0, &raw mut info) })?;
        Ok(info.speed)
    }

    /// Returns the version of the card's own configuration store.
    pub(in crate::nvml) fn inforom(&self, device: Device) -> Answer<String> {
        card_text(&self.functions.nvmlDeviceGetInforomImageVersion, device)
    }
}
