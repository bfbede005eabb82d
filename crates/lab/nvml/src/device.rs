//! Handles of cards.

/// One byte per card; the address of a byte is the handle.
static HANDLES: [u8; gpuwhy_lab::state::MOST_CARDS] = [0; gpuwhy_lab::state::MOST_CARDS];

/// `nvmlDevice_t`: an address that only the library understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Device(*const u8);

impl Device {
    /// The handle of the card at `index` of the board.
    pub(crate) fn of(index: usize) -> Option<Self> {
        HANDLES.get(index).map(|byte| Self(std::ptr::from_ref(byte)))
    }

    /// The card's position on the board, unless the handle is not one of ours.
    pub(crate) fn index(self) -> Option<usize> {
        HANDLES.iter().position(|byte| std::ptr::eq(byte, self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_lead_back_to_their_cards_and_foreign_ones_nowhere() {
        for index in 0..HANDLES.len() {
            assert_eq!(Device::of(index).and_then(Device::index), Some(index));
        }
        assert_eq!(Device::of(HANDLES.len()), None);
        assert_eq!(Device(std::ptr::null()).index(), None);
    }
}
