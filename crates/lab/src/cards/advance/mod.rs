//! Moves a card on to the present: whoever looks or works does it, under the card's lock.

mod engines;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering::Relaxed;

use super::load::Intensity;
use super::physics::{Body, Influence, memory_clock, performance_state};
use super::reasons::Reasons;
use crate::board::Card;
use crate::state::{BUCKET_NS, BucketRing, CardRecord, ClientSlot, Instant, MOST_INSTANCES, State};

/// Period of power samples.
const POWER_PERIOD_NS: u64 = 100_000_000;

/// One client of the card that is being moved on.
struct Work<'a> {
    slot: &'a ClientSlot,
    buckets: &'a BucketRing,
    /// The MIG instance that it uses, counted from 1; 0 for the whole card.
    instance: usize,
    /// The kernel that runs, if one does, and what is left of it.
    kernel: Option<(Intensity, f64)>,
    receiving: f64,
    sending: f64,
}

/// A card with what the board around it makes of its work.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// The card.
    pub(super) card: &'a Card,
    /// Whether it reaches other cards over NVLink; else over its link to the host.
    pub(super) has_nvlink: bool,
}

/// Moves a card on to `now`, as it is all the time until then. The caller holds the card's lock.
pub(super) fn advance(state: &State, around: Surroundings, now: Instant) {
    let card = around.card;
    let record = &state.layout().cards[card.index];
    let mut at = record.advanced_to.load(Relaxed);
    if at == 0 {
        at = begin(card, record, state.clock().started);
    }
    if at >= now {
        return;
    }
    let mut work = work_on(state, card.index);
    let mut body = Body {
        temperature_c: record.temperature_c.get(),
        demand_w: record.demand_w.get(),
        clock_ratio: record.clock_ratio.get(),
    };
    let engine_period = card.profile.utilization_period_ms * 1_000_000;
    while at < now {
        let mut next = now
            .min(boundary_after(at, BUCKET_NS))
            .min(boundary_after(at, POWER_PERIOD_NS))
            .min(boundary_after(at, engine_period));
        if let Some(end) = next_kernel_end(&work, body.clock_ratio, at) {
            next = next.min(end);
        }
        step(around, record, &mut work, &mut body, at, next);
        at = next;
        if at.is_multiple_of(engine_period) {
            end_engine_sample(card, record, at, engine_period);
        }
        if at.is_multiple_of(POWER_PERIOD_NS) {
            end_power_sample(card, record, &body, !work.is_empty(), at);
        }
    }
    for client in &work {
        store(client);
    }
    record.temperature_c.set(body.temperature_c);
    record.demand_w.set(body.demand_w);
    record.clock_ratio.set(body.clock_ratio);
    record.advanced_to.store(at, Relaxed);
}

/// How long what is left of a client's kernel takes as things stand, in nanoseconds.
pub(super) fn time_left_ns(state: &State, card: &Card, slot: &ClientSlot) -> f64 {
    let clock_ratio = state.layout().cards[card.index].clock_ratio.get();
    let instance = slot.instance.load(Relaxed);
    let running = slots_on(state, card.index)
        .filter(|other| other.running.load(Relaxed) == 1 && other.instance.load(Relaxed) == instance)
        .count();
    slot.remaining_ns.get() * intensity(slot).slowdown(clock_ratio) * running.max(1) as f64
}

/// How long what is left of a client's copies takes as things stand, in nanoseconds.
pub(super) fn copy_left_ns(state: &State, card: &Card, slot: &ClientSlot) -> f64 {
    let receivers = slots_on(state, card.index).filter(|other| other.receiving_bytes.get() > 0.0).count();
    let senders = slots_on(state, card.index).filter(|other| other.sending_bytes.get() > 0.0).count();
    let receiving = slot.receiving_bytes.get() * receivers.max(1) as f64;
    let bytes = receiving.max(slot.sending_bytes.get() * senders.max(1) as f64);
    bytes / card.link_bytes_per_s() * 1e9
}

fn begin(card: &Card, record: &CardRecord, started: Instant) -> Instant {
    let body = Body::idle(card);
    record.temperature_c.set(body.temperature_c);
    record.clock_ratio.set(body.clock_ratio);
    record.power_w.set(card.profile.power.idle);
    // The first sample began before the box came up.
    let before_s = (started % POWER_PERIOD_NS) as f64 / 1e9;
    record.sample_energy_j.set(card.profile.power.idle * before_s);
    record.reasons.store(Reasons::GPU_IDLE.mask(), Relaxed);
    started
}

