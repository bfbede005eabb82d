//! Whether the numbers of a sample's cards can be.

use std::ops::RangeInclusive;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardMemory, CardSample, NvmlSample, TimedValue};

use super::{BYTES_MAX, Check, SHARE};

/// The year 2255 in microseconds since 1970.
const TIME_US_MAX: u64 = 9_000_000_000_000_000;

/// A fan may be driven beyond what it is made for.
const FAN: RangeInclusive<f64> = 0.0..=1000.0;

/// No fan turns faster in a minute.
const TURNS_MAX: u32 = 1_000_000;

/// With a limit of nothing a card could not run, and shares of it are judged.
const POWER_LIMIT: RangeInclusive<f64> = 0.001..=1e6;

/// More rows or banks than any memory has.
const ROWS_MAX: u64 = 1 << 32;

/// More generations than a kind of link will see.
const GENERATION_MAX: u32 = 15;

/// The widest link of a device has 32 lanes.
const WIDTH_MAX: u32 = 64;

/// More `NVLinks` than any card has.
const NVLINKS_MAX: u64 = 256;

/// Errors have numbers up to a few hundred.
const XID_MAX: u64 = 100_000;

/// Every two of the most cards that a machine has.
const PAIRS_MAX: u64 = NvmlSample::CARDS_MAX as u64 * (NvmlSample::CARDS_MAX as u64 - 1) / 2;

impl Check {
    pub(super) fn nvml(&mut self, nvml: &NvmlSample) {
        self.counter("nvml.init_ms", nvml.init_ms);
        let whole = nvml.cards.iter().filter(|card| card.parent.is_none()).count();
        self.at_most("nvml.cards", whole as u64, NvmlSample::CARDS_MAX.into());
        self.at_most("nvml.cards", nvml.cards.len() as u64, NvmlSample::PARTS_MAX.into());
        for card in &nvml.cards {
            self.card(card);
        }
        // Every two of the cards.
        let pairs = nvml.pairs.known().map_or(0, Vec::len);
        self.at_most("nvml.pairs", pairs as u64, PAIRS_MAX);
        for event in nvml.xid_events.known().into_iter().flatten() {
            self.at_most("nvml.xid_events.number", event.number.into(), XID_MAX);
        }
    }

    pub(super) fn card(&mut self, card: &CardSample) {
        self.card_use(card);
        self.card_limits(card);
        self.card_health(card);
        self.card_links(card);
    }

    fn card_use(&mut self, card: &CardSample) {
        self.memory("nvml.cards.memory", &card.memory);
        self.memory("nvml.cards.bar1", &card.bar1);
        self.quantity("nvml.cards.busy", &card.busy);
        self.quantity("nvml.cards.memory_busy", &card.memory_busy);
        self.buffer("nvml.cards.busy_samples", &card.busy_samples);
        self.buffer("nvml.cards.memory_busy_samples", &card.memory_busy_samples);
        self.quantity("nvml.cards.power", &card.power);
        self.quantity("nvml.cards.energy", &card.energy);
        self.quantity("nvml.cards.temperature", &card.temperature);
        self.quantity("nvml.cards.memory_temperature", &card.memory_temperature);
        self.quantity_within("nvml.cards.fan", &card.fan, &FAN);
        for fan in card.fans.known().into_iter().flatten() {
            self.quantity_within("nvml.cards.fans", &fan.speed, &FAN);
            self.quantity_within("nvml.cards.fans", &fan.target, &FAN);
            self.small_if_known("nvml.cards.fans", &fan.rpm, TURNS_MAX);
        }
        self.quantity("nvml.cards.encoder", &card.encoder);
        self.quantity("nvml.cards.decoder", &card.decoder);
        let activity = &card.activity;
        for share in
            [&activity.sm_active, &activity.sm_occupancy, &activity.tensor_active, &activity.dram_active]
        {
            self.quantity("nvml.cards.activity", share);
        }
        for client in card.clients.known().into_iter().flatten() {
            self.bytes("nvml.cards.clients.memory", &client.memory);
        }
        for work in card.client_work.known().into_iter().flatten() {
            self.at_most("nvml.cards.client_work.time_us", work.time_us, TIME_US_MAX);
            self.number("nvml.cards.client_work.sm", work.sm.0, &SHARE);
            self.number("nvml.cards.client_work.memory", work.memory.0, &SHARE);
        }
        let counters = &card.reason_counters;
        self.counter_if_known("nvml.cards.reason_counters", &counters.software_power_cap_ns);
        self.counter_if_known("nvml.cards.reason_counters", &counters.sync_boost_ns);
        self.counter_if_known("nvml.cards.reason_counters", &counters.software_thermal_ns);
        self.counter_if_known("nvml.cards.reason_counters", &counters.hardware_thermal_ns);
        self.counter_if_known("nvml.cards.reason_counters", &counters.power_brake_ns);
    }

