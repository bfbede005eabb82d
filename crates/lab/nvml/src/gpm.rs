//! Performance counters (GPM): two samples, and what was done between them. Hopper and newer have them.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{CStr, c_uint};
use std::sync::{Mutex, PoisonError};

use gpuwhy_lab::board::Architecture;
use gpuwhy_lab::cards::EngineFigures;

use crate::Code;
use crate::abi::{GpmMetric, GpmMetricsHead, GpmSupport};
use crate::code::Answer;
use crate::device::Device;
use crate::pointer::Out;
use crate::registry::Registry;
use crate::session::{Asked, any_call, call, card_call};

/// `nvmlGpmSample_t`: a number that only the library understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Sample(usize);

/// The only version of both structures.
const VERSION: c_uint = 1;

static SAMPLES: Registry<Mutex<Option<EngineFigures>>> = Registry::new();

/// Makes room for a sample.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlGpmSampleAlloc(sample: Out<Sample>) -> Code {
    call("nvmlGpmSampleAlloc", |_| {
        if sample.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        sample.put(Sample(SAMPLES.keep(Mutex::new(None))))
    })
}

/// Gives the room back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlGpmSampleFree(sample: Sample) -> Code {
    call("nvmlGpmSampleFree", |_| if SAMPLES.forget(sample.0) { Ok(()) } else { Err(Code::INVALID_ARGUMENT) })
}

/// Whether a card has these counters.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlGpmQueryDeviceSupport(device: Device, support: Out<GpmSupport>) -> Code {
    card_call("nvmlGpmQueryDeviceSupport", device, |asked| {
        let question = support.get()?;
        if question.version != VERSION {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        support.put(GpmSupport { is_supported_device: c_uint::from(has_counters(asked)), ..question })
    })
}

fn has_counters(asked: &Asked) -> bool {
    asked.card.profile.architecture >= Architecture::Hopper
}

/// Takes a sample of a card, or of the instance that the handle means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlGpmSampleGet(device: Device, sample: Sample) -> Code {
    any_call("nvmlGpmSampleGet", device, |asked| take(asked, asked.instance, sample))
}

/// Takes a sample of one GPU instance of a card.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlGpmMigSampleGet(device: Device, gpu_instance: c_uint, sample: Sample) -> Code {
    card_call("nvmlGpmMigSampleGet", device, |asked| {
        let mut instances = asked.card.instances.iter();
        let position = instances.position(|cut| cut.gpu_instance == gpu_instance).ok_or(Code::NOT_FOUND)?;
        take(asked, Some(position), sample)
    })
}

fn take(asked: &Asked, instance: Option<usize>, sample: Sample) -> Answer {
    if !has_counters(asked) {
        return Err(Code::NOT_SUPPORTED);
    }
    let place = SAMPLES.get(sample.0).ok_or(Code::INVALID_ARGUMENT)?;
    let figures = asked.machine.engine_figures(asked.card, instance);
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(figures);
    Ok(())
}

/// What was done between two samples; each metric has its own return code.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlGpmMetricsGet(request: Out<GpmMetricsHead>) -> Code {
    call("nvmlGpmMetricsGet", |_| {
        let head = request.get()?;
        if head.version != VERSION {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let (one, two) = (taken(head.sample_1)?, taken(head.sample_2)?);
        let metrics: Out<GpmMetric> = request.behind();
        for index in 0..head.num_metrics as usize {
            let place = metrics.at(index);
            place.put(measured(place.get()?, &one, &two))?;
        }
        Ok(())
    })
}

fn taken(sample: Sample) -> Result<EngineFigures, Code> {
    let place = SAMPLES.get(sample.0).ok_or(Code::INVALID_ARGUMENT)?;
    let figures = *place.lock().unwrap_or_else(PoisonError::into_inner);
    figures.ok_or(Code::INVALID_ARGUMENT)
}

fn measured(question: GpmMetric, one: &EngineFigures, two: &EngineFigures) -> GpmMetric {
    let wording = wording(question.metric_id);
    let answer = match wording {
        None => Err(Code::NOT_SUPPORTED),
        Some(_) if two.at <= one.at => Err(Code::NO_DATA),
        Some(_) => Ok(value(question.metric_id, one, two)),
    };
    let text = |text: Option<&'static CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    GpmMetric {
        nvml_return: answer.err().unwrap_or(Code::SUCCESS),
        value: answer.unwrap_or(0.0),
        short_name: text(wording.map(|wording| wording.0)),
        long_name: text(wording.map(|wording| wording.0)),
        unit: text(wording.map(|wording| wording.1)),
        ..question
    }
}

/// Short name and unit of the metrics that a box has.
fn wording(metric: c_uint) -> Option<(&'static CStr, &'static CStr)> {
    const PERCENT: &CStr = c"%";
    const RATE: &CStr = c"MiB/s";
    Some(match metric {
        1 => (c"GRACT", PERCENT),
        2 => (c"SMUTIL", PERCENT),
        3 => (c"SMOCC", PERCENT),
        4 => (c"INTUTIL", PERCENT),
        5 => (c"TENSOR", PERCENT),
        6 => (c"DFMA", PERCENT),
        7 => (c"HMMA", PERCENT),
        9 => (c"IMMA", PERCENT),
        10 => (c"DRAMBW", PERCENT),
        11 => (c"FP64", PERCENT),
        12 => (c"FP32", PERCENT),
        13 => (c"FP16", PERCENT),
        20 => (c"PCITX", RATE),
        21 => (c"PCIRX", RATE),
        60 => (c"NVLRX", RATE),
        61 => (c"NVLTX", RATE),
        _ => return None,
    })
}

fn value(metric: c_uint, one: &EngineFigures, two: &EngineFigures) -> f64 {
    let span_ns = (two.at - one.at) as f64;
    let percent = |before: f64, after: f64| ((after - before) / span_ns * 100.0).clamp(0.0, 100.0);
    let rate = |before: f64, after: f64| (after - before).max(0.0) / (span_ns / 1e9) / f64::from(1 << 20);
    match metric {
        1 => percent(one.graphics_ns, two.graphics_ns),
        2 => percent(one.multiprocessors_ns, two.multiprocessors_ns),
        3 => percent(one.occupancy_ns, two.occupancy_ns),
        // All matrix work of a box is in half precision, and all other arithmetic is a tenth of it.
        5 | 7 => percent(one.tensor_ns, two.tensor_ns),
        4 | 12 => percent(one.tensor_ns, two.tensor_ns) / 10.0,
        10 => percent(one.memory_ns, two.memory_ns),
        20 => rate(one.sent_bytes, two.sent_bytes),
        21 => rate(one.received_bytes, two.received_bytes),
        60 | 61 => rate(one.exchanged_bytes, two.exchanged_bytes),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_differences_over_time() {
        let one = EngineFigures { at: 1_000_000_000, ..EngineFigures::default() };
        let two = EngineFigures {
            at: 3_000_000_000,
            graphics_ns: 2.0e9,
            multiprocessors_ns: 0.5e9,
            received_bytes: f64::from(64 << 20),
            ..EngineFigures::default()
        };
        assert!((value(1, &one, &two) - 100.0).abs() < 1e-9);
        assert!((value(2, &one, &two) - 25.0).abs() < 1e-9);
        assert!((value(21, &one, &two) - 32.0).abs() < 1e-9);
        assert!(wording(99).is_none());
    }
}
