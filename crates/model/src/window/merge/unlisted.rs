//! Cards that no list of cards has: lines of the kernel log, or of the bus, name them by their address.

use std::collections::BTreeMap;

use crate::pci::slot;
use crate::reading::Reading;
use crate::sample::{KernelFact, KernelLine, NvmlSample, PciDevice};
use crate::scene::{Card, Scene};

/// The number by which the driver says that a card has fallen off the bus.
const FALLEN_OFF: u32 = 79;

/// The driver joins an address and a unique name before its errors: `GPU at PCI:0000:9b:00: GPU-2f0c…`.
const NAMES_OF_A_CARD: &str = "GPU at PCI:";

/// What is known of a card by its address.
#[derive(Default)]
struct Named {
    address: String,
    has_error: bool,
    is_lost: bool,
    is_not_started: bool,
}

impl Named {
    /// Returns whether it answers, as far as the texts say: a card that reports an error does, whatever its start did.
    const fn answers(&self) -> bool {
        !self.is_lost && (self.has_error || !self.is_not_started)
    }
}

/// Finds the cards that are named by their address and that are none of the listed ones.
pub(super) fn cards(scene: &mut Scene) {
    let uuids = uuids_by_slot(lines(scene));
    give_addresses(scene, &uuids);
    let mut named = named(scene);
    for address in scene.cards.iter().filter_map(|card| card.pci_address.known()) {
        named.remove(&slot(address));
    }
    let first = scene.cards.iter().map(|card| card.index.saturating_add(1)).max().unwrap_or(0);
    let numbers = (first..u32::MAX).take(NvmlSample::CARDS_MAX as usize);
    scene.unlisted_cards = named
        .into_iter()
        .zip(numbers)
        .map(|((slot, card), index)| Card {
            index,
            is_unnumbered: true,
            is_unlisted: true,
            handle: if card.answers() { Reading::Known(()) } else { Reading::default() },
            uuid: uuids.get(&slot).cloned().into(),
            pci_address: Reading::Known(card.address),
            ..Card::default()
        })
        .collect();
}

/// Returns the lines of the log about the running system.
fn lines(scene: &Scene) -> impl Iterator<Item = &KernelLine> {
    scene.events.known().into_iter().flatten().filter(|line| !line.before_boot)
}

/// Returns the cards that errors of the driver name, and those that no longer answer on the bus.
fn named(scene: &Scene) -> BTreeMap<String, Named> {
    let mut named: BTreeMap<String, Named> = BTreeMap::new();
    let mut at = |address: &str, note: fn(&mut Named)| {
        let card = named.entry(slot(address)).or_default();
        address.clone_into(&mut card.address);
        note(card);
    };
    for line in lines(scene) {
        match &line.fact {
            Some(
                KernelFact::Xid { pci_address, number: FALLEN_OFF, .. }
                | KernelFact::FallenOffTheBus { pci_address },
            ) => at(pci_address, |card| card.is_lost = true),
            Some(KernelFact::Xid { pci_address, .. }) => at(pci_address, |card| card.has_error = true),
            Some(KernelFact::CardNotStarted { pci_address: Some(address), .. }) => {
                at(address, |card| card.is_not_started = true);
            }
            _ => {}
        }
    }
    for device in scene.machine.pci_cards.known().into_iter().flatten() {
        let is_silent = device.answers == Reading::Known(false);
        if device.vendor == PciDevice::NVIDIA && device.is_card() && is_silent {
            at(&device.address, |card| card.is_lost = true);
        }
    }
    named
}

/// Returns the unique names that the driver gave beside addresses.
fn uuids_by_slot<'line>(lines: impl Iterator<Item = &'line KernelLine>) -> BTreeMap<String, String> {
    let uuid = |line: &'line KernelLine| {
        let (_, rest) = line.text.split_once(NAMES_OF_A_CARD)?;
        let (address, uuid) = rest.split_once(": ")?;
        uuid.starts_with("GPU-").then(|| (slot(address.trim()), uuid.trim().to_owned()))
    };
    lines.filter_map(uuid).collect()
}

