//! `fabric-manager-down`: cards behind `NVSwitches` whose fabric nobody has set up.

mod pasted;
mod said;

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{Fabric, FabricState, Service, Vendor};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{busy, flag, once, reader};
use crate::facts::cards::{Activity, activity, whole_cards};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/fabric_manager_down.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::FabricManagerDown,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::Fabric,
            Signal::Services,
            Signal::PciCards,
            Signal::DriverVersion,
            Signal::GpuBusy,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// The service that sets up the switches and lets cards join.
const SERVICE: &str = "nvidia-fabricmanager";

/// What is known of the fabric of a machine.
struct FabricView<'scene> {
    cards: Vec<&'scene Card>,
    /// Cards that could join and have not, or failed to.
    apart: Vec<(&'scene Card, Fabric)>,
    /// Cards that have joined.
    joined: usize,
    switches: u64,
    service: Option<&'scene Service>,
}

impl FabricView<'_> {
    fn service_is_down(&self) -> bool {
        let belongs_here = self.switches > 0 || self.service_is_installed();
        belongs_here && self.service.is_some_and(|service| service.running == Reading::Known(false))
    }

    fn service_is_installed(&self) -> bool {
        self.service.is_some_and(|service| service.installed == Reading::Known(true))
    }
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    let view = view(scene);
    // A single card, and cards on PCIe alone, have no fabric: the service may be installed there and fail.
    let has_fabric = view.switches > 0 || view.joined + view.apart.len() > 0;
    if view.cards.len() < 2 || !has_fabric {
        if let Some(draft) = pasted::judge(scene, &view) {
            findings.report(draft);
        } else if view.service.is_some_and(|service| service.running == Reading::Known(false)) {
            findings.rule_out(Signal::Fabric, None);
        }
        return;
    }
    if view.apart.is_empty() && !view.service_is_down() {
        findings.rule_out(Signal::Fabric, None);
        return;
    }
    findings.report(judge(scene, &view, limits));
}

fn view(scene: &Scene) -> FabricView<'_> {
    let cards: Vec<&Card> = whole_cards(scene).filter(|card| card.vendor == Vendor::Nvidia).collect();
    let mut apart = Vec::new();
    let mut joined = 0;
    for card in &cards {
        match card.fabric.known() {
            Some(Fabric { state: FabricState::Completed, status: 0, .. }) => joined += 1,
            Some(Fabric { state: FabricState::NotSupported, .. }) | None => {}
            Some(fabric) => apart.push((*card, *fabric)),
        }
    }
    // Inside a container the services of the machine cannot be seen, whatever runs.
    let sees_services = !scene.machine.container.is_known()
        && scene.machine.viewer.initial_pid_namespace != Reading::Known(false);
    let services = scene.machine.services.known().filter(|_| sees_services);
    let service = services.and_then(|services| services.iter().find(|service| service.name == SERVICE));
    let switches = scene.machine.nvswitches.known().copied().unwrap_or(0);
    FabricView { cards, apart, joined, switches, service }
}

fn judge(scene: &Scene, view: &FabricView<'_>, limits: &Limits) -> Draft {
    let affected: Vec<&Card> = if view.apart.is_empty() {
        view.cards.clone()
    } else {
        view.apart.iter().map(|(card, _)| *card).collect()
    };
    let version = other_version(scene, view);
    let summary = match (&version, view.service_is_down()) {
        (Some((service, driver)), true) => text::summary_version(driver.as_str(), service.as_str()),
        (None, true) => text::summary_down(),
        (_, false) => text::summary_apart(view.apart.len()),
    };
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Fault);
    draft.finding.cards = affected.iter().map(|card| card.index).collect();
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * affected.len() as f64, ..Impact::default() };

    weigh_cards(scene, view, limits, &mut draft);
    weigh_service(scene, view, &mut draft);
    if view.switches > 0 {
        let words = text::switches(view.switches);
        draft.agree(1.0, once(Signal::PciCards, view.switches, Unit::Count, Reader::SysPci, words));
    }
    if let Some((service, driver)) = version {
        let words = text::versions(driver.as_str(), service.as_str());
        draft.agree(1.0, once(Signal::DriverVersion, service, Unit::Text, Reader::Services, words));
    }
    advise(scene, view, &mut draft);
    draft
}

/// Weighs whether the cards say that they have not joined, and whether some of them work all the same.
fn weigh_cards(scene: &Scene, view: &FabricView<'_>, limits: &Limits, draft: &mut Draft) {
    for (place, (card, fabric)) in view.apart.iter().enumerate() {
        let evidence = state(scene, card, *fabric);
        if place == 0 { draft.agree(3.0, evidence) } else { draft.mention(evidence) }
    }
    if view.apart.is_empty() && view.joined > 0 {
        draft.contradict(1.5, flag(Signal::Fabric, Reader::Nvml, text::all_joined()));
    }
    if view.apart.is_empty() && view.joined == 0 {
        // Cards before Hopper do not tell.
        draft.silent(1.0);
    }
    let works = view.cards.iter().find(|card| activity(card, limits) == Activity::Works);
    if let Some(trend) = works.and_then(|card| card.busy.known()) {
        draft.contradict(2.0, busy(scene, trend, None));
    }
}

fn state(scene: &Scene, card: &Card, fabric: Fabric) -> Evidence {
    let words = match fabric.state {
        FabricState::Completed => text::failed(card.shown(), u64::from(fabric.status)),
        FabricState::InProgress => text::in_progress(card.shown()),
        FabricState::NotStarted | FabricState::NotSupported => text::not_started(card.shown()),
    };
    once(Signal::Fabric, fabric.state.id(), Unit::Text, reader(scene, Reader::Nvml), words)
}

fn weigh_service(scene: &Scene, view: &FabricView<'_>, draft: &mut Draft) {
    const WEIGHT: f64 = 2.5;
    let Some(service) = view.service else {
        match scene.machine.services.absence() {
            Some(absence) => draft.unseen(WEIGHT, Signal::Services, absence),
            None => draft.silent(WEIGHT),
        }
        return;
    };
    match service.running.known() {
        Some(false) => {
            let words = if view.service_is_installed() { text::is_down() } else { text::is_not_installed() };
            draft.agree(WEIGHT, flag(Signal::Services, Reader::Services, words));
        }
        Some(true) => {
            draft.silent(WEIGHT);
            draft.mention(flag(Signal::Services, Reader::Services, text::runs()));
        }
        None => draft.silent(WEIGHT),
    }
}

/// Returns the service's version and the driver's where they are not the same.
fn other_version(scene: &Scene, view: &FabricView<'_>) -> Option<(String, String)> {
    let service = view.service?.version.known()?;
    let driver = &scene.machine.driver;
    let driver = driver.module.known().or(driver.version.known())?;
    (service != driver).then(|| (service.clone(), driver.clone()))
}

fn advise(scene: &Scene, view: &FabricView<'_>, draft: &mut Draft) {
    let service = Target { kind: SubjectKind::Node, id: SERVICE.to_owned() };
    if view.service_is_down() {
        if view.service_is_installed() {
            // One of another version refuses each start.
            let step = match other_version(scene, view) {
                Some((service, driver)) => text::fix_version(driver, service),
                None => text::fix_start(),
            };
            draft.advise(Action::RestartService, vec![service], step);
        } else {
            draft.advise(Action::RestartService, vec![service], text::fix_install());
        }
        return;
    }
    draft.advise(Action::RestartService, vec![service], text::fix_look());
}
