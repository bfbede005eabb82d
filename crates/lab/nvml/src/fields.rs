//! Field values: many figures in one call, each with its own return code.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_int, c_uint};
use std::time::Instant;

use gpuwhy_lab::cards::{CardView, Reasons};
use gpuwhy_lab::state::Clock;

use crate::Code;
use crate::abi::{FieldValue, VALUE_SIGNED_INT, VALUE_UNSIGNED_INT, VALUE_UNSIGNED_LONG_LONG, Value};
use crate::clocks::{policy_ns, reason_ns};
use crate::device::Device;
use crate::pointer::Out;
use crate::power::{milliwatts, reading};
use crate::session::{Asked, card_call};
use crate::{health_fields, nvlink_fields};

/// Highest field id that is known to the bindings.
const HIGHEST_FIELD: c_uint = 307;

/// A figure with the type in which NVML reports it.
pub(crate) enum Figure {
    UnsignedInt(c_uint),
    UnsignedLongLong(u64),
    SignedInt(c_int),
}

/// Fills in the figures that the caller asks for.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetFieldValues(
    device: Device,
    count: c_int,
    values: Out<FieldValue>,
) -> Code {
    card_call("nvmlDeviceGetFieldValues", device, |asked| {
        let count = usize::try_from(count).map_err(|_| Code::INVALID_ARGUMENT)?;
        if count == 0 || values.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        let view = asked.look();
        for index in 0..count {
            let place = values.at(index);
            place.put(answer(asked, &view, place.get()?))?;
        }
        Ok(())
    })
}

fn answer(asked: &Asked, view: &CardView, question: FieldValue) -> FieldValue {
    let started = Instant::now();
    let figure = figure(asked, view, question.field_id, question.scope_id);
    let (nvml_return, value_type, value) = match figure {
        Ok(Figure::UnsignedInt(value)) => (Code::SUCCESS, VALUE_UNSIGNED_INT, u64::from(value)),
        Ok(Figure::UnsignedLongLong(value)) => (Code::SUCCESS, VALUE_UNSIGNED_LONG_LONG, value),
        Ok(Figure::SignedInt(value)) => (Code::SUCCESS, VALUE_SIGNED_INT, u64::from(value.cast_unsigned())),
        Err(code) => (code, VALUE_UNSIGNED_INT, 0),
    };
    FieldValue {
        timestamp: signed(asked.machine.clock().stamp_us(Clock::now())),
        latency_usec: signed(u64::try_from(started.elapsed().as_micros()).unwrap_or(0)),
        value_type,
        nvml_return,
        value: Value { unsigned_long_long: value },
        ..question
    }
}

fn figure(asked: &Asked, view: &CardView, field: c_uint, scope: c_uint) -> Result<Figure, Code> {
    use Figure::{SignedInt, UnsignedInt, UnsignedLongLong};
    if let Some(figure) = nvlink_fields::figure(asked, field, scope) {
        return figure;
    }
    if let Some(figure) = health_fields::figure(asked, field) {
        return figure;
    }
    let card = asked.card;
    let profile = card.profile;
    let heat = &profile.heat;
    match field {
        // Nanoseconds by policy; 80 and 81 are policies 10 and 11.
        74..=79 => policy_ns(view, field - 74).map(UnsignedLongLong),
        80 | 81 => policy_ns(view, field - 70).map(UnsignedLongLong),
        82 => view.memory_temperature_c.map(UnsignedInt).ok_or(Code::NOT_SUPPORTED),
        83 => Ok(UnsignedLongLong(view.energy_mj)),
        185 => reading(asked, view.milliwatts).map(UnsignedInt),
        186 => reading(asked, view.instant_milliwatts).map(UnsignedInt),
        187 => Ok(UnsignedInt(milliwatts(profile.power.minimum))),
        188 => Ok(UnsignedInt(milliwatts(profile.power.maximum))),
        189 => Ok(UnsignedInt(milliwatts(profile.power.default))),
        190 => Ok(UnsignedInt(milliwatts(card.enforced_power_limit_w))),
        192 => Ok(UnsignedInt(milliwatts(card.power_limit_w))),
        // Thresholds as distances from the highest operating temperature.
        193 if heat.margin => Ok(SignedInt(distance(heat.maximum_operating, heat.shutdown))),
        194 if heat.margin => Ok(SignedInt(distance(heat.maximum_operating, heat.slowdown))),
        195 if heat.margin && heat.memory_maximum.is_some() => Ok(SignedInt(0)),
        196 if heat.margin => Ok(SignedInt(0)),
        // Bytes from the card to the host, and from the host to the card.
        197 => Ok(UnsignedLongLong(view.sent_bytes)),
        198 => Ok(UnsignedLongLong(view.received_bytes)),
        269 => Ok(UnsignedLongLong(reason_ns(view, Reasons::SW_THERMAL))),
        270 => Ok(UnsignedLongLong(reason_ns(view, Reasons::HW_THERMAL))),
        271 => Ok(UnsignedLongLong(reason_ns(view, Reasons::HW_POWER_BRAKE))),
        1..=HIGHEST_FIELD => Err(Code::NOT_SUPPORTED),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

fn distance(from: c_uint, to: c_uint) -> c_int {
    c_int::try_from(from).unwrap_or(0) - c_int::try_from(to).unwrap_or(0)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