/// Gives listed cards the address that the log has beside their unique name.
fn give_addresses(scene: &mut Scene, uuids: &BTreeMap<String, String>) {
    for card in scene.cards.iter_mut().filter(|card| !card.pci_address.is_known()) {
        let Some(own) = card.uuid.known() else {
            continue;
        };
        let slot = uuids.iter().find(|(_, uuid)| uuid.eq_ignore_ascii_case(own)).map(|(slot, _)| slot);
        if let Some(slot) = slot {
            card.pci_address = Reading::Known(format!("{slot}.0"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::reading::Reading;
    use crate::sample::{KernelFact, KernelLine, PciDevice};
    use crate::scene::{Card, Scene};
    use crate::window::merge;

    fn xid(pci_address: &str, number: u32) -> KernelLine {
        let (pci_address, pid, name) = (pci_address.to_owned(), None, None);
        let (caused_by, is_fatal, recovery) = (None, None, None);
        let fact = KernelFact::Xid { pci_address, number, pid, name, caused_by, is_fatal, recovery };
        KernelLine { fact: Some(fact), ..KernelLine::default() }
    }

    fn log(lines: Vec<KernelLine>) -> Scene {
        Scene { events: Reading::Known(lines), ..Scene::default() }
    }

    fn listed(index: u32, address: &str) -> Card {
        Card { index, pci_address: Reading::Known(address.to_owned()), ..Card::default() }
    }

    #[test]
    fn addresses_of_every_width_are_found_in_a_list_of_another_text() {
        let list = Scene { cards: vec![listed(3, "00000000:3B:00.0")], ..Scene::default() };
        let log = log(vec![xid("0000:3b:00.0", 31), xid("0000:af:00.0", 31), xid("0000:af:00.0", 45)]);
        let scene = merge([log, list]).scene;
        let called: Vec<String> = scene.unlisted_cards.iter().map(Card::called).collect();
        assert_eq!(called, ["0000:af:00.0"]);
        assert_eq!(scene.unlisted_cards[0].index, 4, "no other card has it");
        assert_eq!(scene.unlisted_cards[0].handle, Reading::Known(()));
        assert_eq!((scene.cards.len(), scene.cards[0].called().as_str()), (1, "3"));
    }

    #[test]
    fn a_card_that_a_text_calls_lost_does_not_answer() {
        let mut scene = log(vec![xid("0000:65:00.0", 79)]);
        let silent = |vendor| PciDevice {
            address: format!("0000:{:02x}:00.0", vendor & 0xff),
            vendor,
            class: 0x03_02_00,
            answers: Reading::Known(false),
            ..PciDevice::default()
        };
        scene.machine.pci_cards = Reading::Known(vec![silent(PciDevice::NVIDIA), silent(PciDevice::INTEL)]);
        let scene = merge([scene]).scene;
        let called: Vec<String> = scene.unlisted_cards.iter().map(Card::called).collect();
        assert_eq!(called, ["0000:65:00.0", "0000:de:00.0"]);
        assert!(scene.unlisted_cards.iter().all(|card| !card.handle.is_known()));
    }

    #[test]
    fn the_log_itself_may_say_whose_address_it_is() {
        let named =
            KernelLine { text: "NVRM: GPU at PCI:0000:9b:00: GPU-11aa".to_owned(), ..KernelLine::default() };
        let card = Card { index: 5, uuid: Reading::Known("GPU-11AA".to_owned()), ..Card::default() };
        let list = Scene { cards: vec![card], ..Scene::default() };
        let scene = merge([list, log(vec![named, xid("0000:9b:00.0", 119)])]).scene;
        assert!(scene.unlisted_cards.is_empty());
        assert_eq!(scene.cards[0].pci_address, Reading::Known("0000:9b:00.0".to_owned()));
    }

    #[test]
    fn a_card_that_did_not_start_may_still_report_errors() {
        let fact =
            |address: &str| KernelFact::CardNotStarted { pci_address: Some(address.to_owned()), minor: None };
        let not_started = |address| KernelLine { fact: Some(fact(address)), ..KernelLine::default() };
        let lines = vec![xid("0000:1a:00.0", 119), not_started("0000:1a:00.0"), not_started("0000:1b:00.0")];
        let scene = merge([log(lines)]).scene;
        let answers: Vec<bool> = scene.unlisted_cards.iter().map(|card| card.handle.is_known()).collect();
        assert_eq!(answers, [true, false]);
    }

    #[test]
    fn an_earlier_boot_says_nothing_of_now() {
        let old = KernelLine { before_boot: true, ..xid("0000:65:00.0", 79) };
        assert!(merge([log(vec![old])]).scene.unlisted_cards.is_empty());
    }
}
