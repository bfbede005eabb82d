//! Fans.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;

use gpuwhy_lab::board::FailedFan;

use crate::Code;
use crate::abi::{FanSpeedInfo, version_word};
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// Revolutions per minute of a fan at full speed.
const FULL_SPEED_RPM: c_uint = 3300;
/// Slowest speed at which a fan turns, in percent.
const SLOWEST_PERCENT: c_uint = 30;

/// Fan speed in percent.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetFanSpeed(device: Device, speed: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetFanSpeed", device, |asked| speed.put(percent(asked)?))
}

/// Speed of one fan in percent; all fans of a card turn alike.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetFanSpeed_v2(device: Device, fan: c_uint, speed: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetFanSpeed_v2", device, |asked| {
        require_fan(asked, fan)?;
        speed.put(percent(asked)?)
    })
}

/// The speed that NVML reports is the one that is wanted; a fan that does not turn shows it too, unless the card
/// notices.
fn percent(asked: &Asked) -> Result<c_uint, Code> {
    let wanted = asked.look().fan_target_percent.ok_or(Code::NOT_SUPPORTED)?;
    let setting = &asked.card.setting;
    if setting.fan_failed && setting.fan_says == FailedFan::Error { Err(Code::UNKNOWN) } else { Ok(wanted) }
}

/// Speed that one fan should have, in percent.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTargetFanSpeed(
    device: Device,
    fan: c_uint,
    speed: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetTargetFanSpeed", device, |asked| {
        require_fan(asked, fan)?;
        speed.put(asked.look().fan_target_percent.ok_or(Code::NOT_SUPPORTED)?)
    })
}

/// Revolutions per minute of one fan.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetFanSpeedRPM(device: Device, info: Out<FanSpeedInfo>) -> Code {
    card_call("nvmlDeviceGetFanSpeedRPM", device, |asked| {
        let question = info.get()?;
        if question.version != version_word::<FanSpeedInfo>(1) {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        require_fan(asked, question.fan)?;
        let turns = percent(asked)? * FULL_SPEED_RPM / 100;
        info.put(FanSpeedInfo { speed: if asked.card.setting.fan_failed { 0 } else { turns }, ..question })
    })
}

/// Slowest and fastest speed in percent.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMinMaxFanSpeed(
    device: Device,
    slowest: Out<c_uint>,
    fastest: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetMinMaxFanSpeed", device, |asked| {
        require_fan(asked, 0)?;
        slowest.put(SLOWEST_PERCENT)?;
        fastest.put(100)
    })
}

/// Who controls a fan: 0 the card itself, by its temperature.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetFanControlPolicy_v2(
    device: Device,
    fan: c_uint,
    policy: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetFanControlPolicy_v2", device, |asked| {
        require_fan(asked, fan)?;
        policy.put(0)
    })
}

/// Number of fans.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNumFans(device: Device, fans: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetNumFans", device, |asked| fans.put(asked.card.profile.fans))
}

fn require_fan(asked: &Asked, fan: c_uint) -> Result<(), Code> {
    match asked.card.profile.fans {
        0 => Err(Code::NOT_SUPPORTED),
        fans if fan < fans => Ok(()),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}
