//! `nvml-abi-mismatch`: what the library writes cannot be what the caller takes it for.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use crate::draft::{Draft, card_subject};
use crate::evidence::{once, reader};
use crate::facts::cards::only_on_the_bus;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/nvml_abi_mismatch.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::NvmlAbiMismatch,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::CardCount,
            Signal::VramByProcess,
            Signal::VramUsed,
            Signal::DriverVersion,
            Signal::PciCards,
        ],
    },
    check,
};

/// The kernel gives no process a higher number.
const HIGHEST_PID: u32 = 1 << 22;

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    if let Reading::Failed(Failure::Implausible { value }) = &scene.machine.driver.card_count {
        findings.report(impossible_count(scene, value));
    }
    if let Some(draft) = impossible_client(scene) {
        findings.report(draft);
    }
    let torn: Vec<(&Card, Evidence)> = scene
        .cards
        .iter()
        .filter_map(|card| Some((card, impossible_list(scene, card).or_else(|| impossible_memory(card))?)))
        .collect();
    if !torn.is_empty() {
        findings.report(impossible_rows(scene, torn));
    }
}

/// Returns whether the kernel gives no process such a number.
const fn is_nobody(pid: Pid) -> bool {
    pid.0 == 0 || pid.0 > HIGHEST_PID
}

/// A list of processes of which the card is not said has numbers that no process has.
fn impossible_client(scene: &Scene) -> Option<Draft> {
    let mut pids: Vec<Pid> = scene.unplaced_clients.iter().map(|unplaced| unplaced.client.pid).collect();
    pids.retain(|pid| is_nobody(*pid));
    let value = pids.iter().max()?.to_string();
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_list()).severity(Severity::Fault);
    draft.finding.detail.insert("kind".to_owned(), "rows".to_owned());
    // However short the look: no process ever has such a number.
    draft.balance.past_decides = true;
    let words = text::list(pids.len(), value.as_str());
    draft.agree(2.5, once(Signal::VramByProcess, value, Unit::Text, reader(scene, Reader::Nvml), words));
    Some(finished(scene, draft))
}

/// The library counts more cards than any machine has.
fn impossible_count(scene: &Scene, value: &str) -> Draft {
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_count(value)).severity(Severity::Fault);
    draft.finding.cards = only_on_the_bus(scene);
    draft.finding.detail.insert("kind".to_owned(), "card-count".to_owned());
    draft.agree(3.0, once(Signal::CardCount, value, Unit::Text, Reader::Nvml, text::counts(value)));
    if let Some(devices) = scene.machine.pci_cards.known() {
        let number = devices.iter().filter(|device| device.is_card()).count();
        draft.mention(once(Signal::PciCards, number, Unit::Count, Reader::SysPci, text::on_the_bus(number)));
    }
    finished(scene, draft)
}

/// Lists or amounts of some cards cannot be.
fn impossible_rows(scene: &Scene, torn: Vec<(&Card, Evidence)>) -> Draft {
    let mut cards: Vec<u32> = torn.iter().map(|(card, _)| card.parent.unwrap_or(card.index)).collect();
    cards.sort_unstable();
    cards.dedup();
    let mut named: Vec<String> = torn.iter().map(|(card, _)| called(card)).collect();
    named.dedup();
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_rows(named));
    if let [(only, _)] = torn.as_slice() {
        draft.finding.subject = card_subject(only);
    }
    draft.finding.cards = cards;
    draft.finding.detail.insert("kind".to_owned(), "rows".to_owned());
    for (place, (_, evidence)) in torn.into_iter().enumerate() {
        if place == 0 { draft.agree(2.5, evidence) } else { draft.mention(evidence) }
    }
    finished(scene, draft)
}

fn finished(scene: &Scene, mut draft: Draft) -> Draft {
    weigh_version(scene, &mut draft);
    draft.advise(Action::LookAgain, Vec::new(), text::fix_which_library());
    draft.advise(Action::UpdateDriver, Vec::new(), text::fix_update());
    draft
}

/// Returns what the card is called, for an instance its whole card.
fn called(card: &Card) -> String {
    card.parent.map_or_else(|| card.called(), |whole| whole.to_string())
}

/// Returns what cannot be about a card's list of processes.
fn impossible_list(scene: &Scene, card: &Card) -> Option<Evidence> {
    let words = |value: &str| -> Text { text::list_of_card(called(card), value) };
    let value = match &card.clients {
        Reading::Failed(Failure::Implausible { value }) => value.clone(),
        Reading::Known(clients) => {
            clients.iter().map(|client| client.pid).find(|pid| is_nobody(*pid))?.to_string()
        }
        _ => return None,
    };
    let text = words(&value);
    Some(once(Signal::VramByProcess, value, Unit::Text, reader(scene, Reader::Nvml), text))
}

/// Returns what cannot be about a card's memory.
fn impossible_memory(card: &Card) -> Option<Evidence> {
    let Reading::Failed(Failure::Implausible { value }) = &card.memory else {
        return None;
    };
    let text = text::memory_of_card(called(card), value.as_str());
    Some(once(Signal::VramUsed, value.as_str(), Unit::Text, Reader::Nvml, text))
}

/// Weighs whether the library is the driver's own: it names the driver's version at the end of its own.
fn weigh_version(scene: &Scene, draft: &mut Draft) {
    let driver = &scene.machine.driver;
    let (Some(library), Some(version)) =
        (driver.library_version.known(), driver.module.known().or(driver.version.known()))
    else {
        draft.silent(0.5);
        return;
    };
    if library.ends_with(version.as_str()) {
        draft.silent(0.5);
        return;
    }
    let words = text::library_is_another(version.as_str(), library.as_str());
    draft.agree(1.0, once(Signal::DriverVersion, library.as_str(), Unit::Text, Reader::Nvml, words));
}
