//! What changes from tick to tick.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardMemory, CardSample, ClockReasons, TimedValue};
use gpuwhy_model::units::{Bytes, Celsius, Megahertz};

use super::{clients, links};
use crate::nvml::answers::{nothing_if_not_found, reading_of};
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::protocol::Seen;
use crate::nvml::raw::{Field, FieldNumber, Library};
use crate::nvml::remembered::Remembered;

pub(super) const SM_CLOCK: u32 = 1;
pub(super) const MEMORY_CLOCK: u32 = 2;
const BUSY_SAMPLES: u32 = 1;
const MEMORY_BUSY_SAMPLES: u32 = 2;

/// Fields that count nanoseconds for which a reason lowered the clocks.
const POWER_CAP_FIELD: u32 = 74;
const SYNC_BOOST_FIELD: u32 = 76;
const MEMORY_TEMPERATURE_FIELD: u32 = 82;
/// Bytes over the PCIe link, as the card sees it.
const SENT_FIELD: u32 = 197;
const RECEIVED_FIELD: u32 = 198;
/// Kibibytes of data over `NVLinks`.
const NVLINK_SENT_FIELD: u32 = 138;
const NVLINK_RECEIVED_FIELD: u32 = 139;

/// Reads what changes from tick to tick.
pub(super) fn measure(
    caller: &mut Caller,
    subject: &mut Subject,
    remembered: &mut Remembered,
    thermal_fields: [u32; 3],
    seen: Seen,
    card: &mut CardSample,
) {
    card.memory = memory(caller, subject);
    let utilization = caller.card(subject, Call::Utilization, Library::utilization);
    card.busy = plausible::percent(utilization.as_ref().map(|rates| rates.gpu));
    card.memory_busy = plausible::percent(utilization.map(|rates| rates.memory));
    card.busy_samples = samples(caller, subject, BUSY_SAMPLES, seen.busy);
    card.memory_busy_samples = samples(caller, subject, MEMORY_BUSY_SAMPLES, seen.memory_busy);
    card.power = plausible::power(caller.card(subject, Call::Power, Library::power));
    card.power_limits.enforced =
        plausible::power_limit(caller.card(subject, Call::EnforcedLimit, Library::enforced_limit));
    card.energy = plausible::energy(caller.card(subject, Call::Energy, Library::energy));
    card.temperature = temperature(caller, subject);
    card.clocks.sm = clock(caller, subject, SM_CLOCK);
    card.clocks.memory = clock(caller, subject, MEMORY_CLOCK);
    card.performance_state = plausible::performance_state(caller.card(
        subject,
        Call::PerformanceState,
        Library::performance_state,
    ));
    card.clock_reasons = reasons(caller, subject);
    fields(caller, subject, remembered, thermal_fields, card);
    card.clients = clients::clients(caller, subject);
    card.client_work = clients::work(caller, subject, seen.work);
}

/// Reads the memory of a card or instance.
pub(super) fn memory(caller: &mut Caller, subject: &mut Subject) -> Reading<CardMemory> {
    let with_reserved = caller.try_card(subject, Call::MemoryV2, Library::memory_v2);
    if !with_reserved.as_ref().is_err_and(|refusal| refusal.is_unknown_function()) {
        return plausible::memory(reading_of(Call::MemoryV2, with_reserved).map(|memory| CardMemory {
            total: Bytes(memory.total),
            reserved: Reading::Known(Bytes(memory.reserved)),
            used: Bytes(memory.used),
            free: Bytes(memory.free),
        }));
    }
    plausible::memory(caller.card(subject, Call::MemoryV1, Library::memory_v1).map(|memory| CardMemory {
        total: Bytes(memory.total),
        reserved: Reading::Unsupported,
        used: Bytes(memory.used),
        free: Bytes(memory.free),
    }))
}

