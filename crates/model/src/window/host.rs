//! The machine's processors, memory and pressure over a window.

use super::devices;
use super::series::{growth, newest};
use crate::reading::{Failure, Reading};
use crate::sample::{CpuTimes, HostSample, Pressure, ReadTime, Sample};
use crate::scene::{Host, Pressures};
use crate::units::{Bytes, Cores, Share};

/// Returns the host section of a scene.
pub(super) fn host(samples: &[Sample]) -> Host {
    let ticks_per_second = ticks_per_second(samples);
    let cpu_growth = |pick: fn(&CpuTimes) -> u64| {
        growth(host_points(samples, move |host| host.cpu_times.as_ref().map(pick)))
    };
    let all = cpu_growth(all_ticks);
    Host {
        cpus: newest(samples, |sample| sample.host.value.as_ref().and_then(|host| host.cpus.as_ref())),
        cores_used: cpu_growth(used_ticks).and_then(|used| match ticks_per_second {
            0 => Reading::default(),
            ticks => Reading::Known(Cores(used.per_second() / ticks as f64)),
        }),
        steal: cpu_growth(|times| times.steal).and_then(|steal| {
            all.and_then(|all| match all.amount {
                0.0 => Failure::TooFewSamples.into_reading(),
                amount => Reading::Known(Share(steal.amount / amount)),
            })
        }),
        memory: newest(samples, |sample| sample.host.value.as_ref().and_then(|host| host.memory.as_ref())),
        shared_memory: newest(samples, |sample| {
            sample.host.value.as_ref().and_then(|host| host.shared_memory.as_ref())
        }),
        shared_memory_least: shared_memory_least(samples),
        paging: devices::paging(samples),
        disks: devices::disks(samples),
        pressure: Pressures {
            cpu_some: pressure(samples, |host| &host.cpu_pressure, some),
            io_some: pressure(samples, |host| &host.io_pressure, some),
            memory_some: pressure(samples, |host| &host.memory_pressure, some),
            memory_full: pressure(
                samples,
                |host| &host.memory_pressure,
                |pressure| pressure.full.map_or(Reading::Unsupported, |full| Reading::Known(full.total_us)),
            ),
        },
    }
}

/// Returns the least room that was left in shared memory.
fn shared_memory_least(samples: &[Sample]) -> Reading<Bytes> {
    let rooms = samples.iter().filter_map(|sample| sample.host.value.known()?.shared_memory.known());
    rooms
        .map(|space| Bytes(space.available))
        .min()
        .map_or_else(|| Failure::NotInSource.into_reading(), Reading::Known)
}

/// Returns the time in which processors worked. A damaged recording may hold any number: sums must not overflow.
fn used_ticks(times: &CpuTimes) -> u64 {
    times.user.saturating_add(times.system)
}

/// Returns all processor time.
fn all_ticks(times: &CpuTimes) -> u64 {
    [times.idle, times.io_wait, times.steal].into_iter().fold(used_ticks(times), u64::saturating_add)
}

/// Returns the clock ticks per second of the counters; 0 when no sample carries it.
pub(super) fn ticks_per_second(samples: &[Sample]) -> u64 {
    samples
        .iter()
        .rev()
        .find_map(|sample| sample.machine.value.known().filter(|machine| machine.ticks_per_second > 0))
        .map_or(0, |machine| machine.ticks_per_second)
}

/// Returns the share of time that a differenced total of waiting, in microseconds, makes.
pub(super) fn share_of_time(points: impl Iterator<Item = (ReadTime, Reading<u64>)>) -> Reading<Share> {
    growth(points).map(|waited| Share((waited.per_second() / 1e6).min(1.0)))
}

fn some(pressure: &Pressure) -> Reading<u64> {
    Reading::Known(pressure.some.total_us)
}

fn pressure(
    samples: &[Sample],
    pick: fn(&HostSample) -> &Reading<Pressure>,
    line: fn(&Pressure) -> Reading<u64>,
) -> Reading<Share> {
    share_of_time(host_points(samples, move |host| pick(host).as_ref().and_then(line)))
}

fn host_points<'samples>(
    samples: &'samples [Sample],
    pick: impl Fn(&'samples HostSample) -> Reading<u64> + 'samples,
) -> impl Iterator<Item = (ReadTime, Reading<u64>)> + 'samples {
    samples.iter().map(move |sample| (sample.host.read, sample.host.value.as_ref().and_then(&pick)))
}
