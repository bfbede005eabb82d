//! Remarks that are no finding.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::PciDevice;
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::units::Seconds;

use crate::facts::apparent_heat::apparent_heat;
use crate::facts::cards;
use crate::facts::unexplained::{is_much, unexplained};
use crate::findings::Findings;
use crate::shared_text;

/// Adds what is worth knowing beside the findings.
pub(super) fn add(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    slow_start(scene, limits, findings);
    memory_without_owner(scene, limits, findings);
    other_vendors(scene, findings);
    heat(scene, limits, findings);
    undecided_cards(findings);
    few_samples(scene, limits, findings);
}

/// A library that took long and then answered: the cards were not kept ready.
fn slow_start(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let driver = &scene.machine.driver;
    let Some(took) = driver.init_ms.known().map(|milliseconds| Seconds(*milliseconds as f64 / 1000.0)) else {
        return;
    };
    let is_judged = findings.answers().any(|draft| draft.cause() == Cause::PersistenceOff);
    if took.0 <= limits.init_slow_s || !driver.library.is_known() || is_judged {
        return;
    }
    let is_off = cards::whole_cards(scene).any(|card| card.persistence == Reading::Known(false));
    let text = if is_off {
        shared_text::note_slow_start_persistence_off(took)
    } else {
        shared_text::note_slow_start(took)
    };
    findings.note(text);
}

/// Memory that no listed process holds, where no answer speaks of it.
fn memory_without_owner(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in cards::whole_cards(scene) {
        let Some(bytes) = unexplained(scene, card).filter(|bytes| is_much(*bytes, card, limits)) else {
            continue;
        };
        let is_judged = findings.answers().any(|draft| {
            matches!(draft.cause(), Cause::VramHeldByDeadProcess | Cause::VramHeldByHiddenProcess)
                && draft.finding.cards.contains(&card.index)
        });
        if !is_judged {
            findings.note(shared_text::note_memory_without_owner(bytes, card.shown()));
        }
    }
}

/// Heat that figures show, where the answers are about other cards and other things.
fn heat(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    if findings.answers().any(|draft| draft.cause() == Cause::Undetermined) {
        return;
    }
    for card in cards::whole_cards(scene) {
        if let Some(heat) = apparent_heat(scene, card, limits) {
            findings.note(shared_text::note_apparent_heat(card.shown(), heat.words(card)));
        }
    }
}

fn other_vendors(scene: &Scene, findings: &mut Findings) {
    let devices = scene.machine.pci_cards.known().into_iter().flatten();
    // A board's own display chip is no card for computing.
    let others = devices.filter(|device| device.is_card() && is_other_card_maker(device.vendor)).count();
    if others > 0 {
        findings.note(shared_text::note_other_vendors(others));
    }
}

fn is_other_card_maker(vendor: u32) -> bool {
    matches!(vendor, PciDevice::AMD | PciDevice::INTEL)
}

/// Rates of few samples are capped; a text cannot give more of them.
fn few_samples(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    if scene.provenance.source == SourceKind::Text {
        return;
    }
    let fewest = findings.answers().filter_map(|draft| draft.balance.trend_samples).min();
    if let Some(number) = fewest.filter(|number| *number < limits.trend_samples_min) {
        findings.note(shared_text::note_few_samples(number));
    }
}

fn undecided_cards(findings: &mut Findings) {
    let has_answer = findings.answers().any(|draft| draft.cause() != Cause::Undetermined);
    if !has_answer || findings.undecided.is_empty() {
        return;
    }
    let cards: Vec<String> = findings.undecided.iter().map(u32::to_string).collect();
    findings.note(shared_text::note_undecided_cards(cards));
}