fn samples(
    caller: &mut Caller,
    subject: &mut Subject,
    buffer: u32,
    seen_us: u64,
) -> Reading<Vec<TimedValue>> {
    let samples =
        caller.try_card(subject, Call::Samples, |library, device| library.samples(device, buffer, seen_us));
    reading_of(Call::Samples, nothing_if_not_found(samples)).and_then(|samples| {
        // Some drivers give the whole buffer whatever was seen, and pad it with values without a time.
        let mut values: Vec<TimedValue> = samples
            .into_iter()
            .filter(|sample| sample.time_us > seen_us)
            .map(|sample| TimedValue { time_us: sample.time_us, value: sample.value })
            .collect();
        values.sort_by_key(|timed| timed.time_us);
        plausible::percentages(values)
    })
}

fn temperature(caller: &mut Caller, subject: &mut Subject) -> Reading<Celsius> {
    let temperature = caller.try_card(subject, Call::Temperature, Library::temperature);
    if temperature.as_ref().is_err_and(|refusal| refusal.is_unknown_function()) {
        return plausible::heat_or_margin(caller.card(subject, Call::TemperatureV, Library::temperature_v));
    }
    plausible::heat(reading_of(Call::Temperature, temperature))
}

fn clock(caller: &mut Caller, subject: &mut Subject, clock: u32) -> Reading<Megahertz> {
    plausible::clock(caller.card(subject, Call::Clock, |library, device| library.clock(device, clock)))
}

fn reasons(caller: &mut Caller, subject: &mut Subject) -> Reading<ClockReasons> {
    let reasons = caller.try_card(subject, Call::EventReasons, Library::event_reasons);
    if reasons.as_ref().is_err_and(|refusal| refusal.is_unknown_function()) {
        let reasons = caller.card(subject, Call::ThrottleReasons, Library::throttle_reasons);
        return plausible::available(reasons).map(ClockReasons);
    }
    plausible::available(reading_of(Call::EventReasons, reasons)).map(ClockReasons)
}

/// Reads all that comes in fields, in one call.
fn fields(
    caller: &mut Caller,
    subject: &mut Subject,
    remembered: &mut Remembered,
    thermal_fields: [u32; 3],
    card: &mut CardSample,
) {
    let [software, hardware, brake] = thermal_fields;
    let of_links = |id| Field { id, scope: Field::ALL_LINKS };
    let wanted = [
        Field::of_card(POWER_CAP_FIELD),
        Field::of_card(SYNC_BOOST_FIELD),
        Field::of_card(software),
        Field::of_card(hardware),
        Field::of_card(brake),
        Field::of_card(MEMORY_TEMPERATURE_FIELD),
        Field::of_card(SENT_FIELD),
        Field::of_card(RECEIVED_FIELD),
        of_links(NVLINK_SENT_FIELD),
        of_links(NVLINK_RECEIVED_FIELD),
    ];
    let readings = caller.fields(subject, &mut remembered.refused, &wanted);
    let number = |place: usize| value(&readings[place]);
    let counters = &mut card.reason_counters;
    counters.software_power_cap_ns = plausible::counter(number(0));
    counters.sync_boost_ns = plausible::counter(number(1));
    counters.software_thermal_ns = plausible::counter(number(2));
    counters.hardware_thermal_ns = plausible::counter(number(3));
    counters.power_brake_ns = plausible::counter(number(4));
    card.memory_temperature = plausible::memory_heat(number(5));
    links::count_bytes(remembered, &readings[6], &readings[7], card);
    card.nvlink_traffic.sent_bytes = plausible::kibibytes(number(8));
    card.nvlink_traffic.received_bytes = plausible::kibibytes(number(9));
    remembered.links.count_bytes(caller, subject, &mut remembered.refused, card);
}

/// Returns the number in a field, of whatever type.
pub(super) fn value(reading: &Reading<FieldNumber>) -> Reading<f64> {
    reading.as_ref().map(|field| field.value)
}
