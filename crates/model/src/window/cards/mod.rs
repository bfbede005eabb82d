//! Cards and their clients over a window.

mod health;
mod link;

use std::collections::{BTreeMap, BTreeSet};

use crate::process::Pid;
use crate::reading::{Absence, Failure, Reading};
use crate::sample::{
    CardClient, CardSample, ClockReasons, ProcessUtilization, ReadTime, Sample, TimedValue, Vendor,
};
use crate::scene::{Card, Client, ReasonShares};
use crate::trend::Trend;
use crate::units::{Bytes, BytesPerSecond, Percent, Quantity, Seconds, Share, Watts};
use crate::window::series::{Growth, growth, newest_of};

/// At least this much of what the driver's buffers hold is judged, in seconds, however short the look was.
const SHORTEST_JUDGED_S: f64 = 5.0;

/// Kernel time up to this percentage counts as not working: a display or a clock tick is no work.
const IDLE_PERCENT: f64 = 2.0;

/// One look at one card.
type Look<'samples> = (ReadTime, &'samples CardSample);

/// Returns every card that some sample listed, by index; what the newest sample says of a card counts.
pub(super) fn cards(samples: &[Sample]) -> Vec<Card> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let mut looks: BTreeMap<(bool, u32, Option<u32>, String), Vec<Look<'_>>> = BTreeMap::new();
    for sample in samples {
        let other = sample.other_cards.value.known().into_iter().flatten();
        for card in sample.nvml.value.known().into_iter().flat_map(|nvml| &nvml.cards).chain(other) {
            // Instances share their card's index space; their UUID tells them apart.
            let instance = card.parent.map_or_else(String::new, |_| instance_name(card));
            looks
                .entry((
                    card.vendor != Vendor::Nvidia,
                    card.parent.unwrap_or(card.index),
                    card.parent,
                    instance,
                ))
                .or_default()
                .push((
                    if card.vendor == Vendor::Nvidia { sample.nvml.read } else { sample.other_cards.read },
                    card,
                ));
        }
    }
    let span = Span { start_us: micros(&first.taken), end_us: micros(&last.taken) };
    let library = last.nvml.value.absence();
    let mut cards: Vec<Card> =
        looks.into_values().filter_map(|looks| over_window(&looks, span, library.as_ref())).collect();
    number_others(&mut cards);
    cards
}

/// Gives cards of other vendors the numbers behind NVIDIA's, whose library knows nothing of them.
fn number_others(cards: &mut [Card]) {
    let is_nvidia = |card: &&Card| card.vendor == Vendor::Nvidia;
    let first = cards.iter().filter(is_nvidia).map(|card| card.index + 1).max().unwrap_or(0);
    let others = cards.iter_mut().filter(|card| card.vendor != Vendor::Nvidia);
    for (card, index) in others.zip(first..) {
        card.index = index;
    }
    cards.sort_by_key(|card| (card.parent.unwrap_or(card.index), card.parent));
}

/// Returns what tells an instance from its neighbours: some inputs give no UUID of instances.
fn instance_name(card: &CardSample) -> String {
    card.uuid.known().cloned().unwrap_or_else(|| card.index.to_string())
}

/// The window on the calendar clock, which the card's time stamps follow.
#[derive(Clone, Copy)]
struct Span {
    start_us: u64,
    end_us: u64,
}

impl Span {
    /// Returns the start of what is judged: the window, or some of the past for a short one.
    fn judged_from_us(self) -> u64 {
        self.start_us.min(self.end_us.saturating_sub(seconds_to_micros(SHORTEST_JUDGED_S)))
    }
}

