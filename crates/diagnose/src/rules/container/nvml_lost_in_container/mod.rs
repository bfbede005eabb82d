//! `nvml-lost-in-container`: a running container was given cards and may not touch them any more.

mod devices;

use gpuwhy_knowledge::NvmlErrorFact;
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{flag, once};
use crate::facts::cards::{only_on_the_bus, whole_cards};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/nvml_lost_in_container.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::NvmlLostInContainer,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::Container,
            Signal::DriverLibrary,
            Signal::CardAnswers,
            Signal::DeviceFiles,
            Signal::DriverModule,
            Signal::CgroupDevices,
        ],
    },
    check,
};

/// What was refused.
enum Refused<'scene> {
    /// The library does not start.
    Library { call: &'scene str, code: u32 },
    /// The library starts, and may not open these cards.
    Cards(Vec<&'scene Card>),
}

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    let closed = devices::closed_groups(scene);
    let refused = refused(scene).filter(|refused| may_be_in_a_container(scene, refused));
    if refused.is_none() && closed.is_empty() {
        return;
    }
    let files = card_files(scene);
    let promise = devices::promise(scene);
    let files_are_known = scene.machine.device_files.is_known() || !is_text(scene);
    if files.is_empty() && promise.is_none() && closed.is_empty() && files_are_known {
        // It never had a card.
        findings.rule_out(Signal::DeviceFiles, None);
        return;
    }
    let summary = if is_text(scene) { text::summary_told() } else { text::summary() };
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Fault);
    if let Some(refused) = &refused {
        draft.finding.cards = match refused {
            Refused::Library { .. } => only_on_the_bus(scene),
            Refused::Cards(cards) => cards.iter().map(|card| card.index).collect(),
        };
        draft.agree(2.0, evidence(scene, refused));
    }
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * draft.finding.cards.len() as f64, ..Impact::default() };
    if let Some(group) = closed.first() {
        let rules = group.device_rules.known().cloned().unwrap_or_default();
        let words = text::rules_do_not_open(rules.clone());
        draft.agree(4.0, once(Signal::CgroupDevices, rules.join(", "), Unit::Text, Reader::Cgroup, words));
        draft.balance.past_decides = true;
        if refused.is_none() {
            draft.silent(1.0);
        }
    } else {
        weigh_surroundings(scene, files, promise, &mut draft);
    }
    draft.advise(Action::RestartContainer, Vec::new(), text::fix_restart());
    draft.advise(Action::RestartContainer, Vec::new(), text::fix_for_good());
    findings.report(draft);
}

/// Weighs what stands around the refusal: the container, its files, its promise, the module of the host.
fn weigh_surroundings(scene: &Scene, files: Vec<String>, promise: Option<String>, draft: &mut Draft) {
    match scene.machine.container.known() {
        Some(container) => {
            let words = if is_text(scene) {
                text::in_some_container(shown_kind(container))
            } else {
                text::in_a_container(container.as_str())
            };
            draft.agree(0.5, once(Signal::Container, container.as_str(), Unit::Text, Reader::ProcPid, words));
        }
        None => draft.silent(1.0),
    }
    if is_text(scene) && scene.machine.device_files.absence().is_some() {
        // A text seldom shows them.
        draft.silent(1.0);
    } else {
        weigh_files(scene, files, draft);
    }
    match promise {
        Some(cards) => {
            let words = if is_text(scene) {
                text::promised_told(cards.as_str())
            } else {
                text::promised(cards.as_str())
            };
            draft.agree(1.0, once(Signal::Container, cards.as_str(), Unit::Text, Reader::ProcPid, words));
        }
        None => draft.silent(if is_text(scene) { 0.5 } else { 1.0 }),
    }
    weigh_module(scene, draft);
}

fn is_text(scene: &Scene) -> bool {
    scene.provenance.source == SourceKind::Text
}

