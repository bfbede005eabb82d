//! The PCI Express link.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;
use std::time::{Duration, Instant};

use crate::Code;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::card_call;

/// A throughput call watches the link for so long, and blocks meanwhile.
const THROUGHPUT_WINDOW: Duration = Duration::from_millis(20);

/// Generation of the link at this moment.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCurrPcieLinkGeneration(
    device: Device,
    generation: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetCurrPcieLinkGeneration", device, |asked| {
        generation.put(asked.look().link_generation)
    })
}

/// Lanes in use.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCurrPcieLinkWidth(device: Device, width: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetCurrPcieLinkWidth", device, |asked| width.put(asked.card.pcie_current_width))
}

/// Highest generation of slot and card together.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMaxPcieLinkGeneration(device: Device, generation: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetMaxPcieLinkGeneration", device, |asked| {
        generation.put(asked.card.pcie_generation)
    })
}

/// Most lanes of slot and card together.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMaxPcieLinkWidth(device: Device, width: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetMaxPcieLinkWidth", device, |asked| width.put(asked.card.pcie_width))
}

/// Highest generation of the card alone.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGpuMaxPcieLinkGeneration(
    device: Device,
    generation: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetGpuMaxPcieLinkGeneration", device, |asked| {
        generation.put(asked.card.pcie_card_generation)
    })
}

/// Kilobytes per second over the next 20 ms: counter 0 from the card to the host, 1 from the host to the
/// card.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPcieThroughput(
    device: Device,
    counter: c_uint,
    rate: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetPcieThroughput", device, |asked| {
        let bytes = || {
            let view = asked.look();
            match counter {
                0 => Ok(view.sent_bytes),
                1 => Ok(view.received_bytes),
                _ => Err(Code::INVALID_ARGUMENT),
            }
        };
        let before = bytes()?;
        let started = Instant::now();
        std::thread::sleep(THROUGHPUT_WINDOW);
        let moved = bytes()?.saturating_sub(before);
        let microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        let kilobytes_per_s = moved.saturating_mul(1000) / microseconds;
        rate.put(c_uint::try_from(kilobytes_per_s).unwrap_or(c_uint::MAX))
    })
}

/// Speed of the link at this moment in megabits per second and lane.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPcieSpeed(device: Device, speed: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPcieSpeed", device, |asked| speed.put(megabits(asked.look().link_generation)))
}

/// Highest speed of the link: 1 for 2.5, 2 for 5, 3 for 8, 4 for 16, 5 for 32, 6 for 64 gigabits per second and
/// lane.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPcieLinkMaxSpeed(device: Device, speed: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPcieLinkMaxSpeed", device, |asked| speed.put(asked.card.pcie_generation))
}

fn megabits(generation: c_uint) -> c_uint {
    match generation {
        0 | 1 => 2_500,
        2 => 5_000,
        3 => 8_000,
        4 => 16_000,
        5 => 32_000,
        _ => 64_000,
    }
}

/// Replays since the box came up.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPcieReplayCounter(device: Device, replays: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPcieReplayCounter", device, |asked| {
        let counted = asked.machine.pcie_counters(asked.card).replays;
        replays.put(c_uint::try_from(counted).unwrap_or(c_uint::MAX))
    })
}