fn micros(at: &ReadTime) -> u64 {
    u64::try_from(at.wall.as_microsecond()).unwrap_or_default()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "called with small positive spans only"
)]
fn seconds_to_micros(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

fn over_window(looks: &[Look<'_>], span: Span, library: Option<&Absence>) -> Option<Card> {
    let (_, last) = looks.last()?;
    let busy_past = buffered(looks, |card| &card.busy_samples, |card| &card.busy);
    let idle_for = idle_for(&busy_past);
    let seen_working =
        busy_past.known().is_some_and(|past| past.iter().any(|timed| timed.value > IDLE_PERCENT));
    let memory = newest(looks, |card| &card.memory);
    let clients = clients(looks, span, &idle_for, seen_working);
    let explained = explained_bytes(&clients);
    Some(Card {
        index: last.index,
        is_unnumbered: false,
        is_unlisted: false,
        kind: last.kind,
        parent: last.parent,
        // A card that the newest sample could not ask at all does not answer now, whatever it said before.
        handle: library
            .filter(|_| last.vendor == Vendor::Nvidia)
            .map_or_else(|| last.handle.clone(), |absence| absence.clone().reading()),
        vendor: last.vendor,
        uuid: newest(looks, |card| &card.uuid),
        name: newest(looks, |card| &card.name),
        pci_address: newest(looks, |card| &card.pci_address),
        minor: newest(looks, |card| &card.minor),
        memory_used: polled(looks, |card| card.memory.as_ref().map(|memory| memory.used.0 as f64)),
        unexplained: memory
            .as_ref()
            .and_then(|memory| explained.map(|bytes| Bytes(memory.used.0.saturating_sub(bytes.0)))),
        memory,
        bar1: newest(looks, |card| &card.bar1),
        bar1_most: Reading::default(),
        busy: judged(&busy_past, span),
        memory_busy: judged(
            &buffered(looks, |card| &card.memory_busy_samples, |card| &card.memory_busy),
            span,
        ),
        idle_for,
        seen_working,
        power: polled(looks, |card| card.power.as_ref().map(|power| power.0)),
        mean_power_by_energy: mean_power(looks),
        power_limits: crate::sample::PowerLimits {
            enforced: newest(looks, |card| &card.power_limits.enforced),
            default: newest(looks, |card| &card.power_limits.default),
            maximum: newest(looks, |card| &card.power_limits.maximum),
            requested: newest(looks, |card| &card.power_limits.requested),
        },
        temperature: polled(looks, |card| card.temperature.as_ref().map(|temperature| temperature.0)),
        temperature_limits: crate::sample::TemperatureLimits {
            slowdown: newest(looks, |card| &card.temperature_limits.slowdown),
            shutdown: newest(looks, |card| &card.temperature_limits.shutdown),
            margin: newest(looks, |card| &card.temperature_limits.margin),
            operating_maximum: newest(looks, |card| &card.temperature_limits.operating_maximum),
            memory_maximum: newest(looks, |card| &card.temperature_limits.memory_maximum),
        },
        memory_temperature: polled(looks, |card| card.memory_temperature.as_ref().map(|heat| heat.0)),
        fan: newest(looks, |card| &card.fan),
        fans: newest(looks, |card| &card.fans),
        sm_clock: polled(looks, |card| card.clocks.sm.as_ref().map(|clock| clock.0)),
        clocks: crate::sample::Clocks {
            sm: newest(looks, |card| &card.clocks.sm),
            sm_max: newest(looks, |card| &card.clocks.sm_max),
            memory: newest(looks, |card| &card.clocks.memory),
            memory_max: newest(looks, |card| &card.clocks.memory_max),
        },
        performance_state: newest(looks, |card| &card.performance_state),
        clock_reasons: reasons_seen(looks),
        lasting_clock_reasons: lasting_reasons(looks),
        reason_shares: ReasonShares {
            software_power_cap: reason_share(looks, |card| &card.reason_counters.software_power_cap_ns),
            sync_boost: reason_share(looks, |card| &card.reason_counters.sync_boost_ns),
            software_thermal: reason_share(looks, |card| &card.reason_counters.software_thermal_ns),
            hardware_thermal: reason_share(looks, |card| &card.reason_counters.hardware_thermal_ns),
            power_brake: reason_share(looks, |card| &card.reason_counters.power_brake_ns),
        },
        violation_shares: health::violation_shares(looks),
        activity: health::activity(looks),
        encoder: polled(looks, |card| card.encoder.as_ref().map(|share| share.0)),
        decoder: polled(looks, |card| card.decoder.as_ref().map(|share| share.0)),
        pcie: link::pcie(looks),
        pcie_replays: counted(looks, |card| &card.pcie.replays),
        pcie_traffic: link::pcie_traffic(looks),
        pcie_errors: link::pcie_errors(looks),
        nvlinks: link::nvlinks(looks),
        nvlink_received: rate(looks, |card| &card.nvlink_traffic.received_bytes),
        nvlink_sent: rate(looks, |card| &card.nvlink_traffic.sent_bytes),
        fabric: newest(looks, |card| &card.fabric),
        ecc: health::ecc(looks),
        ecc_growth: health::ecc_growth(looks),
        remapped_rows: newest(looks, |card| &card.remapped_rows),
        retired_pages: newest(looks, |card| &card.retired_pages),
        inforom: newest(looks, |card| &card.inforom),
        compute_mode: newest(looks, |card| &card.compute_mode),
        persistence: newest(looks, |card| &card.persistence),
        mig_enabled: newest(looks, |card| &card.mig_enabled),
        mig_pending: newest(looks, |card| &card.mig_pending),
        display_active: newest(looks, |card| &card.display_active),
        compute_capability: newest(looks, |card| &card.compute_capability),
        clients,
        // Only exporters tell.
        given_to: Reading::default(),
    })
}

/// Returns by how much a counter grew in the window.
fn counted(looks: &[Look<'_>], pick: fn(&CardSample) -> &Reading<u64>) -> Reading<u64> {
    growth(points(looks, |card| pick(card).as_ref().copied())).map(Growth::whole)
}

/// Returns the rate that a counter of bytes makes.
fn rate(looks: &[Look<'_>], pick: fn(&CardSample) -> &Reading<u64>) -> Reading<BytesPerSecond> {
    growth(points(looks, |card| pick(card).as_ref().copied())).map(|bytes| BytesPerSecond(bytes.per_second()))
}

fn newest<'looks, T: Clone + 'looks>(
    looks: &'looks [Look<'_>],
    pick: fn(&CardSample) -> &Reading<T>,
) -> Reading<T> {
    newest_of(looks.iter().map(move |(_, card)| pick(card).as_ref()))
}

fn points<'looks>(
    looks: &'looks [Look<'_>],
    pick: impl Fn(&CardSample) -> Reading<u64> + 'looks,
) -> impl Iterator<Item = (ReadTime, Reading<u64>)> + 'looks {
    looks.iter().map(move |(at, card)| (*at, pick(card)))
}