/// The slots of all clients on a card.
pub(super) fn slots_on(state: &State, card: usize) -> impl Iterator<Item = &ClientSlot> {
    state.layout().slots.iter().take(state.slots_used()).filter(move |slot| slot.is_on(card))
}

fn work_on(state: &State, card: usize) -> Vec<Work<'_>> {
    let layout = state.layout();
    let mut work = Vec::new();
    for (slot, buckets) in layout.slots.iter().zip(&layout.buckets).take(state.slots_used()) {
        if !slot.is_on(card) {
            continue;
        }
        let is_running = slot.running.load(Relaxed) == 1;
        work.push(Work {
            slot,
            buckets,
            instance: (slot.instance.load(Relaxed) as usize).min(MOST_INSTANCES),
            kernel: is_running.then(|| (intensity(slot), slot.remaining_ns.get())),
            receiving: slot.receiving_bytes.get(),
            sending: slot.sending_bytes.get(),
        });
    }
    work
}

fn intensity(slot: &ClientSlot) -> Intensity {
    Intensity {
        compute: slot.compute.get(),
        memory: slot.memory.get(),
        communication: slot.communication.get(),
        sm_share: slot.sm_share.get(),
    }
}

fn boundary_after(at: Instant, period: u64) -> Instant {
    (at / period + 1) * period
}

/// Clients with a kernel, by instance: those of one instance share its time.
fn running(work: &[Work]) -> [usize; MOST_INSTANCES + 1] {
    let mut running = [0; MOST_INSTANCES + 1];
    for client in work.iter().filter(|client| client.kernel.is_some()) {
        running[client.instance] += 1;
    }
    running
}

/// When the first of the running kernels ends if nothing else changes.
fn next_kernel_end(work: &[Work], clock_ratio: f64, at: Instant) -> Option<Instant> {
    let running = running(work);
    let shortest = work
        .iter()
        .filter_map(|client| Some((client.kernel?, running[client.instance] as f64)))
        .map(|((kernel, left), beside)| left * kernel.slowdown(clock_ratio) * beside)
        .min_by(f64::total_cmp)?;
    Some(at + nanoseconds(shortest).max(1))
}

fn step(
    around: Surroundings,
    record: &CardRecord,
    work: &mut [Work],
    body: &mut Body,
    from: Instant,
    until: Instant,
) {
    let card = around.card;
    let length = until - from;
    let length_ns = length as f64;
    let running = running(work);
    let is_busy = running.iter().any(|count| *count > 0);
    let mut draw = 0.0;
    let mut memory_share: f64 = 0.0;
    for client in work.iter_mut() {
        let Some((kernel, left)) = client.kernel else { continue };
        let share = 1.0 / running[client.instance].max(1) as f64;
        let of_card = part_of_card(card, client.instance);
        let memory = kernel.memory.clamp(0.0, 1.0);
        draw += kernel.draw() * share * of_card;
        memory_share += memory * share * of_card;
        let own_ns = length_ns * share;
        client.buckets.add(from, own_ns, own_ns * memory, own_ns * kernel.communication.clamp(0.0, 1.0));
        client.slot.busy_ns.set(client.slot.busy_ns.get() + own_ns);
        client.slot.memory_ns.set(client.slot.memory_ns.get() + own_ns * memory);
        engines::book(record, client.instance, &kernel, own_ns, of_card);
        let done_ns = (own_ns / kernel.slowdown(body.clock_ratio)).min(left);
        exchange(around, record, done_ns * client.slot.exchange_bytes_per_ns.get());
        let left = left - done_ns;
        client.kernel = if left < 1.0 {
            client.slot.finished_at.store(until, Relaxed);
            None
        } else {
            Some((kernel, left))
        };
    }
    copy(card, record, work, length_ns / 1e9);
    if is_busy {
        record.busy_at.store(until, Relaxed);
        record.sample_busy_ns.store(record.sample_busy_ns.load(Relaxed) + length, Relaxed);
        record.sample_memory_ns.set(record.sample_memory_ns.get() + length_ns * memory_share);
    }
    let seconds = length_ns / 1e9;
    let influence = Influence {
        draw,
        memory_share,
        has_client: !work.is_empty(),
        is_busy,
        calm_s: calm_seconds(record, until),
    };
    let outcome = body.step(card, influence, seconds);
    record.power_w.set(outcome.power_w);
    record.energy_j.set(record.energy_j.get() + outcome.power_w * seconds);
    record.sample_energy_j.set(record.sample_energy_j.get() + outcome.power_w * seconds);
    record.reasons.store(outcome.reasons.mask(), Relaxed);
    for position in outcome.reasons.positions() {
        record.reason_ns[position].fetch_add(length, Relaxed);
    }
    let base_ratio = f64::from(card.profile.clocks.base) / f64::from(card.profile.clocks.maximum);
    if is_busy && body.clock_ratio < base_ratio {
        record.below_base_ns.fetch_add(length, Relaxed);
    }
}

