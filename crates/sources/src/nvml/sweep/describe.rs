//! What hardly changes: who a card is, what it is made for, how it is set.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardMemory, CardSample};
use gpuwhy_model::units::{Bytes, Celsius, Megahertz};

use super::measure::{MEMORY_CLOCK, SM_CLOCK, value};
use super::{health, links};
use crate::nvml::answers::compute_mode;
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::raw::{Field, Library};
use crate::nvml::remembered::{Identity, Made, Remembered};

const SHUTDOWN_THRESHOLD: u32 = 0;
const SLOWDOWN_THRESHOLD: u32 = 1;
const MEMORY_MAXIMUM_THRESHOLD: u32 = 2;
const OPERATING_MAXIMUM_THRESHOLD: u32 = 3;

const REQUESTED_LIMIT_FIELD: u32 = 192;
/// Distances from the highest operating temperature, on cards that no longer tell temperatures (Ada, Hopper and later).
const SHUTDOWN_DISTANCE_FIELD: u32 = 193;
const SLOWDOWN_DISTANCE_FIELD: u32 = 194;
const OPERATING_DISTANCE_FIELD: u32 = 196;

/// Reads who the card is.
pub(super) fn identify(
    caller: &mut Caller,
    subject: &mut Subject,
    identity: &mut Identity,
    card: &mut CardSample,
) {
    card.uuid = identity.uuid.get(|| caller.card(subject, Call::Uuid, Library::uuid));
    card.name = identity.name.get(|| caller.card(subject, Call::Name, Library::name));
    card.pci_address = identity.pci_address.get(|| {
        let pci = caller.card(subject, Call::PciInfo, Library::pci_info);
        plausible::pci_address(pci.map(|pci| (pci.domain, pci.bus, pci.device)))
    });
    card.minor = identity
        .minor
        .get(|| plausible::minor(caller.card(subject, Call::MinorNumber, Library::minor_number)));
    card.compute_capability = identity.compute_capability.get(|| {
        plausible::compute_capability(caller.card(
            subject,
            Call::ComputeCapability,
            Library::compute_capability,
        ))
    });
    card.display_active = identity
        .display_active
        .get(|| plausible::switch(caller.card(subject, Call::DisplayActive, Library::display_active)));
}

/// Reads what hardly changes, after what changes quickly was read.
pub(super) fn describe(
    caller: &mut Caller,
    subject: &mut Subject,
    remembered: &mut Remembered,
    card: &mut CardSample,
) {
    card.bar1 = bar1(caller, subject);
    card.encoder = plausible::percent(caller.card(subject, Call::Encoder, Library::encoder));
    card.decoder = plausible::percent(caller.card(subject, Call::Decoder, Library::decoder));
    card.temperature_limits.margin =
        plausible::heat_or_margin(caller.card(subject, Call::Margin, Library::margin));
    limits(caller, subject, remembered, card);
    card.clocks.sm_max = remembered.made.sm_clock.get(|| maximum_clock(caller, subject, SM_CLOCK));
    card.clocks.memory_max =
        remembered.made.memory_clock.get(|| maximum_clock(caller, subject, MEMORY_CLOCK));
    links::describe(caller, subject, remembered, card);
    health::describe(caller, subject, remembered, card);
    card.compute_mode = plausible::available(caller.card(subject, Call::ComputeMode, Library::compute_mode))
        .map(compute_mode);
    card.persistence = plausible::switch(caller.card(subject, Call::Persistence, Library::persistence));
    let mode = caller.card(subject, Call::MigMode, Library::mig_mode);
    card.mig_enabled = plausible::switch(mode.as_ref().map(|(current, _)| *current));
    card.mig_pending = plausible::switch(mode.map(|(_, pending)| pending));
}

/// Reads the aperture of a card or instance.
pub(super) fn bar1(caller: &mut Caller, subject: &mut Subject) -> Reading<CardMemory> {
    let bar1 = caller.card(subject, Call::Bar1, Library::bar1);
    plausible::memory(bar1.map(|bar1| CardMemory {
        total: Bytes(bar1.bar1Total),
        reserved: Reading::Unsupported,
        used: Bytes(bar1.bar1Used),
        free: Bytes(bar1.bar1Free),
    }))
}

/// Reads the limits of power and heat.
fn limits(caller: &mut Caller, subject: &mut Subject, remembered: &mut Remembered, card: &mut CardSample) {
    let Remembered { made, refused, .. } = remembered;
    card.power_limits.default = made
        .default_limit
        .get(|| plausible::power_limit(caller.card(subject, Call::DefaultLimit, Library::default_limit)));
    card.power_limits.maximum = made
        .maximum_limit
        .get(|| plausible::power_limit(caller.card(subject, Call::LimitRange, Library::maximum_limit)));
    let wanted =
        [REQUESTED_LIMIT_FIELD, SHUTDOWN_DISTANCE_FIELD, SLOWDOWN_DISTANCE_FIELD, OPERATING_DISTANCE_FIELD]
            .map(Field::of_card);
    let readings = caller.fields(subject, refused, &wanted);
    card.power_limits.requested = plausible::power_limit_field(value(&readings[0]));
    if card.power_limits.requested == Reading::Unsupported {
        card.power_limits.requested =
            plausible::power_limit(caller.card(subject, Call::RequestedLimit, Library::requested_limit));
    }
    let distance = |place: usize| plausible::degrees_field(value(&readings[place]));
    let distances =
        Distances { shutdown: distance(1), slowdown: distance(2), operating_maximum: distance(3) };
    heat_limits(caller, subject, made, &distances, card);
}

/// How far from the highest operating temperature something happens; above it where negative.
struct Distances {
    shutdown: Reading<Celsius>,
    slowdown: Reading<Celsius>,
    operating_maximum: Reading<Celsius>,
}

fn heat_limits(
    caller: &mut Caller,
    subject: &mut Subject,
    made: &mut Made,
    distances: &Distances,
    card: &mut CardSample,
) {
    // The highest operating temperature lies as far above the present one as the card says.
    let highest =
        card.temperature.as_ref().copied().and_then(|heat| {
            card.temperature_limits.margin.as_ref().map(|margin| Celsius(heat.0 + margin.0))
        });
    let mut threshold = |number: u32, distance: &Reading<Celsius>| {
        let told = plausible::heat(
            caller.card(subject, Call::Threshold, |library, device| library.threshold(device, number)),
        );
        let derived = highest
            .as_ref()
            .and_then(|highest| distance.as_ref().map(|distance| Celsius(highest.0 - distance.0)));
        if told == Reading::Unsupported { derived } else { told }
    };
    let limits = &mut card.temperature_limits;
    limits.slowdown = made.slowdown.get(|| threshold(SLOWDOWN_THRESHOLD, &distances.slowdown));
    limits.shutdown = made.shutdown.get(|| threshold(SHUTDOWN_THRESHOLD, &distances.shutdown));
    limits.operating_maximum =
        made.operating_maximum.get(|| threshold(OPERATING_MAXIMUM_THRESHOLD, &distances.operating_maximum));
    // How far the memory is from its own limit no card says.
    limits.memory_maximum =
        made.memory_maximum.get(|| threshold(MEMORY_MAXIMUM_THRESHOLD, &Reading::Unsupported));
}

fn maximum_clock(caller: &mut Caller, subject: &mut Subject, clock: u32) -> Reading<Megahertz> {
    plausible::clock(
        caller.card(subject, Call::MaximumClock, |library, device| library.maximum_clock(device, clock)),
    )
}
