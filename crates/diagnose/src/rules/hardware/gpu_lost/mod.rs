//! `gpu-lost`: the card no longer answers, or is missing.

mod on_node;
mod unlisted;

use std::collections::BTreeSet;

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Access, Failure, Reading};
use gpuwhy_model::sample::{KernelLine, PciDevice};
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity, Subject};

use crate::draft::Draft;
use crate::evidence::{flag, normal, once, reader, with_normal};
use crate::facts::cards::{holders, is_kept_to_some_cards, nvidia_pci_cards, slot, whole_cards};
use crate::facts::{culprit, kernel_log};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/gpu_lost.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: gpuwhy_model::cause::Cause::GpuLost,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::CardAnswers,
            Signal::CardCount,
            Signal::PciCards,
            Signal::KernelLog,
            Signal::NodeState,
        ],
    },
    check,
};

/// `NVML_ERROR_GPU_IS_LOST`
const GPU_IS_LOST: u32 = 15;
/// `NVML_ERROR_NOT_FOUND` and `NVML_ERROR_UNKNOWN`: what a lost card also answers.
const ALSO_OF_LOST_CARDS: &[u32] = &[6, 999];
/// How much such an answer proves: of one card beside others that answer, it is that card's own trouble.
const ALONE_UNCLEAR: f64 = 0.75;
const ALL_UNCLEAR: f64 = 0.4;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    on_node::check(scene, findings);
    let slots_in = |is_wanted: &dyn Fn(&KernelLine) -> bool| -> BTreeSet<String> {
        let lines = kernel_log::lines(scene).iter().filter(|line| is_wanted(line));
        lines.filter_map(kernel_log::fallen_off).map(slot).collect()
    };
    let lost_slots = slots_in(&|_| true);
    for card in whole_cards(scene) {
        judge_listed(scene, card, &lost_slots, findings);
    }
    if !scene.machine.driver.library.is_known() {
        let fresh_slots = slots_in(&|line| kernel_log::is_fresh(scene, line, limits));
        for device in silent_devices(scene, &fresh_slots) {
            if !unlisted::has(scene, device) {
                judge_silent(scene, device, &lost_slots, findings);
            }
        }
        unlisted::check(scene, &[], &lost_slots, limits, findings);
        return;
    }
    let missing = missing_devices(scene, &lost_slots);
    for device in &missing {
        judge_missing(scene, device, &lost_slots, findings);
    }
    unlisted::check(scene, &missing, &lost_slots, limits, findings);
}

/// Judges a card that the library lists.
fn judge_listed(scene: &Scene, card: &Card, lost_slots: &BTreeSet<String>, findings: &mut Findings) {
    let Some(absence) = card.handle.absence() else {
        return;
    };
    let Absence::Failed(Failure::Nvml { call, code }) = &absence else {
        return;
    };
    let says_lost = *code == GPU_IS_LOST;
    if !says_lost && !ALSO_OF_LOST_CARDS.contains(code) {
        return;
    }
    let mut draft = Draft::about_card(&RULE, card, text::summary()).severity(Severity::Fault);
    let answer = once(
        Signal::CardAnswers,
        *code,
        Unit::Code,
        reader(scene, Reader::Nvml),
        if scene.provenance.source == SourceKind::Text {
            text::told_with_code(u64::from(*code))
        } else {
            text::answers_with_code(call.as_str(), u64::from(*code))
        },
    );
    let others_answer = whole_cards(scene).any(|other| other.handle.is_known());
    let unclear = if others_answer { ALONE_UNCLEAR } else { ALL_UNCLEAR };
    draft.agree_by(4.0, if says_lost { 1.0 } else { unclear }, answer);
    let device = card.pci_address.known().and_then(|address| device_at(scene, address));
    weigh_bus(device, &mut draft);
    let in_log = card.pci_address.known().is_some_and(|address| lost_slots.contains(&slot(address)));
    weigh_log(scene, in_log, says_lost, &mut draft);
    finish(scene, Some(card), draft, findings);
}

/// Judges a card that the bus lists and the library does not.
fn judge_missing(scene: &Scene, device: &PciDevice, lost_slots: &BTreeSet<String>, findings: &mut Findings) {
    let mut draft = about_device(device, text::summary_missing(device.address.as_str()));
    let listed = scene.machine.driver.card_count.known().copied().unwrap_or_default();
    let on_bus = nvidia_pci_cards(scene).known().map_or(0, Vec::len);
    let count = once(
        Signal::CardCount,
        listed,
        Unit::Count,
        Reader::Nvml,
        text::fewer_cards(listed, on_bus, device.address.as_str()),
    );
    draft.agree(2.0, with_normal(count, normal(Comparison::Equal, on_bus as f64)));
    weigh_bus(Some(device), &mut draft);
    let is_in_log = lost_slots.contains(&slot(&device.address));
    weigh_log(scene, is_in_log, false, &mut draft);
    if !shows_it(device, lost_slots) && scene.machine.viewer.uid.known().is_some_and(|uid| *uid != 0) {
        // The library lists to a user only the cards that he may open.
        draft.unseen(1.0, Signal::CardCount, Absence::Denied(Access::Root));
        draft.only_possible();
    }
    finish(scene, None, draft, findings);
}

