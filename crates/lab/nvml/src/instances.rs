//! MIG, which is off in every box: the questions that tools ask to find that out.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;

use crate::Code;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::card_call;

/// Whether MIG is on now and after the next reset; cards without MIG do not answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMigMode(
    device: Device,
    current: Out<c_uint>,
    pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetMigMode", device, |asked| {
        if asked.card.profile.mig_devices == 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        current.put(0)?;
        pending.put(0)
    })
}

/// Most MIG devices that the card can have.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: Device, count: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetMaxMigDeviceCount", device, |asked| count.put(asked.card.profile.mig_devices))
}

/// Whether a handle means a MIG device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceIsMigDeviceHandle(device: Device, is_mig: Out<c_uint>) -> Code {
    card_call("nvmlDeviceIsMigDeviceHandle", device, |_| is_mig.put(0))
}

/// Handle of a MIG device; there is none.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: Device,
    _index: c_uint,
    _mig: Out<Device>,
) -> Code {
    card_call("nvmlDeviceGetMigDeviceHandleByIndex", device, |asked| {
        Err(if asked.card.profile.mig_devices == 0 { Code::NOT_SUPPORTED } else { Code::NOT_FOUND })
    })
}

/// Card of a MIG device; no handle of a box is one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    device: Device,
    _card: Out<Device>,
) -> Code {
    card_call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device, |_| Err(Code::INVALID_ARGUMENT))
}

/// GPU instance of a MIG device; no handle of a box is one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGpuInstanceId(device: Device, _id: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetGpuInstanceId", device, |_| Err(Code::NOT_SUPPORTED))
}

/// Compute instance of a MIG device; no handle of a box is one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetComputeInstanceId(device: Device, _id: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetComputeInstanceId", device, |_| Err(Code::NOT_SUPPORTED))
}
