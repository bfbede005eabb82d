//! Whether the numbers of a sample can be: a recording may be damaged or made up, and no number of it may reach a
//! person that no machine can have.

use std::fmt::Display;
use std::ops::RangeInclusive;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{
    CardMemory, CardSample, CgroupSample, HostSample, NvmlSample, ProcessSample, ProcessTable, Sample,
    TimedValue,
};
use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Joules, Megahertz, Percent, Quantity, Watts};

/// Counters that only grow: in nanoseconds this is almost three centuries.
const COUNTER_MAX: u64 = 9_200_000_000_000_000_000;

/// More memory than any machine has: 1 EiB.
const BYTES_MAX: u64 = 1 << 60;

/// The year 2255 in microseconds since 1970.
const TIME_US_MAX: u64 = 9_000_000_000_000_000;

/// No kernel counts faster than in nanoseconds.
const TICKS_PER_SECOND_MAX: u64 = 1_000_000_000;

const SHARE: RangeInclusive<f64> = 0.0..=100.0;

/// A fan may be driven beyond what it is made for.
const FAN: RangeInclusive<f64> = 0.0..=1000.0;

/// With a limit of nothing a card could not run, and shares of it are judged.
const POWER_LIMIT: RangeInclusive<f64> = 0.001..=1e6;

/// Quotas are set in thousandths of a processor.
const QUOTA: RangeInclusive<f64> = 1e-6..=1e6;

/// A number that no machine can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Impossible {
    /// The field that holds it.
    pub(super) field: &'static str,
    /// The number.
    pub(super) value: String,
}

/// A number with a unit, of which there cannot be any amount.
trait Physical: Quantity {
    const RANGE: RangeInclusive<f64>;
}

impl Physical for Percent {
    const RANGE: RangeInclusive<f64> = SHARE;
}

impl Physical for Watts {
    const RANGE: RangeInclusive<f64> = 0.0..=1e6;
}

impl Physical for Joules {
    const RANGE: RangeInclusive<f64> = 0.0..=1e15;
}

impl Physical for Celsius {
    const RANGE: RangeInclusive<f64> = -300.0..=1000.0;
}

impl Physical for Megahertz {
    const RANGE: RangeInclusive<f64> = 0.0..=1e6;
}

impl Physical for BytesPerSecond {
    const RANGE: RangeInclusive<f64> = 0.0..=1e16;
}

/// Returns the first number of a sample that cannot be.
pub(super) fn impossible(sample: &Sample) -> Option<Impossible> {
    let mut check = Check(None);
    for (field, time) in [
        ("taken.boot_ns", &sample.taken),
        ("machine.read.boot_ns", &sample.machine.read),
        ("nvml.read.boot_ns", &sample.nvml.read),
        ("processes.read.boot_ns", &sample.processes.read),
        ("host.read.boot_ns", &sample.host.read),
        ("mounts.read.boot_ns", &sample.mounts.read),
        ("kernel_log.read.boot_ns", &sample.kernel_log.read),
    ] {
        check.counter(field, time.boot_ns);
    }
    for call in &sample.stuck_calls {
        check.number("stuck_calls.for_s", call.for_s, &(0.0..=1e10));
    }
    if let Reading::Known(machine) = &sample.machine.value {
        check.at_most("machine.ticks_per_second", machine.ticks_per_second, TICKS_PER_SECOND_MAX);
    }
    if let Reading::Known(nvml) = &sample.nvml.value {
        check.nvml(nvml);
    }
    if let Reading::Known(table) = &sample.processes.value {
        check.processes(table);
    }
    if let Reading::Known(host) = &sample.host.value {
        check.host(host);
    }
    for line in sample.kernel_log.value.known().into_iter().flatten() {
        check.counter("kernel_log.boot_us", line.boot_us);
    }
    check.0
}

/// The first number that cannot be, of those that were looked at.
struct Check(Option<Impossible>);

impl Check {
    fn refuse_unless(&mut self, can_be: bool, field: &'static str, value: impl Display) {
        if !can_be && self.0.is_none() {
            self.0 = Some(Impossible { field, value: value.to_string() });
        }
    }

    fn number(&mut self, field: &'static str, value: f64, range: &RangeInclusive<f64>) {
        self.refuse_unless(range.contains(&value), field, format_args!("{value:e}"));
    }

    fn at_most(&mut self, field: &'static str, value: u64, most: u64) {
        self.refuse_unless(value <= most, field, value);
    }

    fn counter(&mut self, field: &'static str, value: u64) {
        self.at_most(field, value, COUNTER_MAX);
    }

    fn counter_if_known(&mut self, field: &'static str, value: &Reading<u64>) {
        if let Reading::Known(value) = value {
            self.counter(field, *value);
        }
    }