/// Judges a card that fell off the bus while the library does not answer at all: what hangs, hangs on it.
fn judge_silent(scene: &Scene, device: &PciDevice, lost_slots: &BTreeSet<String>, findings: &mut Findings) {
    let mut draft = about_device(device, text::summary_off_the_bus(device.address.as_str()));
    weigh_bus(Some(device), &mut draft);
    weigh_log(scene, lost_slots.contains(&slot(&device.address)), false, &mut draft);
    finish(scene, None, draft, findings);
}

fn about_device(device: &PciDevice, summary: Text) -> Draft {
    let address = device.address.clone();
    let subject = Subject { kind: SubjectKind::Card, id: address.clone(), name: address.clone() };
    let group = format!("card {address}");
    Draft::new(&RULE, subject, group, Vec::new(), summary).severity(Severity::Fault)
}

/// Returns whether the bus or the kernel log itself says that a card is gone.
fn shows_it(device: &PciDevice, lost_slots: &BTreeSet<String>) -> bool {
    device.answers == Reading::Known(false) || lost_slots.contains(&slot(&device.address))
}

/// Weighs what the bus says: a card that answers there with all ones is gone.
fn weigh_bus(device: Option<&PciDevice>, draft: &mut Draft) {
    match device.map(|device| &device.answers) {
        Some(Reading::Known(false)) => {
            draft.agree(2.0, flag(Signal::PciCards, Reader::SysPci, text::bus_reads_ones()));
        }
        Some(Reading::Known(true)) => draft.silent(0.5),
        // What the bus says of it would only confirm.
        _ => {}
    }
}

/// Weighs what the kernel log says.
fn weigh_log(scene: &Scene, is_in_log: bool, is_sure_without: bool, draft: &mut Draft) {
    if is_in_log {
        draft.agree(3.0, flag(Signal::KernelLog, Reader::KernelLog, text::fell_off_the_bus()));
        return;
    }
    // A library that says "lost" needs no second witness.
    let weight = if is_sure_without { 0.5 } else { 3.0 };
    match scene.events.absence() {
        // Who pastes something else hides nothing.
        Some(_) if scene.provenance.source == SourceKind::Text => draft.silent(weight / 3.0),
        Some(absence) => draft.unseen(weight, Signal::KernelLog, absence),
        None => draft.silent(weight),
    }
}

/// Says what it costs and what to do.
fn finish(scene: &Scene, card: Option<&Card>, mut draft: Draft, findings: &mut Findings) {
    let holders = card.map_or_else(Vec::new, |card| holders(scene, card));
    draft.processes = culprit::pids(&holders);
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s, bytes_held: 0, blocked: holders.len() as u64 };
    let target = Target { kind: draft.finding.subject.kind, id: draft.finding.subject.id.clone() };
    draft.advise(Action::Reboot, vec![target.clone()], text::fix_power_cycle());
    draft.advise(Action::ServiceHardware, vec![target], text::fix_service());
    findings.report(draft);
}

/// Returns the cards that the bus lists for the driver and that the library does not know.
fn missing_devices<'scene>(scene: &'scene Scene, lost_slots: &BTreeSet<String>) -> Vec<&'scene PciDevice> {
    // A container and a job are given some of the cards only: there, a card must show by itself that it is gone.
    let may_be_withheld = is_kept_to_some_cards(scene);
    let Some(count) = scene.machine.driver.card_count.known() else {
        return Vec::new();
    };
    let listed: BTreeSet<String> =
        whole_cards(scene).filter_map(|card| card.pci_address.known()).map(|address| slot(address)).collect();
    let served = served_devices(scene);
    if served.len() <= *count as usize {
        return Vec::new();
    }
    served
        .into_iter()
        .filter(|device| !listed.contains(&slot(&device.address)))
        .filter(|device| !may_be_withheld || shows_it(device, lost_slots))
        .collect()
}

/// Returns the cards that are gone by what the bus and the newest lines of the kernel log say, whatever the library
/// does: after the loss of one card its calls often never return.
fn silent_devices<'scene>(scene: &'scene Scene, fresh_slots: &BTreeSet<String>) -> Vec<&'scene PciDevice> {
    let mut devices = served_devices(scene);
    devices.retain(|device| shows_it(device, fresh_slots));
    devices
}

/// Returns the cards on the bus that the driver serves.
fn served_devices(scene: &Scene) -> Vec<&PciDevice> {
    let mut devices = nvidia_pci_cards(scene).into_known().unwrap_or_default();
    devices.retain(|device| device.driver.known().is_some_and(|driver| driver == "nvidia"));
    devices
}

fn device_at<'scene>(scene: &'scene Scene, address: &str) -> Option<&'scene PciDevice> {
    let wanted = slot(address);
    scene.machine.pci_cards.known()?.iter().find(|device| slot(&device.address) == wanted)
}
