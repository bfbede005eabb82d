//! What can be seen of a card and of its clients at one moment.

use std::sync::atomic::Ordering::Relaxed;

use super::Reasons;
use super::advance::{calm_seconds, slots_on, sm_mhz};
use super::physics::{fan_target_percent, is_slow, memory_c, memory_clock, performance_state};
use crate::board::Card;
use crate::state::{
    CardRecord, ClientSlot, Clock, EndedClient, Instant, Occupancy, REASON_BITS, State, UsageKind,
};

/// Power samples that the sensor of newer cards averages over: one second.
const AVERAGED_SAMPLES: usize = 10;

/// A card at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct CardView {
    /// Held by clients, in bytes (without what driver and firmware reserve).
    pub used_bytes: u64,
    /// Can still be allocated, in bytes.
    pub free_bytes: u64,
    /// Clients that have a context.
    pub clients: usize,
    /// Share of the last sample period with a kernel, in percent.
    pub gpu_percent: u32,
    /// Share of the last sample period with memory traffic, in percent.
    pub memory_percent: u32,
    /// Power as the sensor reports it, in milliwatts.
    pub milliwatts: u32,
    /// Mean power of the last tenth of a second, in milliwatts.
    pub instant_milliwatts: u32,
    /// Energy since the box came up, in millijoules.
    pub energy_mj: u64,
    /// Degrees Celsius.
    pub temperature_c: u32,
    /// Degrees Celsius of the memory, where it has a sensor.
    pub memory_temperature_c: Option<u32>,
    /// Speed that the fans should have, in percent, for cards with fans.
    pub fan_target_percent: Option<u32>,
    /// SM clock in MHz.
    pub sm_mhz: u32,
    /// Memory clock in MHz.
    pub memory_mhz: u32,
    /// Performance state, 0 fastest.
    pub performance_state: u32,
    /// Why clocks are not higher.
    pub reasons: Reasons,
    /// Nanoseconds that each reason was active, by bit position.
    pub reason_ns: [u64; REASON_BITS],
    /// Nanoseconds below the base clock.
    pub below_base_ns: u64,
    /// Bytes from the host to the card since the box came up.
    pub received_bytes: u64,
    /// Bytes from the card to the host since the box came up.
    pub sent_bytes: u64,
    /// Bytes to other cards over NVLink since the box came up, and as many from them.
    pub exchanged_bytes: u64,
    /// Link generation at this moment.
    pub link_generation: u32,
}

impl CardView {
    pub(super) fn read(state: &State, card: &Card) -> Self {
        let record = &state.layout().cards[card.index];
        let advanced_to = record.advanced_to.load(Relaxed);
        let clients = slots_on(state, card.index).count();
        let used_bytes = slots_on(state, card.index).map(|slot| slot.bytes.load(Relaxed)).sum::<u64>();
        let performance_state = performance_state(card, clients > 0, calm_seconds(record, advanced_to));
        let temperature = record.temperature_c.get();
        let (gpu_percent, memory_percent) = record.engine.newest_first().next().map_or((0, 0), |sample| {
            (percent(sample.busy_ppm.load(Relaxed)), percent(sample.memory_ppm.load(Relaxed)))
        });
        let memory_c = memory_c(card, temperature, f64::from(memory_percent) / 100.0);
        let sleeping = is_slow(performance_state);
        let averages = card.profile.power.average_over_a_second;
        Self {
            used_bytes,
            free_bytes: card.memory_bytes.saturating_sub(card.reserved_bytes + used_bytes),
            clients,
            gpu_percent,
            memory_percent,
            milliwatts: mean_milliwatts(record, if averages { AVERAGED_SAMPLES } else { 1 }),
            instant_milliwatts: mean_milliwatts(record, 1),
            energy_mj: whole(record.energy_j.get() * 1000.0),
            temperature_c: rounded(temperature),
            memory_temperature_c: card.profile.heat.memory_maximum.map(|_| rounded(memory_c)),
            fan_target_percent: fan_target_percent(card, temperature).map(rounded),
            sm_mhz: sm_mhz(card, record.clock_ratio.get()),
            memory_mhz: memory_clock(card, performance_state),
            performance_state,
            reasons: Reasons::from_mask(record.reasons.load(Relaxed)),
            reason_ns: std::array::from_fn(|bit| record.reason_ns[bit].load(Relaxed)),
            below_base_ns: record.below_base_ns.load(Relaxed),
            received_bytes: whole(record.received_bytes.get()),
            sent_bytes: whole(record.sent_bytes.get()),
            exchanged_bytes: whole(record.exchanged_bytes.get()),
            link_generation: if sleeping {
                card.pcie_current_generation.min(card.profile.pcie.idle_generation)
            } else {
                card.pcie_current_generation
            },
        }
    }
}

