//! Calls that would change a card: only root may, and a box changes nothing.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;

use crate::Code;
use crate::device::Device;
use crate::session::card_call;

/// Sets the persistence mode.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetPersistenceMode(device: Device, _mode: c_uint) -> Code {
    refuse("nvmlDeviceSetPersistenceMode", device)
}

/// Sets the compute mode.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetComputeMode(device: Device, _mode: c_uint) -> Code {
    refuse("nvmlDeviceSetComputeMode", device)
}

/// Sets the power limit.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetPowerManagementLimit(device: Device, _milliwatts: c_uint) -> Code {
    refuse("nvmlDeviceSetPowerManagementLimit", device)
}

/// Locks the SM clock.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetGpuLockedClocks(
    device: Device,
    _lowest: c_uint,
    _highest: c_uint,
) -> Code {
    refuse("nvmlDeviceSetGpuLockedClocks", device)
}

/// Unlocks the SM clock.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceResetGpuLockedClocks(device: Device) -> Code {
    refuse("nvmlDeviceResetGpuLockedClocks", device)
}

/// Switches accounting.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetAccountingMode(device: Device, _mode: c_uint) -> Code {
    refuse("nvmlDeviceSetAccountingMode", device)
}

fn refuse(function: &'static str, device: Device) -> Code {
    card_call(function, device, |_| {
        let is_root = rustix::process::geteuid().is_root();
        Err(if is_root { Code::NOT_SUPPORTED } else { Code::NO_PERMISSION })
    })
}
