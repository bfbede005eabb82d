//! Power, its limits, and energy.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use crate::Code;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// A reading of the power sensor, unless the sensor fails.
pub(crate) fn reading(asked: &Asked, milliwatts: c_uint) -> Result<c_uint, Code> {
    if asked.card.setting.power_readings_fail { Err(Code::UNKNOWN) } else { Ok(milliwatts) }
}

/// Power as the sensor reports it, in milliwatts.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPowerUsage(device: Device, power: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPowerUsage", device, |asked| power.put(reading(asked, asked.look().milliwatts)?))
}

/// Limit that was set, in milliwatts.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPowerManagementLimit(device: Device, limit: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPowerManagementLimit", device, |asked| {
        limit.put(milliwatts(asked.card.power_limit_w))
    })
}

/// Limit that holds, in milliwatts.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetEnforcedPowerLimit(device: Device, limit: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetEnforcedPowerLimit", device, |asked| {
        limit.put(milliwatts(asked.card.enforced_power_limit_w))
    })
}

/// Limit that the product comes with, in milliwatts.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPowerManagementDefaultLimit(
    device: Device,
    limit: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetPowerManagementDefaultLimit", device, |asked| {
        limit.put(milliwatts(asked.card.profile.power.default))
    })
}

/// Lowest and highest limit that can be set, in milliwatts.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPowerManagementLimitConstraints(
    device: Device,
    lowest: Out<c_uint>,
    highest: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetPowerManagementLimitConstraints", device, |asked| {
        lowest.put(milliwatts(asked.card.profile.power.minimum))?;
        highest.put(milliwatts(asked.card.profile.power.maximum))
    })
}

/// Whether power is limited at all.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPowerManagementMode(device: Device, mode: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPowerManagementMode", device, |_| mode.put(1))
}

/// Energy since the box came up, in millijoules.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTotalEnergyConsumption(
    device: Device,
    energy: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetTotalEnergyConsumption", device, |asked| energy.put(asked.look().energy_mj))
}

/// Whole milliwatts of a figure in watts.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limits are a few hundred watts")]
pub(crate) fn milliwatts(watts: f64) -> c_uint {
    (watts * 1000.0).round() as c_uint
}