/// Mean of the last `count` power samples; what is drawn now while there is none.
fn mean_milliwatts(record: &CardRecord, count: usize) -> u32 {
    let newest = record.power.newest_first().take(count).map(|sample| sample.milliwatts.load(Relaxed));
    let (number, sum) = newest.fold((0, 0), |(number, sum), value| (number + 1, sum + u64::from(value)));
    if number == 0 {
        return rounded(record.power_w.get() * 1000.0);
    }
    u32::try_from(sum / number).unwrap_or(u32::MAX)
}

/// A client of a card at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientView {
    /// Process id in the pid namespace of the box.
    pub host_pid: u32,
    /// Process id as the client itself sees it.
    pub own_pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    /// Memory held, context included, in bytes.
    pub bytes: u64,
    /// Most memory ever held, in bytes.
    pub most_bytes: u64,
    /// Which process list names it.
    pub kind: UsageKind,
    /// The MIG instance that it uses, by its place on the card; nothing for the whole card.
    pub instance: Option<usize>,
    /// Whether a kernel of it runs.
    pub is_running: bool,
    /// Whether the process is dead and the board kept its memory.
    pub is_residue: bool,
    /// When it attached (monotonic).
    pub attached_at: Instant,
    /// Milliseconds with a kernel since it attached.
    pub busy_ms: u64,
    /// Share of its life with a kernel, in percent.
    pub gpu_percent: u32,
    /// Share of its life with memory traffic, in percent.
    pub memory_percent: u32,
}

impl ClientView {
    pub(super) fn read(slot: &ClientSlot) -> Self {
        let attached_at = slot.attached_at.load(Relaxed);
        let lifetime = Clock::now().saturating_sub(attached_at).max(1) as f64;
        let busy_ns = slot.busy_ns.get();
        Self {
            host_pid: slot.host_pid.load(Relaxed),
            own_pid: slot.own_pid.load(Relaxed),
            start_ticks: slot.start_ticks.load(Relaxed),
            bytes: slot.bytes.load(Relaxed),
            most_bytes: slot.most_bytes.load(Relaxed),
            kind: slot.kind(),
            instance: (slot.instance.load(Relaxed) as usize).checked_sub(1),
            is_running: slot.running.load(Relaxed) == 1,
            is_residue: slot.occupancy() == Occupancy::Residue,
            attached_at,
            busy_ms: whole(busy_ns / 1e6),
            gpu_percent: rounded((busy_ns / lifetime * 100.0).min(100.0)),
            memory_percent: rounded((slot.memory_ns.get() / lifetime * 100.0).min(100.0)),
        }
    }
}

/// A client that has gone, as accounting remembers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedView {
    /// Process id in the pid namespace of the box.
    pub host_pid: u32,
    /// Most memory ever held, in bytes.
    pub most_bytes: u64,
    /// When it attached (monotonic).
    pub attached_at: Instant,
    /// When it had gone (monotonic).
    pub ended_at: Instant,
    /// Share of its life with a kernel, in percent.
    pub gpu_percent: u32,
    /// Share of its life with memory traffic, in percent.
    pub memory_percent: u32,
}

impl EndedView {
    pub(super) fn read(entry: &EndedClient) -> Self {
        let (attached_at, ended_at) = (entry.attached_at.load(Relaxed), entry.ended_at.load(Relaxed));
        let lifetime = ended_at.saturating_sub(attached_at).max(1) as f64;
        let share = |nanoseconds: f64| rounded((nanoseconds / lifetime * 100.0).min(100.0));
        Self {
            host_pid: entry.host_pid.load(Relaxed),
            most_bytes: entry.most_bytes.load(Relaxed),
            attached_at,
            ended_at,
            gpu_percent: share(entry.busy_ns.get()),
            memory_percent: share(entry.memory_ns.get()),
        }
    }
}

fn percent(parts_per_million: u32) -> u32 {
    (parts_per_million + 5_000) / 10_000
}

/// Rounds to a whole number that is not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range first")]
fn rounded(value: f64) -> u32 {
    value.round().clamp(0.0, f64::from(u32::MAX)) as u32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range first")]
fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 1e18) as u64
}
