//! Heat.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_int, c_uint};

use crate::Code;
use crate::abi::{MarginTemperature, Temperature, version_word};
use crate::device::Device;
use crate::pointer::Out;
use crate::session::card_call;

/// The only sensor: the chip.
const SENSOR_GPU: c_uint = 0;

/// Temperature of the chip in degrees Celsius.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTemperature(
    device: Device,
    sensor: c_uint,
    temperature: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetTemperature", device, |asked| {
        if sensor != SENSOR_GPU {
            return Err(Code::INVALID_ARGUMENT);
        }
        temperature.put(asked.look().temperature_c)
    })
}

/// Temperature of the chip in degrees Celsius.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTemperatureV(device: Device, temperature: Out<Temperature>) -> Code {
    card_call("nvmlDeviceGetTemperatureV", device, |asked| {
        let question = temperature.get()?;
        if question.version != version_word::<Temperature>(1) {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        if question.sensor_type != SENSOR_GPU {
            return Err(Code::INVALID_ARGUMENT);
        }
        temperature.put(Temperature { celsius: signed(asked.look().temperature_c), ..question })
    })
}

/// A threshold in degrees Celsius.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTemperatureThreshold(
    device: Device,
    threshold: c_uint,
    temperature: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetTemperatureThreshold", device, |asked| {
        const SHUTDOWN: c_uint = 0;
        const SLOWDOWN: c_uint = 1;
        const MEMORY_MAXIMUM: c_uint = 2;
        const GPU_MAXIMUM: c_uint = 3;
        const COUNT: c_uint = 8;
        let heat = &asked.card.profile.heat;
        temperature.put(match threshold {
            SHUTDOWN => heat.shutdown,
            SLOWDOWN => heat.slowdown,
            MEMORY_MAXIMUM => heat.memory_maximum.ok_or(Code::NOT_SUPPORTED)?,
            GPU_MAXIMUM => heat.maximum_operating,
            other if other < COUNT => return Err(Code::NOT_SUPPORTED),
            _ => return Err(Code::INVALID_ARGUMENT),
        })
    })
}

/// Degrees that are left to the highest operating temperature of chip or memory, whichever is nearer; only newer
/// cards tell.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMarginTemperature(
    device: Device,
    margin: Out<MarginTemperature>,
) -> Code {
    card_call("nvmlDeviceGetMarginTemperature", device, |asked| {
        let version = version_word::<MarginTemperature>(1);
        if margin.get()?.version != version {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let heat = &asked.card.profile.heat;
        if !heat.margin {
            return Err(Code::NOT_SUPPORTED);
        }
        let view = asked.look();
        let chip_left = signed(heat.maximum_operating) - signed(view.temperature_c);
        let memory = heat.memory_maximum.zip(view.memory_temperature_c);
        let memory_left = memory.map(|(maximum, now)| signed(maximum) - signed(now));
        let left = memory_left.map_or(chip_left, |memory_left| chip_left.min(memory_left));
        margin.put(MarginTemperature { version, margin_temperature: left })
    })
}

fn signed(degrees: c_uint) -> c_int {
    c_int::try_from(degrees).unwrap_or(c_int::MAX)
}
