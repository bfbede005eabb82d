//! Whether the numbers of a sample can be: a recording may be damaged or made up, and no number of it may reach a
//! person that no machine can have.

mod cards;
mod machine;

use std::fmt::Display;
use std::ops::RangeInclusive;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Sample;
use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Joules, Megahertz, Percent, Quantity, Watts};

/// Counters that only grow: in nanoseconds this is almost three centuries.
const COUNTER_MAX: u64 = 9_200_000_000_000_000_000;

/// More memory than any machine has: 1 EiB.
const BYTES_MAX: u64 = 1 << 60;

/// No kernel counts faster than in nanoseconds.
const TICKS_PER_SECOND_MAX: u64 = 1_000_000_000;

/// More cards of other vendors than any machine has.
const OTHER_CARDS_MAX: u64 = 256;

const SHARE: RangeInclusive<f64> = 0.0..=100.0;

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
        ("other_cards.read.boot_ns", &sample.other_cards.read),
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
        check.machine(machine);
    }
    if let Reading::Known(nvml) = &sample.nvml.value {
        check.nvml(nvml);
    }
    if let Reading::Known(cards) = &sample.other_cards.value {
        check.at_most("other_cards", cards.len() as u64, OTHER_CARDS_MAX);
        for card in cards {
            check.card(card);
        }
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

    fn small_if_known(&mut self, field: &'static str, value: &Reading<u32>, most: u32) {
        if let Reading::Known(value) = value {
            self.at_most(field, u64::from(*value), u64::from(most));
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
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{
        Activity, CardMemory, CardSample, CpuTimes, Ecc, EccCounts, Fan, HostSample, InterfaceSample, NvLink,
        NvmlSample, PowerLimits, ProcessTable, ReadTime, Sample, Space, TimedValue,
    };
    use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Percent, Watts};

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
    fn numbers_of_health_and_links_have_an_end_too() {
        let ecc = EccCounts { corrected: Reading::Known(u64::MAX), ..EccCounts::default() };
        let ecc = Ecc { volatile: ecc, ..Ecc::default() };
        let worn = CardSample { ecc, ..CardSample::default() };
        assert_eq!(refused(&of_card(worn)), format!("nvml.cards.ecc {}", u64::MAX));
        let link = NvLink { replays: Reading::Known(u64::MAX), ..NvLink::default() };
        let joined = CardSample { nvlinks: Reading::Known(vec![link]), ..CardSample::default() };
        assert_eq!(refused(&of_card(joined)), format!("nvml.cards.nvlinks {}", u64::MAX));
        let fan = Fan { rpm: Reading::Known(u32::MAX), ..Fan::default() };
        let fast = CardSample { fans: Reading::Known(vec![fan]), ..CardSample::default() };
        assert_eq!(refused(&of_card(fast)), format!("nvml.cards.fans {}", u32::MAX));
        let activity = Activity { sm_active: Reading::Known(Percent(f64::NAN)), ..Activity::default() };
        let busy = CardSample { activity, ..CardSample::default() };
        assert_eq!(refused(&of_card(busy.clone())), "nvml.cards.activity NaN");
        let mut other = Sample::empty(ReadTime::default());
        other.other_cards.value = Reading::Known(vec![busy]);
        assert_eq!(refused(&other), "nvml.cards.activity NaN");
    }

    #[test]
    fn room_and_links_of_the_machine_have_an_end_too() {
        let of_host = |host: HostSample| {
            let mut sample = Sample::empty(ReadTime::default());
            sample.host.value = Reading::Known(host);
            refused(&sample)
        };
        let space = |available| HostSample {
            shared_memory: Reading::Known(Space { total: 10, available }),
            ..HostSample::default()
        };
        assert_eq!(of_host(space(10)), "");
        assert_eq!(of_host(space(11)), "host.shared_memory 11");
        let interface =
            InterfaceSample { speed: Reading::Known(BytesPerSecond(-1.0)), ..InterfaceSample::default() };
        let host = HostSample { interfaces: Reading::Known(vec![interface]), ..HostSample::default() };
        assert_eq!(of_host(host), "host.interfaces.speed -1e0");
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
