//! `hw-slowdown`: a brake from outside, or a protection of the hardware other than heat, lowers the clocks.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::ClockReasons;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Share, Unit};
use gpuwhy_model::verdict::Severity;

use super::clocks::{
    clock_evidence, clock_share, felt, is_under_load, judged, lasting_reasons, reason_evidence, seconds_lost,
};
use crate::draft::{Draft, machine_subject};
use crate::evidence::{flag, once, over, reader};
use crate::facts::culprit;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/hw_slowdown.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::HwSlowdown,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::ClockReasons, Signal::SmClock, Signal::Temperature, Signal::Peers],
    },
    check,
};

/// The hardware halves the clocks or more.
const HALVED: f64 = 0.7;

/// What brakes a card.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Brake {
    /// The brake from outside, counted.
    Counted(Share),
    /// The brake from outside, set at most looks.
    Bit,
    /// The hardware's own protection, without heat and without the brake, set at most looks.
    Protection,
}

impl Brake {
    const fn is_from_outside(self) -> bool {
        matches!(self, Self::Counted(_) | Self::Bit)
    }
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let braked: Vec<(&Card, Brake)> =
        judged(scene).filter_map(|card| Some((card, brake(scene, card, limits)?))).collect();
    let all = judged(scene).count();
    let is_chassis =
        all > 1 && braked.len() == all && braked.iter().all(|(_, brake)| brake.is_from_outside());
    for (card, brake) in &braked {
        findings.report(judge(scene, card, *brake, is_chassis, limits));
    }
}

fn brake(scene: &Scene, card: &Card, limits: &Limits) -> Option<Brake> {
    let shares = &card.reason_shares;
    if let Some(share) = felt(&shares.power_brake, limits) {
        return Some(Brake::Counted(share));
    }
    let reasons = lasting_reasons(card);
    if !shares.power_brake.is_known() && reasons.has(ClockReasons::POWER_BRAKE) {
        return Some(Brake::Bit);
    }
    let heat = ClockReasons::HARDWARE_THERMAL | ClockReasons::SOFTWARE_THERMAL;
    let is_for_heat = reasons.0 & heat != 0
        || felt(&shares.hardware_thermal, limits).is_some()
        || felt(&shares.software_thermal, limits).is_some();
    if !reasons.has(ClockReasons::HARDWARE_SLOWDOWN) || is_for_heat || reasons.has(ClockReasons::POWER_BRAKE)
    {
        return None;
    }
    // A change of the P-state may set the bit at one look; at one look, the clocks must show it too.
    let is_lasting = scene.window.samples > 2 || clock_share(card).is_some_and(|share| share < HALVED);
    (is_lasting && is_under_load(card, limits)).then_some(Brake::Protection)
}

fn judge(scene: &Scene, card: &Card, brake: Brake, is_chassis: bool, limits: &Limits) -> Draft {
    let summary = match brake {
        _ if is_chassis => text::summary_chassis(),
        Brake::Counted(_) | Brake::Bit => text::summary_brake(),
        Brake::Protection => text::summary_protection(),
    };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(Severity::Warn);
    let reader = reader(scene, Reader::Nvml);
    match brake {
        Brake::Counted(share) => {
            let words = text::counted(share);
            draft.agree(4.0, reason_evidence(scene, share, limits.slowed_share_max, words));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
        Brake::Bit => {
            let evidence = flag(Signal::ClockReasons, reader, text::bit());
            let strength = if scene.window.samples > 1 { 0.9 } else { 0.8 };
            draft.agree_by(4.0, strength, over(evidence, scene.window.samples, scene.window.span_s));
        }
        Brake::Protection => {
            let evidence = flag(Signal::ClockReasons, reader, text::protection());
            let strength = if scene.window.samples > 2 { 0.8 } else { 0.6 };
            draft.agree_by(4.0, strength, over(evidence, scene.window.samples, scene.window.span_s));
        }
    }
    if let Some(evidence) = clock_evidence(scene, card, limits.low_clocks_share_max) {
        let is_slow = is_under_load(card, limits) && clock_share(card).is_some_and(|share| share < HALVED);
        if is_slow { draft.agree(1.0, evidence) } else { draft.mention(evidence) }
    }
    if let Some(temperature) = card.temperature.known() {
        let words = text::cool(temperature.max);
        draft.mention(once(Signal::Temperature, temperature.max.0, Unit::Celsius, reader, words));
    }
    draft.finding.impact.gpu_seconds = seconds_lost(scene, card, limits);
    if is_chassis {
        draft.mention(flag(Signal::Peers, reader, text::all_cards()));
        draft = draft.group("chassis".to_owned(), machine_subject(scene));
    }
    let target = Target { kind: SubjectKind::Card, id: draft.finding.subject.id.clone() };
    if is_chassis {
        draft.advise(Action::ServiceHardware, Vec::new(), text::fix_chassis());
    } else {
        draft.advise(Action::ServiceHardware, vec![target], text::fix_card(card.shown()));
    }
    let (culprits, pids) = culprit::at_work_on(scene, card, limits);
    draft.culprits(culprits, pids)
}
