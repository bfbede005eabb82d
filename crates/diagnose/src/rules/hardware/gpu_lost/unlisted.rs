//! Cards that only a text names, by their address, and of which it says that they are gone.

use std::collections::BTreeSet;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::PciDevice;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::Severity;

use super::{RULE, device_at, finish, text, weigh_bus, weigh_log};
use crate::draft::Draft;
use crate::facts::cards::slot;
use crate::findings::Findings;

/// Judges the cards that no longer answer; those that the library misses are judged already.
pub(super) fn check(
    scene: &Scene,
    missing: &[&PciDevice],
    lost_slots: &BTreeSet<String>,
    findings: &mut Findings,
) {
    for card in scene.unlisted_cards.iter().filter(|card| !card.handle.is_known()) {
        let Some(address) = card.pci_address.known() else {
            continue;
        };
        let own = slot(address);
        if missing.iter().any(|device| slot(&device.address) == own) {
            continue;
        }
        let is_in_log = lost_slots.contains(&own);
        let mut draft = Draft::about_card(&RULE, card, text::summary_off_the_bus(address.as_str()))
            .severity(Severity::Fault);
        weigh_bus(device_at(scene, address), &mut draft);
        weigh_log(scene, is_in_log, false, &mut draft);
        if !is_in_log && may_be_switched_off(scene) {
            draft.only_possible();
        }
        finish(scene, Some(card), draft, findings);
    }
}

/// Returns whether a device of the bus is one of these cards.
pub(super) fn has(scene: &Scene, device: &PciDevice) -> bool {
    let own = slot(&device.address);
    let is_own = |address: &String| slot(address) == own;
    scene.unlisted_cards.iter().filter_map(|card| card.pci_address.known()).any(is_own)
}

/// Returns whether no card of NVIDIA answers while another maker's does: portable machines switch the second one off
/// while it is not needed, and it reads as all ones too.
fn may_be_switched_off(scene: &Scene) -> bool {
    let devices = scene.machine.pci_cards.known().map_or(&[][..], Vec::as_slice);
    let answers = |device: &&PciDevice| device.is_card() && device.answers != Reading::Known(false);
    let is_of_processor = |device: &PciDevice| matches!(device.vendor, PciDevice::INTEL | PciDevice::AMD);
    let mut answering = devices.iter().filter(answers);
    let one_answers = answering.clone().any(is_of_processor);
    one_answers && !answering.any(|device| device.vendor == PciDevice::NVIDIA)
}
