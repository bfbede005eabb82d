//! Modes of a card that somebody chose.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;

use crate::Code;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::card_call;

/// Whether the driver stays loaded without clients.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPersistenceMode(device: Device, mode: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPersistenceMode", device, |asked| {
        mode.put(c_uint::from(asked.machine.has_persistence()))
    })
}

/// Who may compute: 0 everybody, 2 nobody, 3 one process.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetComputeMode(device: Device, mode: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetComputeMode", device, |asked| mode.put(asked.card.setting.compute_mode))
}

/// Whether a display is attached.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDisplayMode(device: Device, mode: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetDisplayMode", device, |asked| mode.put(c_uint::from(asked.card.setting.display)))
}

/// Whether a display is initialised.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDisplayActive(device: Device, active: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetDisplayActive", device, |asked| {
        active.put(c_uint::from(asked.card.setting.display))
    })
}

/// The driver model is a notion of Windows.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDriverModel(
    device: Device,
    _current: Out<c_uint>,
    _pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetDriverModel", device, |_| Err(Code::NOT_SUPPORTED))
}

/// The driver model is a notion of Windows.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDriverModel_v2(
    device: Device,
    _current: Out<c_uint>,
    _pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetDriverModel_v2", device, |_| Err(Code::NOT_SUPPORTED))
}