    fn card_limits(&mut self, card: &CardSample) {
        let limits = &card.power_limits;
        for limit in [&limits.enforced, &limits.default, &limits.maximum, &limits.requested] {
            self.quantity_within("nvml.cards.power_limits", limit, &POWER_LIMIT);
        }
        let limits = &card.temperature_limits;
        for limit in [
            &limits.slowdown,
            &limits.shutdown,
            &limits.margin,
            &limits.operating_maximum,
            &limits.memory_maximum,
        ] {
            self.quantity("nvml.cards.temperature_limits", limit);
        }
        let clocks = &card.clocks;
        for clock in [&clocks.sm, &clocks.sm_max, &clocks.memory, &clocks.memory_max] {
            self.quantity("nvml.cards.clocks", clock);
        }
    }

    fn card_health(&mut self, card: &CardSample) {
        let violations = &card.violations;
        for time in [
            &violations.power_ns,
            &violations.thermal_ns,
            &violations.board_limit_ns,
            &violations.reliability_ns,
        ] {
            self.counter_if_known("nvml.cards.violations", time);
        }
        for counts in [&card.ecc.volatile, &card.ecc.aggregate] {
            for count in
                [&counts.corrected, &counts.uncorrected, &counts.dram_uncorrected, &counts.sram_uncorrected]
            {
                self.counter_if_known("nvml.cards.ecc", count);
            }
        }
        if let Reading::Known(rows) = &card.remapped_rows {
            self.at_most("nvml.cards.remapped_rows", rows.corrected, ROWS_MAX);
            self.at_most("nvml.cards.remapped_rows", rows.uncorrected, ROWS_MAX);
            let spare = rows.spare_rows.unwrap_or_default();
            for banks in [spare.all, spare.high, spare.partial, spare.low, spare.none] {
                self.at_most("nvml.cards.remapped_rows.spare_rows", banks.into(), ROWS_MAX);
            }
        }
        if let Reading::Known(pages) = &card.retired_pages {
            self.counter("nvml.cards.retired_pages", pages.single_bit);
            self.counter("nvml.cards.retired_pages", pages.double_bit);
        }
    }

    fn card_links(&mut self, card: &CardSample) {
        let link = &card.pcie;
        for generation in [&link.generation, &link.generation_max, &link.card_generation_max] {
            self.small_if_known("nvml.cards.pcie.generation", generation, GENERATION_MAX);
        }
        for width in [&link.width, &link.width_max] {
            self.small_if_known("nvml.cards.pcie.width", width, WIDTH_MAX);
        }
        self.counter_if_known("nvml.cards.pcie.replays", &link.replays);
        self.quantity("nvml.cards.pcie.to_card", &link.to_card);
        self.quantity("nvml.cards.pcie.to_host", &link.to_host);
        self.counter_if_known("nvml.cards.pcie.to_card_bytes", &link.to_card_bytes);
        self.counter_if_known("nvml.cards.pcie.to_host_bytes", &link.to_host_bytes);
        for errors in [&link.errors.corrected, &link.errors.non_fatal, &link.errors.fatal] {
            self.counter_if_known("nvml.cards.pcie.errors", errors);
        }
        let nvlinks = card.nvlinks.known().map_or(&[][..], |links| links);
        self.at_most("nvml.cards.nvlinks", nvlinks.len() as u64, NVLINKS_MAX);
        for link in nvlinks {
            self.small_if_known("nvml.cards.nvlinks.version", &link.version, GENERATION_MAX);
            for count in [&link.crc_errors, &link.replays, &link.recoveries] {
                self.counter_if_known("nvml.cards.nvlinks", count);
            }
        }
        self.counter_if_known("nvml.cards.nvlink_traffic", &card.nvlink_traffic.received_bytes);
        self.counter_if_known("nvml.cards.nvlink_traffic", &card.nvlink_traffic.sent_bytes);
    }

    fn memory(&mut self, field: &'static str, memory: &Reading<CardMemory>) {
        let Reading::Known(memory) = memory else {
            return;
        };
        self.at_most(field, memory.total.0, BYTES_MAX);
        for part in [memory.used, memory.free, memory.reserved.known().copied().unwrap_or_default()] {
            self.at_most(field, part.0, memory.total.0);
        }
    }

    fn buffer(&mut self, field: &'static str, buffer: &Reading<Vec<TimedValue>>) {
        for timed in buffer.known().into_iter().flatten() {
            self.at_most(field, timed.time_us, TIME_US_MAX);
            self.number(field, timed.value, &SHARE);
        }
    }
}
