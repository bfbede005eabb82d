//! How busy the engines are, and the card's sample buffers.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use gpuwhy_lab::cards::CardSample;

use crate::Code;
use crate::abi::{Sample, Utilization, VALUE_UNSIGNED_INT, Value};
use crate::device::Device;
use crate::instances::refuse_cut;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// `nvmlSamplingType_t` values that a box has samples of.
mod sampling {
    use std::ffi::c_uint;

    pub(super) const TOTAL_POWER: c_uint = 0;
    pub(super) const GPU_UTILIZATION: c_uint = 1;
    pub(super) const MEMORY_UTILIZATION: c_uint = 2;
    pub(super) const ENCODER: c_uint = 3;
    pub(super) const DECODER: c_uint = 4;
    pub(super) const PROCESSOR_CLOCK: c_uint = 5;
    pub(super) const MEMORY_CLOCK: c_uint = 6;
    pub(super) const COUNT: c_uint = 10;
}

/// Utilization of the last sample period.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetUtilizationRates(
    device: Device,
    utilization: Out<Utilization>,
) -> Code {
    card_call("nvmlDeviceGetUtilizationRates", device, |asked| {
        refuse_cut(asked)?;
        let view = asked.look();
        utilization.put(Utilization { gpu: view.gpu_percent, memory: view.memory_percent })
    })
}

/// Utilization of the video encoder; no workload of a box uses it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetEncoderUtilization(
    device: Device,
    utilization: Out<c_uint>,
    period_us: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetEncoderUtilization", device, |asked| {
        refuse_cut(asked)?;
        utilization.put(0)?;
        period_us.put(period(asked))
    })
}

/// Utilization of the video decoder; no workload of a box uses it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDecoderUtilization(
    device: Device,
    utilization: Out<c_uint>,
    period_us: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetDecoderUtilization", device, |asked| {
        refuse_cut(asked)?;
        utilization.put(0)?;
        period_us.put(period(asked))
    })
}

fn period(asked: &Asked) -> c_uint {
    c_uint::try_from(asked.card.profile.utilization_period_ms * 1000).unwrap_or(c_uint::MAX)
}

/// Samples of one kind that are newer than a time stamp. Without a buffer only their number is told; a short
/// buffer gets the oldest.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSamples(
    device: Device,
    kind: c_uint,
    last_seen_us: c_ulonglong,
    value_type: Out<c_uint>,
    count: Out<c_uint>,
    samples: Out<Sample>,
) -> Code {
    card_call("nvmlDeviceGetSamples", device, |asked| {
        if kind >= sampling::COUNT {
            return Err(Code::INVALID_ARGUMENT);
        }
        if kind > sampling::MEMORY_CLOCK {
            return Err(Code::NOT_SUPPORTED);
        }
        if matches!(kind, sampling::GPU_UTILIZATION..=sampling::DECODER) {
            refuse_cut(asked)?;
        }
        let found = newer_samples(asked, kind, last_seen_us);
        if found.is_empty() {
            return Err(Code::NOT_FOUND);
        }
        value_type.put(VALUE_UNSIGNED_INT)?;
        let room = if samples.is_null() { found.len() } else { count.get()? as usize };
        let written = room.min(found.len());
        count.put(c_uint::try_from(written).unwrap_or(c_uint::MAX))?;
        if samples.is_null() {
            return Ok(());
        }
        for (index, sample) in found.iter().take(written).enumerate() {
            samples.at(index).put(*sample)?;
        }
        Ok(())
    })
}

fn newer_samples(asked: &Asked, kind: c_uint, last_seen_us: u64) -> Vec<Sample> {
    let clock = asked.machine.clock();
    let mut found = Vec::new();
    for sample in asked.machine.samples(asked.card, clock.of_stamp_us(last_seen_us)) {
        let (at, value) = match (kind, sample) {
            (sampling::TOTAL_POWER, CardSample::Power { at, milliwatts, .. }) => (at, milliwatts),
            (sampling::PROCESSOR_CLOCK, CardSample::Power { at, sm_mhz, .. }) => (at, sm_mhz),
            (sampling::MEMORY_CLOCK, CardSample::Power { at, memory_mhz, .. }) => (at, memory_mhz),
            (sampling::GPU_UTILIZATION, CardSample::Engine { at, gpu_percent, .. }) => (at, gpu_percent),
            (sampling::MEMORY_UTILIZATION, CardSample::Engine { at, memory_percent, .. }) => {
                (at, memory_percent)
            }
            (sampling::ENCODER | sampling::DECODER, CardSample::Engine { at, .. }) => (at, 0),
            _ => continue,
        };
        let time_stamp = clock.stamp_us(at);
        // A stamp in whole microseconds can lie below its instant; the sample that the caller saw last must
        // not come again.
        if time_stamp > last_seen_us {
            // The whole union is written, so that no byte of it is undefined.
            found.push(Sample { time_stamp, sample_value: Value { unsigned_long_long: u64::from(value) } });
        }
    }
    found
}
