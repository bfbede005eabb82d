//! Calls that change a card: only root may. Each is written down in the box.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;

use gpuwhy_lab::cards::Refusal;

use crate::Code;
use crate::code::Answer;
use crate::device::Device;
use crate::session::{Asked, card_call, record_change};

/// Sets the persistence mode.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetPersistenceMode(device: Device, mode: c_uint) -> Code {
    change("nvmlDeviceSetPersistenceMode", device, &[mode], |asked| match mode {
        0 | 1 => {
            asked.machine.set_persistence(mode == 1);
            Ok(())
        }
        _ => Err(Code::INVALID_ARGUMENT),
    })
}

/// Sets the compute mode.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetComputeMode(device: Device, mode: c_uint) -> Code {
    change("nvmlDeviceSetComputeMode", device, &[mode], |asked| {
        asked.machine.set_compute_mode(asked.card, mode).map_err(code)
    })
}

/// Sets the power limit.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetPowerManagementLimit(device: Device, milliwatts: c_uint) -> Code {
    change("nvmlDeviceSetPowerManagementLimit", device, &[milliwatts], |asked| {
        asked.machine.set_power_limit(asked.card, milliwatts).map_err(code)
    })
}

/// Locks the SM clock.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetGpuLockedClocks(
    device: Device,
    lowest: c_uint,
    highest: c_uint,
) -> Code {
    change("nvmlDeviceSetGpuLockedClocks", device, &[lowest, highest], |asked| {
        asked.machine.set_clock_limit(asked.card, Some(highest)).map_err(code)
    })
}

/// Unlocks the SM clock.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceResetGpuLockedClocks(device: Device) -> Code {
    change("nvmlDeviceResetGpuLockedClocks", device, &[], |asked| {
        asked.machine.set_clock_limit(asked.card, None).map_err(code)
    })
}

/// Switches accounting, which a board has or has not.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceSetAccountingMode(device: Device, mode: c_uint) -> Code {
    change("nvmlDeviceSetAccountingMode", device, &[mode], |_| Err(Code::NOT_SUPPORTED))
}

fn change(
    function: &'static str,
    device: Device,
    arguments: &[c_uint],
    body: impl FnOnce(&Asked) -> Answer,
) -> Code {
    let mut card = None;
    let code = card_call(function, device, |asked| {
        card = Some(asked.card.index);
        if !rustix::process::geteuid().is_root() {
            return Err(Code::NO_PERMISSION);
        }
        body(asked)
    });
    if let Some(card) = card {
        record_change(function, card, arguments, code);
    }
    code
}

fn code(refusal: Refusal) -> Code {
    match refusal {
        Refusal::OutOfRange => Code::INVALID_ARGUMENT,
        Refusal::Lost => Code::GPU_IS_LOST,
        Refusal::InUse { .. } | Refusal::Together { .. } => Code::IN_USE,
    }
}
