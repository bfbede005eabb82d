//! `fan-failed`: a fan of the card does not turn as it should.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::Fan;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Severity;

use super::report;
use crate::draft::Draft;
use crate::evidence::{normal, once, reader, with_normal};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/fan_failed.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::FanFailed,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::FanSpeed, Signal::Temperature, Signal::Peers],
    },
    check,
};

/// `NVML_ERROR_UNKNOWN`: `nvidia-smi` shows `ERR!`.
const UNKNOWN: u32 = 999;
/// A fan that shall turn less stands still by design on many products, in percent.
const TARGET_MIN: f64 = 10.0;
/// A card this much hotter than its fan's start is hot, in degrees Celsius.
const HOT_BY_C: f64 = 15.0;

/// How a fan shows that it fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Failing {
    /// It shall turn and stands still.
    StandsStill { number: usize, target: Option<Percent> },
    /// Its speed cannot be read, though everything else can.
    Unreadable { number: usize },
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let answering: Vec<&Card> = report::answering(scene).collect();
    let unreadable = |card: &Card| matches!(failing(card, limits), Some(Failing::Unreadable { .. }));
    // A driver that can read no fan at all says nothing of any.
    let none_can_be_read = answering.len() > 1 && answering.iter().all(|card| unreadable(card));
    for card in answering {
        match failing(card, limits) {
            Some(Failing::Unreadable { .. }) if none_can_be_read => {}
            Some(failing) => findings.report(judge(scene, card, failing, limits)),
            None => report::blind_if_denied(Signal::FanSpeed, &card.fans, findings),
        }
    }
}

/// Returns how a fan of the card shows that it fails; cards without a fan of their own have none to fail.
fn failing(card: &Card, limits: &Limits) -> Option<Failing> {
    let Some(fans) = card.fans.known() else {
        // Inputs of one value for all fans: `nvidia-smi`.
        let is_unreadable = is_unknown_error(&card.fan) && card.temperature.is_known();
        return is_unreadable.then_some(Failing::Unreadable { number: 0 });
    };
    let still = fans.iter().enumerate().find_map(|(number, fan)| stands_still(card, number, fan, limits));
    let unreadable = || {
        let broken = fans.iter().position(|fan| is_unknown_error(&fan.speed))?;
        card.temperature.is_known().then_some(Failing::Unreadable { number: broken })
    };
    still.or_else(unreadable)
}

fn is_unknown_error(reading: &Reading<Percent>) -> bool {
    matches!(reading, Reading::Failed(Failure::Nvml { code: UNKNOWN, .. }))
}

fn stands_still(card: &Card, number: usize, fan: &Fan, limits: &Limits) -> Option<Failing> {
    let turns = match (fan.rpm.known(), fan.speed.known()) {
        (Some(rpm), _) => *rpm > 0,
        (None, Some(speed)) => speed.0 > 0.0,
        (None, None) => return None,
    };
    let core_c = card.temperature.known()?.last.0;
    let target = fan.target.known().or(fan.speed.known()).copied();
    let shall_turn = target.is_some_and(|target| target.0 >= TARGET_MIN) && core_c >= limits.fan_needed_c;
    // Whatever the card wants of it: so hot, no fan rests.
    let must_turn = core_c >= limits.fan_needed_c + HOT_BY_C;
    (!turns && (shall_turn || must_turn)).then_some(Failing::StandsStill { number, target })
}

fn judge(scene: &Scene, card: &Card, failing: Failing, limits: &Limits) -> Draft {
    let (summary, severity) = match failing {
        Failing::StandsStill { .. } => (text::summary(), Severity::Fault),
        Failing::Unreadable { .. } => (text::summary_unreadable(), Severity::Warn),
    };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity);
    let hot = card.temperature.known().filter(|trend| trend.last.0 >= limits.fan_needed_c);
    let strength = match failing {
        Failing::StandsStill { target: Some(target), .. } if target.0 >= TARGET_MIN => 1.0,
        Failing::StandsStill { .. } => 0.8,
        Failing::Unreadable { .. } => 0.75,
    };
    draft.agree_by(4.0, strength, evidence(scene, failing));
    if let Some(temperature) = card.temperature.known() {
        let words = text::temperature(temperature.last);
        let reader = reader(scene, Reader::Nvml);
        let evidence = once(Signal::Temperature, temperature.last.0, Unit::Celsius, reader, words);
        let evidence = with_normal(evidence, normal(Comparison::Less, limits.fan_needed_c));
        if hot.is_some() { draft.agree(1.0, evidence) } else { draft.mention(evidence) }
    }
    let others_turn = report::answering(scene)
        .filter(|other| other.index != card.index && other.name == card.name)
        .any(|other| other.fans.known().is_some_and(|fans| !fans.is_empty()) || other.fan.is_known());
    if others_turn {
        let reader = reader(scene, Reader::Nvml);
        draft.agree(0.5, once(Signal::Peers, true, Unit::Flag, reader, text::others_turn()));
    }
    let target = report::target(&draft);
    draft.advise(Action::FixCooling, target.clone(), text::fix(card.shown()));
    draft.advise(Action::MoveWork, target, text::fix_less_work());
    draft
}

fn evidence(scene: &Scene, failing: Failing) -> Evidence {
    let reader = reader(scene, Reader::Nvml);
    match failing {
        Failing::StandsStill { number, target } => {
            let words = match target.filter(|target| target.0 >= TARGET_MIN) {
                Some(target) => text::stands_still(number, target),
                None => text::stands_still_while_hot(number),
            };
            let evidence = once(Signal::FanSpeed, 0_u64, Unit::Count, reader, words);
            with_normal(evidence, normal(Comparison::Greater, 0.0))
        }
        Failing::Unreadable { number } => {
            once(Signal::FanSpeed, UNKNOWN, Unit::Code, reader, text::unreadable(number))
        }
    }
}