/// Share of the card that an instance is.
fn part_of_card(card: &Card, instance: usize) -> f64 {
    let cut = instance.checked_sub(1).and_then(|position| card.instances.get(position));
    cut.map_or(1.0, |cut| f64::from(cut.multiprocessors) / f64::from(card.profile.multiprocessors))
}

/// Books what a card exchanged with others, as much in one direction as in the other.
fn exchange(around: Surroundings, record: &CardRecord, bytes: f64) {
    if around.has_nvlink {
        record.exchanged_bytes.set(record.exchanged_bytes.get() + bytes);
    } else {
        record.received_bytes.set(record.received_bytes.get() + bytes);
        record.sent_bytes.set(record.sent_bytes.get() + bytes);
    }
}

fn copy(card: &Card, record: &CardRecord, work: &mut [Work], seconds: f64) {
    let receivers = work.iter().filter(|client| client.receiving > 0.0).count().max(1) as f64;
    let senders = work.iter().filter(|client| client.sending > 0.0).count().max(1) as f64;
    let carried = card.link_bytes_per_s() * seconds;
    for client in work {
        let received = client.receiving.min(carried / receivers);
        let sent = client.sending.min(carried / senders);
        client.receiving -= received;
        client.sending -= sent;
        record.received_bytes.set(record.received_bytes.get() + received);
        record.sent_bytes.set(record.sent_bytes.get() + sent);
    }
}

fn store(client: &Work) {
    let slot = client.slot;
    slot.remaining_ns.set(client.kernel.map_or(0.0, |(_, left)| left));
    slot.running.store(u32::from(client.kernel.is_some()), Relaxed);
    // Less than a byte is rounding.
    slot.receiving_bytes.set(if client.receiving < 1.0 { 0.0 } else { client.receiving });
    slot.sending_bytes.set(if client.sending < 1.0 { 0.0 } else { client.sending });
}

fn end_engine_sample(card: &Card, record: &CardRecord, at: Instant, period: u64) {
    let busy = match card.setting.stuck_utilization {
        Some(percent) => f64::from(percent) / 100.0,
        None => record.sample_busy_ns.load(Relaxed) as f64 / period as f64,
    };
    let memory = record.sample_memory_ns.get() / period as f64;
    record.engine.push(at, parts_per_million(busy), parts_per_million(memory));
    record.sample_busy_ns.store(0, Relaxed);
    record.sample_memory_ns.set(0.0);
}

fn end_power_sample(card: &Card, record: &CardRecord, body: &Body, has_client: bool, at: Instant) {
    let seconds = POWER_PERIOD_NS as f64 / 1e9;
    let milliwatts = record.sample_energy_j.get() / seconds * 1000.0;
    let state = performance_state(card, has_client, calm_seconds(record, at));
    let reasons = u32::try_from(record.reasons.load(Relaxed)).unwrap_or(0);
    record.power.push(
        at,
        whole(milliwatts),
        sm_mhz(card, body.clock_ratio),
        memory_clock(card, state),
        reasons,
    );
    record.sample_energy_j.set(0.0);
}

/// Seconds since a kernel ran last.
pub(super) fn calm_seconds(record: &CardRecord, at: Instant) -> f64 {
    at.saturating_sub(record.busy_at.load(Relaxed)) as f64 / 1e9
}

/// SM clock in MHz; cards set it in steps of 15.
pub(super) fn sm_mhz(card: &Card, clock_ratio: f64) -> u32 {
    let exact = f64::from(card.profile.clocks.maximum) * clock_ratio;
    whole((exact / 15.0).round() * 15.0).max(card.profile.clocks.idle).min(card.profile.clocks.maximum)
}

fn parts_per_million(share: f64) -> u32 {
    whole((share * 1e6).min(1e6))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range first")]
fn whole(value: f64) -> u32 {
    value.round().clamp(0.0, f64::from(u32::MAX)) as u32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range first")]
fn nanoseconds(value: f64) -> u64 {
    value.ceil().clamp(0.0, 1e18) as u64
}
