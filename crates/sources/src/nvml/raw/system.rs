//! Starting the library, its versions, and the way to the cards.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::{Answer, Device, Library, accepted, filled, found, text};

impl Library {
    pub(in crate::nvml) fn init(&self) -> Answer<()> {
        let function = found(&self.functions.nvmlInit_v2)?;
        // SAFETY: takes nothing and may be called at any time.
        accepted(unsafe { function() })
    }

    pub(in crate::nvml) fn driver_version(&self) -> Answer<String> {
        let function = found(&self.functions.nvmlSystemGetDriverVersion)?;
        // SAFETY: the library writes at most the given number of bytes, its end mark included.
        text(|buffer, length| unsafe { function(buffer, length) })
    }

    pub(in crate::nvml) fn library_version(&self) -> Answer<String> {
        let function = found(&self.functions.nvmlSystemGetNVMLVersion)?;
        // SAFETY: the library writes at most the given number of bytes, its end mark included.
        text(|buffer, length| unsafe { function(buffer, length) })
    }

    pub(in crate::nvml) fn cuda_version(&self) -> Answer<i32> {
        let function = found(&self.functions.nvmlSystemGetCudaDriverVersion_v2)?;
        // SAFETY: writes one int.
        filled(|value| unsafe { function(value) })
    }

    pub(in crate::nvml) fn count(&self) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetCount_v2)?;
        // SAFETY: writes one unsigned int.
        filled(|value| unsafe { function(value) })
    }

    pub(in crate::nvml) fn device(&self, index: u32) -> Answer<Device> {
        let function = found(&self.functions.nvmlDeviceGetHandleByIndex_v2)?;
        let mut device: nvmlDevice_t = std::ptr::null_mut();
        // SAFETY: writes one handle.
        accepted(unsafe { function(index, &raw mut device) })?;
        Ok(Device(device))
    }
}
