//! What the library says of one card in one value.

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlMarginTemperature_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t,
    nvmlTemperature_t, nvmlUtilization_t,
};

use super::{Answer, Device, Library, accepted, card_choice, card_text, card_value, found, version};
impl Library {
    pub(in crate::nvml) fn uuid(&self, device: Device) -> Answer<String> {
        card_text(&self.functions.nvmlDeviceGetUUID, device)
    }

    pub(in crate::nvml) fn name(&self, device: Device) -> Answer<String> {
        card_text(&self.functions.nvmlDeviceGetName, device)
    }

    pub(in crate::nvml) fn pci_info(&self, device: Device) -> Answer<nvmlPciInfo_t> {
        card_value(&self.functions.nvmlDeviceGetPciInfo_v3, device)
    }

    pub(in crate::nvml) fn minor_number(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetMinorNumber, device)
    }

    pub(in crate::nvml) fn memory_v2(&self, device: Device) -> Answer<nvmlMemory_v2_t> {
        let function = found(&self.functions.nvmlDeviceGetMemoryInfo_v2)?;
        let mut memory = nvmlMemory_v2_t {
            version: version::<nvmlMemory_v2_t>(2),
            total: 0,
            reserved: 0,
            free: 0,
            used: 0,
        };
        // SAFETY: writes one structure, whose version word says its size.
        accepted(unsafe { function(device.0, &raw mut memory) })?;
        Ok(memory)
    }

    pub(in crate::nvml) fn memory_v1(&self, device: Device) -> Answer<nvmlMemory_t> {
        card_value(&self.functions.nvmlDeviceGetMemoryInfo, device)
    }

    pub(in crate::nvml) fn bar1(&self, device: Device) -> Answer<nvmlBAR1Memory_t> {
        card_value(&self.functions.nvmlDeviceGetBAR1MemoryInfo, device)
    }

    pub(in crate::nvml) fn utilization(&self, device: Device) -> Answer<nvmlUtilization_t> {
        card_value(&self.functions.nvmlDeviceGetUtilizationRates, device)
    }

    pub(in crate::nvml) fn power(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPowerUsage, device)
    }

    pub(in crate::nvml) fn enforced_limit(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetEnforcedPowerLimit, device)
    }

    pub(in crate::nvml) fn default_limit(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPowerManagementDefaultLimit, device)
    }

    /// Returns the highest limit that can be set.
    pub(in crate::nvml) fn maximum_limit(&self, device: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetPowerManagementLimitConstraints)?;
        let (mut minimum, mut maximum) = (0, 0);
        // SAFETY: writes two unsigned ints.
        accepted(unsafe { function(device.0, &raw mut minimum, &raw mut maximum) })?;
        Ok(maximum)
    }

    pub(in crate::nvml) fn energy(&self, device: Device) -> Answer<u64> {
        card_value(&self.functions.nvmlDeviceGetTotalEnergyConsumption, device)
    }

    pub(in crate::nvml) fn temperature(&self, device: Device) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetTemperature, device, 0)
    }

    pub(in crate::nvml) fn temperature_v(&self, device: Device) -> Answer<i32> {
        let function = found(&self.functions.nvmlDeviceGetTemperatureV)?;
        let mut temperature =
            nvmlTemperature_t { version: version::<nvmlTemperature_t>(1), sensorType: 0, temperature: 0 };
        // SAFETY: writes one structure, whose version word says its size.
        accepted(unsafe { function(device.0, &raw mut temperature) })?;
        Ok(temperature.temperature)
    }

    pub(in crate::nvml) fn threshold(&self, device: Device, threshold: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetTemperatureThreshold, device, threshold)
    }

    pub(in crate::nvml) fn margin(&self, device: Device) -> Answer<i32> {
        let function = found(&self.functions.nvmlDeviceGetMarginTemperature)?;
        let mut margin =
            nvmlMarginTemperature_t { version: version::<nvmlMarginTemperature_t>(1), marginTemperature: 0 };
        // SAFETY: writes one structure, whose version word says its size.
        accepted(unsafe { function(device.0, &raw mut margin) })?;
        Ok(margin.marginTemperature)
    }

    pub(in crate::nvml) fn clock(&self, device: Device, clock: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetClockInfo, device, clock)
    }

    pub(in crate::nvml) fn maximum_clock(&self, device: Device, clock: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetMaxClockInfo, device, clock)
    }

    pub(in crate::nvml) fn performance_state(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPerformanceState, device)
    }

    pub(in crate::nvml) fn event_reasons(&self, device: Device) -> Answer<u64> {
        card_value(&self.functions.nvmlDeviceGetCurrentClocksEventReasons, device)
    }

    pub(in crate::nvml) fn throttle_reasons(&self, device: Device) -> Answer<u64> {
        card_value(&self.functions.nvmlDeviceGetCurrentClocksThrottleReasons, device)
    }

    pub(in crate::nvml) fn compute_mode(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetComputeMode, device)
    }

    pub(in crate::nvml) fn persistence(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPersistenceMode, device)
    }

    /// Returns the limit that was asked for.
    pub(in crate::nvml) fn requested_limit(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPowerManagementLimit, device)
    }

    /// Returns the share of time in which the video encoder worked.
    pub(in crate::nvml) fn encoder(&self, device: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetEncoderUtilization)?;
        let (mut percent, mut period_us) = (0, 0);
        // SAFETY: writes two unsigned ints.
        accepted(unsafe { function(device.0, &raw mut percent, &raw mut period_us) })?;
        Ok(percent)
    }

    /// Returns the share of time in which the video decoder worked.
    pub(in crate::nvml) fn decoder(&self, device: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetDecoderUtilization)?;
        let (mut percent, mut period_us) = (0, 0);
        // SAFETY: writes two unsigned ints.
        accepted(unsafe { function(device.0, &raw mut percent, &raw mut period_us) })?;
        Ok(percent)
    }

    pub(in crate::nvml) fn display_active(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetDisplayActive, device)
    }

    /// Returns major and minor number.
    pub(in crate::nvml) fn compute_capability(&self, device: Device) -> Answer<(i32, i32)> {
        let function = found(&self.functions.nvmlDeviceGetCudaComputeCapability)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: writes two ints.
        accepted(unsafe { function(device.0, &raw mut major, &raw mut minor) })?;
        Ok((major, minor))
    }
}