/// Returns whether a refusal may have met a container: a text does not always say where its tool ran. The one error
/// without a stated reason is nearly always a container's.
fn may_be_in_a_container(scene: &Scene, refused: &Refused<'_>) -> bool {
    if scene.machine.container.is_known() {
        return true;
    }
    let is_unclear = matches!(refused, Refused::Library { code: NvmlErrorFact::UNKNOWN, .. });
    let shows_the_host = scene.machine.pci_cards.is_known() || scene.events.is_known();
    is_text(scene) && is_unclear && scene.machine.container.is_not_in_source() && !shows_the_host
}

/// Returns what was refused in a way that a lost device looks like; none where nothing was.
fn refused(scene: &Scene) -> Option<Refused<'_>> {
    if let Reading::Failed(Failure::Nvml { call, code }) = &scene.machine.driver.library {
        return is_refusal(*code).then_some(Refused::Library { call: call.as_str(), code: *code });
    }
    // What takes the access takes it to all cards: beside one that answers, another one's refusal is its own trouble.
    if whole_cards(scene).any(|card| card.handle.is_known()) {
        return None;
    }
    let cards: Vec<&Card> = whole_cards(scene).filter(|card| may_not_be_opened(card)).collect();
    (!cards.is_empty()).then_some(Refused::Cards(cards))
}

fn may_not_be_opened(card: &Card) -> bool {
    match &card.handle {
        Reading::Denied(Access::DeviceFile(_)) => true,
        Reading::Failed(Failure::Nvml { code, .. }) => is_refusal(*code),
        _ => false,
    }
}

/// Returns whether the library answers so when the system refuses it the device.
fn is_refusal(code: u32) -> bool {
    const NO_PERMISSION: u32 = 4;
    const OPERATING_SYSTEM: u32 = 17;
    matches!(code, NO_PERMISSION | OPERATING_SYSTEM | NvmlErrorFact::UNKNOWN)
}

/// Returns the kind of a container as it is written.
pub(crate) fn shown_kind(kind: &str) -> &str {
    if kind == "kubernetes" { "Kubernetes" } else { kind }
}

fn evidence(scene: &Scene, refused: &Refused<'_>) -> Evidence {
    match refused {
        Refused::Library { call, code } => {
            let code_told = u64::from(*code);
            let words = if is_text(scene) {
                text::library_told(code_told)
            } else {
                text::library_says(*call, code_told)
            };
            once(Signal::DriverLibrary, *code, Unit::Code, Reader::Nvml, words)
        }
        Refused::Cards(cards) => {
            let named: Vec<String> = cards.iter().map(|card| card.called()).collect();
            once(Signal::CardAnswers, cards.len(), Unit::Count, Reader::Nvml, text::cards_refused(named))
        }
    }
}

/// Returns the device files of cards that the container has.
fn card_files(scene: &Scene) -> Vec<String> {
    let files = scene.machine.device_files.known().into_iter().flatten();
    files.filter(|file| file.contains("nvidia")).cloned().collect()
}

fn weigh_files(scene: &Scene, files: Vec<String>, draft: &mut Draft) {
    const WEIGHT: f64 = 1.5;
    match scene.machine.device_files.absence() {
        Some(absence) => draft.unseen(WEIGHT, Signal::DeviceFiles, absence),
        None if files.is_empty() => draft.silent(WEIGHT),
        None => {
            let number = files.len();
            let words = text::files_are_there(files);
            draft.agree(WEIGHT, once(Signal::DeviceFiles, number, Unit::Count, Reader::Dev, words));
        }
    }
}

/// Weighs that the driver itself is there: it is the way to it that is closed.
fn weigh_module(scene: &Scene, draft: &mut Draft) {
    match scene.machine.driver.module.known() {
        Some(version) => {
            draft.agree(0.5, flag(Signal::DriverModule, Reader::ProcDriver, text::module(version.as_str())));
        }
        None => draft.silent(0.5),
    }
}