/// Returns the trend of a value that each sample read once.
fn polled<T: Quantity>(looks: &[Look<'_>], pick: impl Fn(&CardSample) -> Reading<f64>) -> Reading<Trend<T>> {
    let mut series = Vec::new();
    let mut absence = Absence::Failed(Failure::NotInSource);
    for (at, card) in looks {
        let reading = pick(card);
        if let Reading::Known(value) = reading {
            series.push(TimedValue { time_us: micros(at), value });
        } else if !reading.is_not_in_source() {
            absence = reading.absence().unwrap_or(absence);
        }
    }
    Trend::of(&series).map_or_else(|| absence.reading(), Reading::Known)
}

/// Returns all that the driver's buffers hold, or, where they hold nothing, the values that each sample read.
fn buffered(
    looks: &[Look<'_>],
    buffer: fn(&CardSample) -> &Reading<Vec<TimedValue>>,
    value: fn(&CardSample) -> &Reading<Percent>,
) -> Reading<Vec<TimedValue>> {
    let mut series: Vec<TimedValue> =
        looks.iter().filter_map(|(_, card)| buffer(card).known()).flatten().copied().collect();
    if series.len() < 2 {
        series = looks
            .iter()
            .filter_map(|(at, card)| Some(TimedValue { time_us: micros(at), value: value(card).known()?.0 }))
            .collect();
    }
    if series.is_empty() {
        let absence = newest(looks, value).absence().or_else(|| newest(looks, buffer).absence());
        return absence.map_or_else(Reading::default, Absence::reading);
    }
    series.sort_by_key(|timed| timed.time_us);
    series.dedup_by_key(|timed| timed.time_us);
    Reading::Known(series)
}

/// Returns the trend over the window of a series that may reach further back.
fn judged(past: &Reading<Vec<TimedValue>>, span: Span) -> Reading<Trend<Percent>> {
    past.as_ref().and_then(|past| {
        let from_us = span.judged_from_us();
        let inside: Vec<TimedValue> = past.iter().copied().filter(|timed| timed.time_us >= from_us).collect();
        // A buffer whose newest value lies before the window says nothing about it.
        Trend::of(&inside).map_or_else(|| Failure::TooFewSamples.into_reading(), Reading::Known)
    })
}

/// Returns for at least how long the card has not worked: from its last work, or from the oldest value, to the newest.
fn idle_for(past: &Reading<Vec<TimedValue>>) -> Reading<Seconds> {
    past.as_ref().and_then(|past| {
        let Some(newest) = past.last() else {
            return Reading::default();
        };
        let last_work = past.iter().rev().find(|timed| timed.value > IDLE_PERCENT);
        let since = last_work.or(past.first()).unwrap_or(newest);
        Reading::Known(Seconds(newest.time_us.saturating_sub(since.time_us) as f64 / 1e6))
    })
}

/// Returns mean power by the energy counter.
fn mean_power(looks: &[Look<'_>]) -> Reading<Watts> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "energy is not negative and far below 2^64 mJ"
    )]
    let millijoules = points(looks, |card| card.energy.as_ref().map(|energy| (energy.0 * 1000.0) as u64));
    growth(millijoules).map(|energy| Watts(energy.per_second() / 1000.0))
}

/// Returns every reason bit that some sample saw.
fn reasons_seen(looks: &[Look<'_>]) -> Reading<ClockReasons> {
    let newest = newest(looks, |card| &card.clock_reasons);
    let seen = looks
        .iter()
        .filter_map(|(_, card)| card.clock_reasons.known())
        .fold(0, |bits, reasons| bits | reasons.0);
    newest.map(|_| ClockReasons(seen))
}

/// Returns the reason bits that more than half of the looks saw.
fn lasting_reasons(looks: &[Look<'_>]) -> Reading<ClockReasons> {
    let seen: Vec<u64> =
        looks.iter().filter_map(|(_, card)| card.clock_reasons.known()).map(|reasons| reasons.0).collect();
    let is_lasting = |bit: &u64| seen.iter().filter(|reasons| *reasons & bit != 0).count() * 2 > seen.len();
    let lasting = (0..u64::BITS).map(|place| 1 << place).filter(is_lasting).fold(0, |bits, bit| bits | bit);
    newest(looks, |card| &card.clock_reasons).map(|_| ClockReasons(lasting))
}

fn reason_share(looks: &[Look<'_>], pick: fn(&CardSample) -> &Reading<u64>) -> Reading<Share> {
    growth(points(looks, move |card| pick(card).as_ref().copied()))
        .map(|held| Share((held.per_second() / 1e9).min(1.0)))
}

/// Returns the bytes that all listed clients hold together; unknown when one of them is.
pub(super) fn explained_bytes(clients: &Reading<Vec<Client>>) -> Reading<Bytes> {
    clients.as_ref().and_then(|clients| {
        let mut sum = 0_u64;
        for client in clients {
            match client.memory.as_ref() {
                Reading::Known(bytes) => sum = sum.saturating_add(bytes.0),
                other => return other.copied(),
            }
        }
        Reading::Known(Bytes(sum))
    })
}

/// Returns the newest list of clients, each once, with its work in the window.
fn clients(
    looks: &[Look<'_>],
    span: Span,
    card_idle_for: &Reading<Seconds>,
    card_seen_working: bool,
) -> Reading<Vec<Client>> {
    let work: Vec<ProcessUtilization> =
        looks.iter().filter_map(|(_, card)| card.client_work.known()).flatten().copied().collect();
    let work_absence = newest(looks, |card| &card.client_work).absence();
    newest(looks, |card| &card.clients).map(|list| {
        let mut by_pid: BTreeMap<Pid, CardClient> = BTreeMap::new();
        for client in list {
            // One process may have a compute and a graphics context: its memory is the same memory.
            by_pid.entry(client.pid).or_insert(client);
        }
        by_pid
            .into_values()
            .map(|client| {
                let memory_trend = memory_trend(looks, client.pid);
                let mut client =
                    client_over_window(client, &work, work_absence.as_ref(), span, card_idle_for);
                client.memory_trend = memory_trend;
                // What the whole card did before it was looked at by process may have been this client's work.
                client.seen_working |= card_seen_working && client.idle_for == *card_idle_for;
                client
            })
            .collect()
    })
}

/// Returns how much one process held, look by look.
fn memory_trend(looks: &[Look<'_>], pid: Pid) -> Reading<Trend<Bytes>> {
    polled(looks, |card| {
        card.clients.as_ref().and_then(|clients| {
            clients
                .iter()
                .find(|client| client.pid == pid)
                .map_or_else(Reading::default, |client| client.memory.as_ref().map(|bytes| bytes.0 as f64))
        })
    })
}

fn client_over_window(
    client: CardClient,
    work: &[ProcessUtilization],
    work_absence: Option<&Absence>,
    span: Span,
    card_idle_for: &Reading<Seconds>,
) -> Client {
    let from_us = span.judged_from_us();
    let times: BTreeSet<u64> =
        work.iter().map(|row| row.time_us).filter(|time_us| *time_us >= from_us).collect();
    let own = |time_us: u64| {
        work.iter().find(|row| row.pid == client.pid && row.time_us == time_us).map_or(0.0, |row| row.sm.0)
    };
    let series: Vec<TimedValue> =
        times.iter().map(|time_us| TimedValue { time_us: *time_us, value: own(*time_us) }).collect();
    let sm = match (Trend::of(&series), work_absence) {
        (Some(trend), _) => Reading::Known(trend),
        (None, Some(absence)) => absence.clone().reading(),
        // The driver answered and named nobody: nobody worked.
        (None, None) => Trend::of(&[TimedValue { time_us: span.end_us, value: 0.0 }])
            .map_or_else(Reading::default, Reading::Known),
    };
    let last_work_us =
        work.iter().filter(|row| row.pid == client.pid && row.sm.0 > 0.0).map(|row| row.time_us).max();
    let idle_for = match (last_work_us, work_absence) {
        (Some(last_us), _) => Reading::Known(Seconds(span.end_us.saturating_sub(last_us) as f64 / 1e6)),
        // Never named: idle as long as was looked, or as long as the whole card was.
        (None, None) => {
            let looked_s = span.end_us.saturating_sub(span.start_us) as f64 / 1e6;
            Reading::Known(Seconds(card_idle_for.known().map_or(looked_s, |card| card.0.max(looked_s))))
        }
        (None, Some(_)) => card_idle_for.clone(),
    };
    Client {
        pid: client.pid,
        kind: client.kind,
        memory: client.memory,
        memory_trend: Reading::default(),
        name: client.name,
        sm,
        idle_for,
        seen_working: last_work_us.is_some(),
    }
}
