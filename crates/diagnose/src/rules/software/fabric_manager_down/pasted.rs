//! A paste in which the service manager, or the service itself, says that the fabric manager ended by an error.
//!
//! On cards without `NVSwitches` that is no trouble; a text about the service alone does not tell which cards there are.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Service;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use super::{FabricView, RULE, SERVICE, advise, other_version, text};
use crate::draft::Draft;
use crate::evidence::{flag, once};

/// Judges a service that does not run, where the cards do not decide; none where it is no trouble.
pub(super) fn judge(scene: &Scene, view: &FabricView<'_>) -> Option<Draft> {
    let service = view.service.filter(|service| service.running == Reading::Known(false))?;
    let is_paste = scene.provenance.source == SourceKind::Text;
    // One that is only not started may not be needed.
    if !is_paste || !service.failed || scene.machine.nvswitches == Reading::Known(0) {
        return None;
    }
    // A table of some of the cards, or of cards by a shorter name, does not tell.
    let are_wired: Vec<bool> = view.cards.iter().filter_map(|card| is_wired(card)).collect();
    if !are_wired.is_empty() && !are_wired.contains(&true) {
        return None;
    }
    Some(draft(scene, view, service, !are_wired.is_empty()))
}

fn draft(scene: &Scene, view: &FabricView<'_>, service: &Service, has_switched_cards: bool) -> Draft {
    let version = other_version(scene, view);
    let summary = match &version {
        Some((service, driver)) => text::summary_version(driver.as_str(), service.as_str()),
        None => text::summary_failed(),
    };
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Fault);
    draft.finding.cards = view.cards.iter().map(|card| card.index).collect();
    draft.finding.impact = Impact { blocked: 1, ..Impact::default() };
    draft.balance.past_decides = true;
    draft.agree_by(3.0, 0.5, flag(Signal::Services, Reader::Services, text::has_failed(SERVICE)));
    if let Some((service, driver)) = version {
        let words = text::versions(driver.as_str(), service.as_str());
        draft.agree(4.0, once(Signal::DriverVersion, service, Unit::Text, Reader::Services, words));
    }
    if has_switched_cards {
        draft.agree(1.5, flag(Signal::Fabric, Reader::NvidiaSmi, text::cards_with_switches()));
    } else {
        draft.silent(1.0);
    }
    if service.installed == Reading::Known(false) {
        let target = Target { kind: SubjectKind::Node, id: SERVICE.to_owned() };
        draft.advise(Action::RestartService, vec![target], text::fix_install());
    } else {
        advise(scene, view, &mut draft);
    }
    draft
}

/// Returns whether a card is of a board on which all cards are joined; none for products that are not known.
fn is_wired(card: &Card) -> Option<bool> {
    let product = gpuwhy_knowledge::card(card.name.known()?)?;
    Some(product.has_wired_links())
}