    fn quantity<Q: Physical>(&mut self, field: &'static str, value: &Reading<Q>) {
        self.quantity_within(field, value, &Q::RANGE);
    }

    fn quantity_within<Q: Quantity>(
        &mut self,
        field: &'static str,
        value: &Reading<Q>,
        range: &RangeInclusive<f64>,
    ) {
        if let Reading::Known(value) = value {
            self.number(field, value.number(), range);
        }
    }

    fn bytes(&mut self, field: &'static str, value: &Reading<Bytes>) {
        if let Reading::Known(value) = value {
            self.at_most(field, value.0, BYTES_MAX);
        }
    }

    fn nvml(&mut self, nvml: &NvmlSample) {
        self.counter("nvml.init_ms", nvml.init_ms);
        let whole = nvml.cards.iter().filter(|card| card.parent.is_none()).count();
        self.at_most("nvml.cards", whole as u64, NvmlSample::CARDS_MAX.into());
        self.at_most("nvml.cards", nvml.cards.len() as u64, NvmlSample::PARTS_MAX.into());
        for card in &nvml.cards {
            self.card_use(card);
            self.card_limits(card);
        }
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
        self.quantity_within("nvml.cards.fan", &card.fan, &FAN);
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
        for limit in [&limits.enforced, &limits.default, &limits.maximum] {
            self.quantity_within("nvml.cards.power_limits", limit, &POWER_LIMIT);
        }
        let limits = &card.temperature_limits;
        for limit in [&limits.slowdown, &limits.shutdown, &limits.margin] {
            self.quantity("nvml.cards.temperature_limits", limit);
        }
        let clocks = &card.clocks;
        for clock in [&clocks.sm, &clocks.sm_max, &clocks.memory, &clocks.memory_max] {
            self.quantity("nvml.cards.clocks", clock);
        }
        self.counter_if_known("nvml.cards.pcie.replays", &card.pcie.replays);
        self.quantity("nvml.cards.pcie.to_card", &card.pcie.to_card);
        self.quantity("nvml.cards.pcie.to_host", &card.pcie.to_host);
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

    fn processes(&mut self, table: &ProcessTable) {
        self.counter_if_known("processes.listed", &table.listed);
        for process in &table.processes {
            self.process(process);
        }
        for group in &table.cgroups {
            self.cgroup(group);
        }
    }

    fn process(&mut self, process: &ProcessSample) {
        self.counter("processes.start_ticks", process.start_ticks);
        self.counter("processes.cpu_ticks", process.cpu_ticks);
        self.at_most("processes.thread_count", process.thread_count, u64::from(u32::MAX));
        self.counter_if_known("processes.block_delay_ticks", &process.block_delay_ticks);
        self.counter_if_known("processes.run_delay_ns", &process.run_delay_ns);
        if let Reading::Known(resident) = &process.resident {
            self.at_most("processes.resident", *resident, BYTES_MAX);
        }
        if let Reading::Known(io) = &process.io {
            for bytes in [io.read_chars, io.written_chars, io.read_bytes, io.written_bytes] {
                self.counter("processes.io", bytes);
            }
        }
        for thread in process.threads.known().into_iter().flatten() {
            self.counter("processes.threads.cpu_ticks", thread.cpu_ticks);
            self.counter_if_known("processes.threads.run_delay_ns", &thread.run_delay_ns);
        }
    }

    fn cgroup(&mut self, group: &CgroupSample) {
        if let Reading::Known(cores) = &group.cpu_quota_cores {
            self.number("processes.cgroups.cpu_quota_cores", *cores, &QUOTA);
        }
        self.counter_if_known("processes.cgroups.cpu_periods", &group.cpu_periods);
        self.counter_if_known("processes.cgroups.cpu_throttled_periods", &group.cpu_throttled_periods);
        self.counter_if_known("processes.cgroups.cpu_throttled_ns", &group.cpu_throttled_ns);
        self.counter_if_known("processes.cgroups.io_some_us", &group.io_some_us);
        self.counter_if_known("processes.cgroups.cpu_some_us", &group.cpu_some_us);
    }

    fn host(&mut self, host: &HostSample) {
        if let Reading::Known(cpus) = &host.cpus {
            self.at_most("host.cpus", *cpus, u64::from(u32::MAX));
        }
        if let Reading::Known(times) = &host.cpu_times {
            for ticks in [times.user, times.system, times.idle, times.io_wait, times.steal] {
                self.counter("host.cpu_times", ticks);
            }
        }
        if let Reading::Known(memory) = &host.memory {
            // What is free may exceed what is there: containers get these numbers from different places.
            for bytes in [memory.total, memory.available, memory.swap_total, memory.swap_free] {
                self.at_most("host.memory", bytes, BYTES_MAX);
            }
        }
        for pressure in [&host.cpu_pressure, &host.io_pressure, &host.memory_pressure] {
            let Reading::Known(pressure) = pressure else {
                continue;
            };
            self.counter("host.pressure", pressure.some.total_us);
            self.counter("host.pressure", pressure.full.map_or(0, |line| line.total_us));
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{
        CardMemory, CardSample, CpuTimes, HostSample, NvmlSample, PowerLimits, ProcessTable, ReadTime,
        Sample, TimedValue,
    };
    use gpuwhy_model::units::{Bytes, Celsius, Percent, Watts};

    use super::{COUNTER_MAX, impossible};

    fn of_card(card: CardSample) -> Sample {
        let mut sample = Sample::empty(ReadTime::default());
        let nvml = NvmlSample { cards: vec![CardSample::default(), card], ..NvmlSample::default() };
        sample.nvml.value = Reading::Known(nvml);
        sample
    }

    fn refused(sample: &Sample) -> String {
        impossible(sample).map(|found| format!("{} {}", found.field, found.value)).unwrap_or_default()
    }

    #[test]
    fn numbers_that_no_card_has_are_named() {
        let busy = |percent| CardSample { busy: Reading::Known(Percent(percent)), ..CardSample::default() };
        assert_eq!(refused(&of_card(busy(100.0))), "");
        assert_eq!(refused(&of_card(busy(1e308))), "nvml.cards.busy 1e308");
        assert_eq!(refused(&of_card(busy(f64::NAN))), "nvml.cards.busy NaN");
        assert_eq!(refused(&of_card(busy(-1.0))), "nvml.cards.busy -1e0");
        let timed = |time_us, value| CardSample {
            busy_samples: Reading::Known(vec![TimedValue { time_us, value }]),
            ..CardSample::default()
        };
        assert_eq!(refused(&of_card(timed(5, 3.0))), "");
        assert_eq!(refused(&of_card(timed(5, -1e308))), "nvml.cards.busy_samples -1e308");
        assert_eq!(refused(&of_card(timed(u64::MAX, 3.0))), format!("nvml.cards.busy_samples {}", u64::MAX));
        let cold =
            CardSample { temperature: Reading::Known(Celsius(f64::INFINITY)), ..CardSample::default() };
        assert_eq!(refused(&of_card(cold)), "nvml.cards.temperature inf");
        let enforced = Reading::Known(Watts(0.0));
        let power_limits = PowerLimits { enforced, ..PowerLimits::default() };
        let unlimited = CardSample { power_limits, ..CardSample::default() };
        assert_eq!(refused(&of_card(unlimited)), "nvml.cards.power_limits 0e0");
    }

    #[test]
    fn there_are_no_more_cards_than_a_machine_has() {
        let of_cards = |number, parent| {
            let card = CardSample { parent, ..CardSample::default() };
            let mut sample = Sample::empty(ReadTime::default());
            sample.nvml.value =
                Reading::Known(NvmlSample { cards: vec![card; number], ..NvmlSample::default() });
            sample
        };
        assert_eq!(refused(&of_cards(256, None)), "");
        assert_eq!(refused(&of_cards(257, None)), "nvml.cards 257");
        assert_eq!(refused(&of_cards(2048, Some(0))), "");
        assert_eq!(refused(&of_cards(2049, Some(0))), "nvml.cards 2049");
    }

    #[test]
    fn no_more_memory_is_used_than_there_is() {
        let memory = |total, used| {
            let memory = CardMemory { total: Bytes(total), used: Bytes(used), ..CardMemory::default() };
            of_card(CardSample { memory: Reading::Known(memory), ..CardSample::default() })
        };
        assert_eq!(refused(&memory(80, 80)), "");
        assert_eq!(refused(&memory(80, 81)), "nvml.cards.memory 81");
        assert_eq!(refused(&memory(u64::MAX, 81)), format!("nvml.cards.memory {}", u64::MAX));
    }

    #[test]
    fn counters_of_the_machine_have_an_end() {
        let mut sample = Sample::empty(ReadTime { boot_ns: COUNTER_MAX, ..ReadTime::default() });
        assert_eq!(refused(&sample), "");
        let times = CpuTimes { user: u64::MAX, ..CpuTimes::default() };
        let host = HostSample { cpu_times: Reading::Known(times), ..HostSample::default() };
        sample.host.value = Reading::Known(host);
        assert_eq!(refused(&sample), format!("host.cpu_times {}", u64::MAX));
        sample.taken.boot_ns += 1;
        assert_eq!(refused(&sample), format!("taken.boot_ns {}", COUNTER_MAX + 1));
        let listed = Reading::Known(u64::MAX);
        let mut sample = Sample::empty(ReadTime::default());
        sample.processes.value = Reading::Known(ProcessTable { listed, ..ProcessTable::default() });
        assert_eq!(refused(&sample), format!("processes.listed {}", u64::MAX));
    }
}
