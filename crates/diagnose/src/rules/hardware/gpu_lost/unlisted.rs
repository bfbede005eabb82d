//! Cards that only a text names, by their address, and of which it says that they are gone.

use std::collections::BTreeSet;

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{KernelFact, KernelLine, PciDevice};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::super::report;
use super::{RULE, device_at, finish, text, weigh_bus, weigh_log};
use crate::draft::Draft;
use crate::evidence::{once, reported};
use crate::facts::cards::{slot, whole_cards};
use crate::facts::{kernel_log, xids};
use crate::findings::Findings;

/// Judges the cards that no longer answer; those that the library misses are judged already.
pub(super) fn check(
    scene: &Scene,
    missing: &[&PciDevice],
    lost_slots: &BTreeSet<String>,
    limits: &Limits,
    findings: &mut Findings,
) {
    check_not_listed(scene, limits, findings);
    for card in scene.unlisted_cards.iter().filter(|card| !card.handle.is_known()) {
        let Some(address) = card.pci_address.known() else {
            continue;
        };
        let own = slot(address);
        if missing.iter().any(|device| slot(&device.address) == own) {
            continue;
        }
        let is_in_log = lost_slots.contains(&own);
        let device = device_at(scene, address);
        let is_silent = device.is_some_and(|device| device.answers == Reading::Known(false));
        if let (Some(line), false) = (not_started(scene, &own, limits), is_in_log || is_silent) {
            findings.report(judge_not_started(scene, card, address, line));
            continue;
        }
        let mut draft = Draft::about_card(&RULE, card, text::summary_off_the_bus(address.as_str()))
            .severity(Severity::Fault);
        weigh_bus(device, &mut draft);
        weigh_log(scene, is_in_log, false, &mut draft);
        if !is_in_log && may_be_switched_off(scene) {
            draft.only_possible();
        }
        finish(scene, Some(card), draft, findings);
    }
}

/// Judges the cards that report something, and that a list of all cards with their addresses does not have.
fn check_not_listed(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let mut listed = whole_cards(scene).peekable();
    let is_list_whole = listed.peek().is_some() && listed.all(|card| card.pci_address.is_known());
    if !is_list_whole || scene.machine.container.is_known() {
        return;
    }
    for card in scene.unlisted_cards.iter().filter(|card| card.handle.is_known()) {
        let reports = xids::of_card(scene, card, limits);
        let newest = reports.iter().rev().find(|report| report.line.is_some());
        let (Some(address), Some(newest)) = (card.pci_address.known(), newest) else {
            continue;
        };
        let mut draft = Draft::about_card(&RULE, card, text::summary_not_listed(address.as_str()))
            .severity(Severity::Warn);
        draft.agree(2.0, reported(newest));
        // The list may be of a part of the cards, or of another time.
        draft.only_possible();
        draft.advise(Action::LookAgain, report::target(&draft), text::fix_list_again());
        findings.report(draft);
    }
}

/// Returns the newest line that says that the driver could not start a card.
fn not_started<'scene>(scene: &'scene Scene, own: &str, limits: &Limits) -> Option<&'scene KernelLine> {
    let is_of_card = |line: &&KernelLine| match &line.fact {
        Some(KernelFact::CardNotStarted { pci_address: Some(address), .. }) => slot(address) == own,
        _ => false,
    };
    kernel_log::lines(scene)
        .iter()
        .rev()
        .find(is_of_card)
        .filter(|line| kernel_log::is_fresh(scene, line, limits))
}

/// Judges a card that the driver could not start: where the driver works and does not list it, it is missing.
fn judge_not_started(scene: &Scene, card: &Card, address: &str, line: &KernelLine) -> Draft {
    let mut draft =
        Draft::about_card(&RULE, card, text::summary_not_started(address)).severity(Severity::Fault);
    let words = text::in_log(line.text.as_str());
    draft.agree(2.0, once(Signal::KernelLog, line.text.as_str(), Unit::Text, Reader::KernelLog, words));
    let lists_others = scene.machine.driver.card_count.is_known() || whole_cards(scene).next().is_some();
    if !lists_others {
        // The driver itself, or the firmware of the machine, may be why.
        draft.only_possible();
    }
    // Whether it ever worked is not shown.
    draft.silent(2.0);
    draft.finding.detail.insert("kind".to_owned(), "not-started".to_owned());
    let target = report::target(&draft);
    draft.advise(Action::LookAgain, target.clone(), text::fix_look_at_start());
    draft.advise(Action::Reboot, target.clone(), text::fix_power_cycle());
    draft.advise(Action::ServiceHardware, target, text::fix_service());
    draft
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
