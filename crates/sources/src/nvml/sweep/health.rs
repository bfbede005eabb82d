//! What a card says of its own health.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, Ecc, EccCounts, Fan, RemappedRows, Violations};

use super::measure::value;
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::raw::{Field, Library};
use crate::nvml::remembered::{RefusedFields, Remembered};

const CORRECTED: u32 = 0;
const UNCORRECTED: u32 = 1;
const VOLATILE: u32 = 0;
const AGGREGATE: u32 = 1;
const DRAM: u32 = 2;
const SRAM: u32 = 7;

/// Pages that are not used any more: after corrected errors, after uncorrected ones, waiting.
const PAGE_FIELDS: [u32; 3] = [29, 30, 31];

/// Nanoseconds for which a policy held the card back: power, heat, the board's limit, reliability.
const POLICY_FIELDS: [u32; 4] = [74, 75, 77, 79];
/// The same policies as `nvmlPerfPolicyType_t`.
const POLICIES: [u32; 4] = [0, 1, 3, 5];

/// Reads all of it.
pub(super) fn describe(
    caller: &mut Caller,
    subject: &mut Subject,
    remembered: &mut Remembered,
    card: &mut CardSample,
) {
    card.ecc = ecc(caller, subject);
    card.remapped_rows = rows(caller, subject);
    let [single_bit, double_bit, pending] = PAGE_FIELDS.map(Field::of_card);
    let pages = caller.fields(subject, &mut remembered.refused, &[single_bit, double_bit, pending]);
    let number = |place: usize| plausible::counter(value(&pages[place]));
    card.retired_pages = plausible::pages(number(0), number(1), number(2));
    card.violations = violations(caller, subject, &mut remembered.refused);
    card.fan = plausible::fan(caller.card(subject, Call::Fan, Library::fan));
    let count = remembered
        .made
        .fans
        .get(|| plausible::fan_count(caller.card(subject, Call::FanCount, Library::fan_count)));
    card.fans = count.map(|count| (0..count).map(|number| fan(caller, subject, number)).collect());
    card.inforom = plausible::inforom(caller.card(subject, Call::Inforom, Library::inforom));
}

fn ecc(caller: &mut Caller, subject: &mut Subject) -> Ecc {
    let enabled = plausible::switch(caller.card(subject, Call::EccMode, Library::ecc_mode));
    if enabled == Reading::Unsupported {
        let none = || EccCounts {
            corrected: Reading::Unsupported,
            uncorrected: Reading::Unsupported,
            dram_uncorrected: Reading::Unsupported,
            sram_uncorrected: Reading::Unsupported,
        };
        return Ecc {
            enabled,
            volatile: none(),
            aggregate: none(),
            sram_threshold_exceeded: Reading::Unsupported,
        };
    }
    let status = caller.card(subject, Call::SramStatus, Library::sram_status);
    let mut volatile = counts(caller, subject, VOLATILE);
    let mut aggregate = counts(caller, subject, AGGREGATE);
    // Where single memories are not counted, the status of the SRAM may tell.
    let told = plausible::events(
        status.as_ref().map(|status| status.volatileUncParity.saturating_add(status.volatileUncSecDed)),
    );
    volatile.sram_uncorrected = volatile.sram_uncorrected.or(told);
    let told = plausible::events(
        status.as_ref().map(|status| status.aggregateUncParity.saturating_add(status.aggregateUncSecDed)),
    );
    aggregate.sram_uncorrected = aggregate.sram_uncorrected.or(told);
    let sram_threshold_exceeded = plausible::switch(status.map(|status| status.bThresholdExceeded));
    Ecc { enabled, volatile, aggregate, sram_threshold_exceeded }
}

fn counts(caller: &mut Caller, subject: &mut Subject, counter: u32) -> EccCounts {
    let mut all = |kind: u32| {
        let errors = caller
            .card(subject, Call::EccErrors, |library, device| library.ecc_errors(device, kind, counter));
        plausible::events(errors)
    };
    let (corrected, uncorrected) = (all(CORRECTED), all(UNCORRECTED));
    let mut of = |location: u32| {
        let errors = caller.card(subject, Call::MemoryErrors, |library, device| {
            library.memory_errors(device, UNCORRECTED, counter, location)
        });
        plausible::events(errors)
    };
    EccCounts { corrected, uncorrected, dram_uncorrected: of(DRAM), sram_uncorrected: of(SRAM) }
}

fn rows(caller: &mut Caller, subject: &mut Subject) -> Reading<RemappedRows> {
    let replaced = caller.card(subject, Call::ReplacedRows, Library::replaced_rows);
    if !replaced.is_known() {
        return plausible::rows(replaced, &Reading::Unsupported);
    }
    let spare = plausible::spare_rows(caller.card(subject, Call::SpareRows, Library::spare_rows));
    plausible::rows(replaced, &spare)
}

fn violations(caller: &mut Caller, subject: &mut Subject, refused: &mut RefusedFields) -> Violations {
    let readings = caller.fields(subject, refused, &POLICY_FIELDS.map(Field::of_card));
    let mut time = |place: usize| {
        let told = plausible::counter(value(&readings[place]));
        if told != Reading::Unsupported {
            return told;
        }
        let policy = POLICIES[place];
        let violation =
            caller.card(subject, Call::Violation, |library, device| library.violation(device, policy));
        plausible::events(violation)
    };
    Violations { power_ns: time(0), thermal_ns: time(1), board_limit_ns: time(2), reliability_ns: time(3) }
}

fn fan(caller: &mut Caller, subject: &mut Subject, number: u32) -> Fan {
    let speed = caller.card(subject, Call::FanSpeed, |library, device| library.fan_speed(device, number));
    let target = caller.card(subject, Call::FanTarget, |library, device| library.fan_target(device, number));
    let turns = caller.card(subject, Call::FanTurns, |library, device| library.fan_turns(device, number));
    Fan { speed: plausible::fan(speed), target: plausible::fan(target), rpm: plausible::turns(turns) }
}
