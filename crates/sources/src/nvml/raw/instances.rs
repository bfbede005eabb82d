//! Multi-instance mode, as the library says it.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::{Answer, Device, Library, accepted, card_value, found};

impl Library {
    /// Returns the multi-instance mode in force, and the one after the next reset.
    pub(in crate::nvml) fn mig_mode(&self, device: Device) -> Answer<(u32, u32)> {
        let function = found(&self.functions.nvmlDeviceGetMigMode)?;
        let (mut current, mut pending) = (0, 0);
        // SAFETY: writes two unsigned ints.
        accepted(unsafe { function(device.0, &raw mut current, &raw mut pending) })?;
        Ok((current, pending))
    }

    /// Returns how many instances the card can have.
    pub(in crate::nvml) fn instances_max(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetMaxMigDeviceCount, device)
    }

    /// Returns the instance at an index, of which some may be empty.
    pub(in crate::nvml) fn instance(&self, device: Device, index: u32) -> Answer<Device> {
        let function = found(&self.functions.nvmlDeviceGetMigDeviceHandleByIndex)?;
        let mut instance: nvmlDevice_t = std::ptr::null_mut();
        // SAFETY: writes one handle.
        accepted(unsafe { function(device.0, index, &raw mut instance) })?;
        Ok(Device(instance))
    }

    /// Returns the number of the part of the card that an instance computes on.
    pub(in crate::nvml) fn gpu_instance_id(&self, instance: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetGpuInstanceId, instance)
    }
}
