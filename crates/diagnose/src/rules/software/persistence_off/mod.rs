//! `persistence-off`: the driver forgets its cards between uses, and each first use wakes them anew.

mod start;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Seconds, Unit};
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{flag, normal, once, with_normal};
use crate::facts::cards::whole_cards;
use crate::facts::kernel_log;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/persistence_off.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::PersistenceOff,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::Persistence,
            Signal::DriverInit,
            Signal::VramByProcess,
            Signal::Services,
            Signal::KernelLog,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// The service that keeps cards ready.
const SERVICE: &str = "nvidia-persistenced";

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    start::check(scene, limits, findings);
    let driver = &scene.machine.driver;
    let Some(took) = driver.init_ms.known().map(|milliseconds| Seconds(*milliseconds as f64 / 1000.0)) else {
        return;
    };
    let off: Vec<&Card> =
        whole_cards(scene).filter(|card| card.persistence == Reading::Known(false)).collect();
    if off.is_empty() || !driver.library.is_known() {
        return;
    }
    if took.0 <= limits.init_slow_s {
        findings.rule_out(Signal::DriverInit, None);
        return;
    }
    // Whoever holds a card all the time keeps it ready.
    let unkept: Vec<&Card> =
        off.into_iter().filter(|card| card.clients.known().is_some_and(Vec::is_empty)).collect();
    if unkept.is_empty() {
        findings.rule_out(Signal::VramByProcess, None);
        return;
    }
    findings.report(judge(scene, took, &unkept, limits));
}

fn judge(scene: &Scene, took: Seconds, unkept: &[&Card], limits: &Limits) -> Draft {
    let mut draft = Draft::about_machine(&RULE, scene, text::summary(took)).severity(Severity::Note);
    draft.finding.cards = unkept.iter().map(|card| card.index).collect();
    let words = text::start_took(took);
    let evidence = once(Signal::DriverInit, took.0, Unit::Seconds, Reader::Nvml, words);
    draft.agree(3.0, with_normal(evidence, normal(Comparison::AtMost, limits.init_slow_s)));
    let cards: Vec<String> = unkept.iter().map(|card| card.called()).collect();
    draft.agree(2.0, flag(Signal::Persistence, Reader::Nvml, text::is_off(cards)));
    draft.agree(1.0, flag(Signal::VramByProcess, Reader::Nvml, text::nobody_keeps_them()));
    weigh_service(scene, &mut draft);
    weigh_log(scene, limits, &mut draft);
    draft.advise(Action::SetPersistence, Vec::new(), text::fix_service());
    draft.advise(Action::SetPersistence, Vec::new(), text::fix_mode());
    draft
}

fn weigh_service(scene: &Scene, draft: &mut Draft) {
    let services = scene.machine.services.known().into_iter().flatten();
    let is_down = services
        .filter(|service| service.name == SERVICE)
        .any(|service| service.running == Reading::Known(false));
    if is_down {
        draft.agree(0.5, flag(Signal::Services, Reader::Services, text::service_is_down()));
    } else {
        draft.silent(0.5);
    }
}

/// Weighs whether the driver had trouble: then that made its start slow.
fn weigh_log(scene: &Scene, limits: &Limits, draft: &mut Draft) {
    let trouble = kernel_log::lines(scene)
        .iter()
        .rev()
        .filter(|line| kernel_log::is_fresh(scene, line, limits))
        .find(|line| kernel_log::shows_a_hang(line));
    if let Some(line) = trouble {
        let words = text::trouble_in_log(line.text.as_str());
        draft.contradict(
            3.0,
            once(Signal::KernelLog, line.text.as_str(), Unit::Text, Reader::KernelLog, words),
        );
        draft.only_possible();
    }
}
