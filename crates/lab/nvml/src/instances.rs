//! MIG: whether a card is cut, and into what.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;

use crate::Code;
use crate::abi::DeviceAttributes;
use crate::code::Answer;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, any_call, card_call};

/// Whether MIG is on now and after the next reset; cards without MIG do not answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMigMode(
    device: Device,
    current: Out<c_uint>,
    pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetMigMode", device, |asked| {
        require_product(asked)?;
        let mig = &asked.card.setting.mig;
        current.put(c_uint::from(mig.enabled))?;
        pending.put(c_uint::from(mig.pending.unwrap_or(mig.enabled)))
    })
}

fn require_product(asked: &Asked) -> Answer {
    if asked.card.profile.mig_devices == 0 { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
}

/// Most MIG devices that the card can have.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: Device, count: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetMaxMigDeviceCount", device, |asked| count.put(asked.card.profile.mig_devices))
}

/// Whether a handle means a MIG device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceIsMigDeviceHandle(device: Device, is_mig: Out<c_uint>) -> Code {
    any_call("nvmlDeviceIsMigDeviceHandle", device, |asked| {
        is_mig.put(c_uint::from(asked.instance.is_some()))
    })
}

/// Handle of a MIG device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: Device,
    index: c_uint,
    mig: Out<Device>,
) -> Code {
    card_call("nvmlDeviceGetMigDeviceHandleByIndex", device, |asked| {
        require_product(asked)?;
        if index >= asked.card.profile.mig_devices {
            return Err(Code::INVALID_ARGUMENT);
        }
        let position = index as usize;
        let exists = position < asked.card.instances.len();
        let handle = Device::of_instance(asked.card.index, position).filter(|_| exists);
        mig.put(handle.ok_or(Code::NOT_FOUND)?)
    })
}

/// Card of a MIG device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    device: Device,
    card: Out<Device>,
) -> Code {
    any_call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device, |asked| {
        if asked.instance.is_none() {
            return Err(Code::INVALID_ARGUMENT);
        }
        card.put(Device::of(asked.card.index).ok_or(Code::UNKNOWN)?)
    })
}

/// GPU instance of a MIG device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGpuInstanceId(device: Device, id: Out<c_uint>) -> Code {
    any_call("nvmlDeviceGetGpuInstanceId", device, |asked| {
        id.put(asked.cut().ok_or(Code::NOT_SUPPORTED)?.gpu_instance)
    })
}

/// Compute instance of a MIG device: each GPU instance of a box is one compute instance.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetComputeInstanceId(device: Device, id: Out<c_uint>) -> Code {
    any_call("nvmlDeviceGetComputeInstanceId", device, |asked| match asked.cut() {
        Some(_) => id.put(0),
        None => Err(Code::NOT_SUPPORTED),
    })
}

/// What a MIG device has of its card.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetAttributes_v2(
    device: Device,
    attributes: Out<DeviceAttributes>,
) -> Code {
    any_call("nvmlDeviceGetAttributes_v2", device, |asked| {
        let cut = asked.cut().ok_or(Code::NOT_SUPPORTED)?;
        attributes.put(DeviceAttributes {
            multiprocessor_count: cut.multiprocessors,
            shared_copy_engine_count: cut.slices,
            gpu_instance_slice_count: cut.slices,
            compute_instance_slice_count: cut.slices,
            memory_size_mb: cut.memory_bytes >> 20,
            ..DeviceAttributes::default()
        })
    })
}

/// Refuses what a card that is cut does not tell as a whole.
pub(crate) fn refuse_cut(asked: &Asked) -> Answer {
    if asked.card.setting.mig.enabled { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
}
