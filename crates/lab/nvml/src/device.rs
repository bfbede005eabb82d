//! Handles of cards and of their MIG instances.

use gpuwhy_lab::state::{MOST_CARDS, MOST_INSTANCES};

/// Handles of one card: its own, then those of its instances.
const HANDLES_PER_CARD: usize = MOST_INSTANCES + 1;

/// One byte per handle; the address of a byte is the handle.
static HANDLES: [u8; MOST_CARDS * HANDLES_PER_CARD] = [0; MOST_CARDS * HANDLES_PER_CARD];

/// `nvmlDevice_t`: an address that only the library understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Device(*const u8);

/// What a handle means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The card's position on the board.
    pub(crate) card: usize,
    /// The MIG instance, by its place on the card; nothing for the card itself.
    pub(crate) instance: Option<usize>,
}

impl Device {
    /// The handle of the card at `index` of the board.
    pub(crate) fn of(index: usize) -> Option<Self> {
        HANDLES.get(index * HANDLES_PER_CARD).map(|byte| Self(std::ptr::from_ref(byte)))
    }

    /// The handle of an instance of that card.
    pub(crate) fn of_instance(index: usize, instance: usize) -> Option<Self> {
        let place = index * HANDLES_PER_CARD + instance + 1;
        HANDLES.get(place).filter(|_| instance < MOST_INSTANCES).map(|byte| Self(std::ptr::from_ref(byte)))
    }

    /// What the handle means, unless it is not one of ours.
    pub(crate) fn place(self) -> Option<Place> {
        let at = HANDLES.iter().position(|byte| std::ptr::eq(byte, self.0))?;
        let instance = (at % HANDLES_PER_CARD).checked_sub(1);
        Some(Place { card: at / HANDLES_PER_CARD, instance })
    }

    /// The position of the card on the board, for a handle of a card or of one of its instances.
    pub(crate) fn card_index(self) -> Option<usize> {
        self.place().map(|place| place.card)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_lead_back_to_their_cards_and_foreign_ones_nowhere() {
        for card in 0..MOST_CARDS {
            assert_eq!(Device::of(card).and_then(Device::place), Some(Place { card, instance: None }));
            for instance in 0..MOST_INSTANCES {
                let place = Place { card, instance: Some(instance) };
                assert_eq!(Device::of_instance(card, instance).and_then(Device::place), Some(place));
            }
        }
        assert_eq!(Device::of(MOST_CARDS), None);
        assert_eq!(Device::of_instance(0, MOST_INSTANCES), None);
        assert_eq!(Device(std::ptr::null()).place(), None);
    }
}
