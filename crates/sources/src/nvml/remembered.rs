//! What the child remembers of a card between sweeps: what cannot change, what the card does not have, and how far its
//! counters were.

use std::collections::BTreeSet;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::units::{Celsius, Megahertz, Watts};

use super::raw::{Device, Field};
use super::sweep::{Instance, Links, Meter};
use super::wrapping::Wrapping;

/// A value that cannot change while the library is loaded: it is read until it is known.
pub(super) struct Once<T>(Option<Reading<T>>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Clone> Once<T> {
    /// Returns the value, if it is known already.
    pub(super) fn known(&self) -> Option<&T> {
        self.0.as_ref().and_then(Reading::known)
    }

    /// Returns the value, reading it where it is not known yet.
    pub(super) fn get(&mut self, read: impl FnOnce() -> Reading<T>) -> Reading<T> {
        if let Some(kept) = &self.0 {
            return kept.clone();
        }
        let reading = read();
        if matches!(reading, Reading::Known(_) | Reading::Unsupported) {
            self.0 = Some(reading.clone());
        }
        reading
    }
}

/// Fields that a card was found not to have.
#[derive(Debug, Default)]
pub(super) struct RefusedFields(BTreeSet<Field>);

impl RefusedFields {
    pub(super) fn has(&self, field: Field) -> bool {
        self.0.contains(&field)
    }

    pub(super) fn add(&mut self, field: Field) {
        self.0.insert(field);
    }
}

/// Who a card or an instance is.
#[derive(Default)]
pub(super) struct Identity {
    pub(super) uuid: Once<String>,
    pub(super) name: Once<String>,
    pub(super) pci_address: Once<String>,
    pub(super) minor: Once<u32>,
    pub(super) compute_capability: Once<String>,
    pub(super) display_active: Once<bool>,
}

/// What a card is made for.
#[derive(Default)]
pub(super) struct Made {
    pub(super) default_limit: Once<Watts>,
    pub(super) maximum_limit: Once<Watts>,
    pub(super) slowdown: Once<Celsius>,
    pub(super) shutdown: Once<Celsius>,
    pub(super) operating_maximum: Once<Celsius>,
    pub(super) memory_maximum: Once<Celsius>,
    pub(super) sm_clock: Once<Megahertz>,
    pub(super) memory_clock: Once<Megahertz>,
    pub(super) link_generation: Once<u32>,
    pub(super) card_generation: Once<u32>,
    pub(super) link_width: Once<u32>,
    pub(super) fans: Once<u32>,
}

/// The PCIe link's own counters of bytes.
#[derive(Default)]
pub(super) struct ByteCounters {
    pub(super) to_card: Wrapping,
    pub(super) to_host: Wrapping,
}

/// What is remembered of one card.
#[derive(Default)]
pub(super) struct Remembered {
    /// Its handle: asking for it anew takes the driver milliseconds.
    pub(super) device: Option<Device>,
    pub(super) identity: Identity,
    pub(super) made: Made,
    pub(super) refused: RefusedFields,
    pub(super) meter: Meter,
    pub(super) bytes: ByteCounters,
    pub(super) links: Links,
    /// The instances of the newest full sweep.
    pub(super) instances: Vec<Instance>,
}

#[cfg(test)]
mod tests {
    use super::Once;
    use gpuwhy_model::reading::{Failure, Reading};

    #[test]
    fn what_is_known_is_not_read_again() {
        let mut once = Once::default();
        assert_eq!(once.get(|| Reading::Failed(Failure::NotReached)), Reading::Failed(Failure::NotReached));
        assert_eq!(once.get(|| Reading::Known(5)), Reading::Known(5));
        assert_eq!(once.get(|| unreachable!("it is known")), Reading::Known(5));
        let mut absent = Once::<u32>::default();
        assert_eq!(absent.get(|| Reading::Unsupported), Reading::Unsupported);
        assert_eq!(absent.get(|| unreachable!("it never will be known")), Reading::Unsupported);
    }
}
