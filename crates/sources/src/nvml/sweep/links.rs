//! The PCIe link of a card, and its place in the fabric.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::CardSample;

use super::measure::value;
use crate::clock;
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::raw::{Device, Field, FieldNumber, Library};
use crate::nvml::remembered::{ByteCounters, Remembered};
use crate::nvml::wrapping::Wrapping;

const FROM_CARD: u32 = 0;
const TO_CARD: u32 = 1;

const CORRECTED_ERRORS_FIELD: u32 = 173;
const NON_FATAL_ERRORS_FIELD: u32 = 179;
const FATAL_ERRORS_FIELD: u32 = 180;

/// What one lane carries in one direction, in bytes per second, by generation from the first; PCI Express Base
/// Specification, coding taken off.
const LANE_BYTES_PER_S: [f64; 7] = [0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9, 15.125e9];

/// The widest link of a card.
const WIDTH_MAX: u32 = 16;

/// Reads how the links are and what they can.
pub(super) fn describe(
    caller: &mut Caller,
    subject: &mut Subject,
    remembered: &mut Remembered,
    card: &mut CardSample,
) {
    let Remembered { made, refused, links, .. } = remembered;
    let link = &mut card.pcie;
    link.generation =
        plausible::link_generation(caller.card(subject, Call::LinkGeneration, Library::link_generation));
    link.generation_max = made.link_generation.get(|| {
        plausible::link_generation(caller.card(
            subject,
            Call::MaximumLinkGeneration,
            Library::maximum_link_generation,
        ))
    });
    link.card_generation_max = made.card_generation.get(|| {
        plausible::link_generation(caller.card(
            subject,
            Call::MaximumCardGeneration,
            Library::maximum_card_generation,
        ))
    });
    link.width = plausible::link_width(caller.card(subject, Call::LinkWidth, Library::link_width));
    link.width_max = made.link_width.get(|| {
        plausible::link_width(caller.card(subject, Call::MaximumLinkWidth, Library::maximum_link_width))
    });
    link.replays = plausible::available(caller.card(subject, Call::Replays, Library::replays)).map(u64::from);
    let wanted = [CORRECTED_ERRORS_FIELD, NON_FATAL_ERRORS_FIELD, FATAL_ERRORS_FIELD].map(Field::of_card);
    let errors = caller.fields(subject, refused, &wanted);
    link.errors.corrected = plausible::counter(value(&errors[0]));
    link.errors.non_fatal = plausible::counter(value(&errors[1]));
    link.errors.fatal = plausible::counter(value(&errors[2]));
    let major = card.compute_capability.known().and_then(|version| version.split('.').next()?.parse().ok());
    card.nvlinks = links.read(caller, subject, refused, major);
    card.fabric = plausible::fabric(caller.card(subject, Call::Fabric, Library::fabric));
}

/// Reads what goes over the PCIe link, which takes 20 ms a direction.
pub(super) fn sample_traffic(caller: &mut Caller, subject: &mut Subject, card: &mut CardSample) {
    let throughput =
        |counter: u32| move |library: &Library, device: Device| library.throughput(device, counter);
    card.pcie.to_card = plausible::throughput(caller.card(subject, Call::Throughput, throughput(TO_CARD)));
    card.pcie.to_host = plausible::throughput(caller.card(subject, Call::Throughput, throughput(FROM_CARD)));
}

/// Takes the counters of what went over the PCIe link.
pub(super) fn count_bytes(
    remembered: &mut Remembered,
    sent: &Reading<FieldNumber>,
    received: &Reading<FieldNumber>,
    card: &mut CardSample,
) {
    let fastest = fastest(remembered.made.link_generation.known(), remembered.made.link_width.known());
    let ByteCounters { to_card, to_host } = &mut remembered.bytes;
    card.pcie.to_host_bytes = followed(to_host, sent, fastest);
    card.pcie.to_card_bytes = followed(to_card, received, fastest);
}

fn followed(counter: &mut Wrapping, reading: &Reading<FieldNumber>, fastest: f64) -> Reading<u64> {
    let is_narrow = reading.known().is_some_and(|number| number.is_narrow);
    plausible::counter(value(reading)).and_then(|bytes| match u32::try_from(bytes) {
        Ok(bytes) if is_narrow => counter.follow(bytes, clock::awake(), fastest),
        _ => Reading::Known(bytes),
    })
}

/// Returns the bytes per second that a link cannot exceed.
fn fastest(generation: Option<&u32>, width: Option<&u32>) -> f64 {
    let last = LANE_BYTES_PER_S.len() - 1;
    let place = generation.map_or(last, |generation| (generation.saturating_sub(1) as usize).min(last));
    LANE_BYTES_PER_S[place] * f64::from(width.copied().unwrap_or(WIDTH_MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::{FieldNumber, Wrapping, fastest, followed};
    use gpuwhy_model::reading::Reading;

    #[test]
    fn a_link_of_unknown_speed_is_taken_for_the_fastest() {
        assert!((fastest(Some(&3), Some(&8)) - 7.88e9).abs() < 1.0);
        assert!(fastest(None, None) > fastest(Some(&6), Some(&16)));
        assert!(fastest(Some(&0), Some(&0)) > 0.0);
    }

    #[test]
    fn only_counters_of_32_bits_are_followed() {
        let field = |value, is_narrow| Reading::Known(FieldNumber { value, is_narrow });
        let mut counter = Wrapping::default();
        assert_eq!(followed(&mut counter, &field(9e12, false), 1e9), Reading::Known(9_000_000_000_000));
        assert!(matches!(counter, Wrapping::Unread));
        assert_eq!(followed(&mut counter, &field(5.0, true), 1e9), Reading::Known(5));
        assert!(matches!(counter, Wrapping::Followed { newest: 5, .. }));
        assert_eq!(followed(&mut counter, &Reading::Unsupported, 1e9), Reading::Unsupported);
    }
}
