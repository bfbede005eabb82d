//! `thermal-throttle`: heat lowers the clocks, that of the memory included.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ClockReasons;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Celsius, Share, Unit, Watts};
use gpuwhy_model::verdict::Severity;

use super::clocks::{
    clock_evidence, felt, is_under_load, judged, lasting_reasons, megahertz, reason_evidence, seconds_lost,
    works,
};
use crate::draft::{Draft, machine_subject};
use crate::evidence::{flag, normal, once, over, reader, with_normal};
use crate::facts::apparent_heat::{ApparentHeat, apparent_heat};
use crate::facts::culprit;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use plateau::{Plateau, plateau};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/thermal_throttle.rs"));
}

mod plateau;

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::ThermalThrottle,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::ClockReasons,
            Signal::Violations,
            Signal::Temperature,
            Signal::MemoryTemperature,
            Signal::FanSpeed,
            Signal::SmClock,
            Signal::Peers,
        ],
    },
    check,
};

/// So close to its limit, a part counts as hot, in degrees Celsius.
const NEAR_C: f64 = 3.0;
/// So far from its limit, a part counts as cool, in degrees Celsius.
const FAR_C: f64 = 12.0;
/// No part is cut at a lower temperature.
const LOWEST_LIMIT_C: f64 = 40.0;
/// A card that has no margin left must be looked at so long before that means something, in seconds.
const NO_MARGIN_S: f64 = 60.0;

/// How it is known that heat lowers the clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sign {
    /// The card counts the time for which heat lowered them.
    Counted { share: Share, by_hardware: bool },
    /// The card counts the time for which heat held it back, whatever it did about it.
    HeldBack(Share),
    /// The reason is set at most looks.
    Bit { by_hardware: bool },
    /// No margin is left to the highest operating temperature.
    NoMargin(Celsius),
    /// The temperature stands still while clock and power fall.
    Plateau(Plateau),
}

impl Sign {
    /// Returns for which share of the time heat was felt, where that is counted.
    const fn share(self) -> Option<f64> {
        match self {
            Self::Counted { share, .. } | Self::HeldBack(share) => Some(share.0),
            Self::Bit { .. } | Self::NoMargin(_) | Self::Plateau(_) => None,
        }
    }
}

/// What of a card is hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Core,
    Memory,
    /// The core is cool and nobody measures the memory.
    PerhapsMemory,
    Unknown,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let mut hot: Vec<(&Card, Sign)> = Vec::new();
    for card in judged(scene) {
        match sign(card, limits) {
            Some(sign) => hot.push((card, sign)),
            None if is_under_load(card, limits) && card.reason_shares.hardware_thermal.is_known() => {
                findings.rule_out(Signal::ClockReasons, Some(card.index));
            }
            None => {
                if let Some(heat) = apparent_heat(scene, card, limits) {
                    findings.report(possible(scene, card, heat));
                }
            }
        }
    }
    let working = judged(scene).filter(|card| works(card, limits)).count();
    let is_strong = |sign: &Sign| sign.share().is_none_or(|share| share > limits.heat_share_min);
    let is_whole_box = hot.len() > 1 && hot.len() >= working && hot.iter().all(|(_, sign)| is_strong(sign));
    for (card, sign) in &hot {
        let draft = judge(scene, card, *sign, is_whole_box, limits);
        findings.report(draft);
    }
}

/// Makes the possibility that heat lowers the clocks of a card that is hot: its text does not say what lowers them.
fn possible(scene: &Scene, card: &Card, heat: ApparentHeat) -> Draft {
    let mut draft = Draft::about_card(&RULE, card, text::summary_card());
    let reader = reader(scene, Reader::Nvml);
    let evidence = once(Signal::Temperature, heat.temperature.0, Unit::Celsius, reader, heat.words(card));
    draft.agree_by(4.0, 0.5, evidence);
    draft.silent(4.0);
    draft.only_possible();
    draft
}

/// Returns how it is known that heat lowers a card's clocks; none when it does not, or nothing says so.
fn sign(card: &Card, limits: &Limits) -> Option<Sign> {
    let shares = &card.reason_shares;
    let (software, hardware) =
        (felt(&shares.software_thermal, limits), felt(&shares.hardware_thermal, limits));
    let counted = match (software, hardware) {
        (Some(software), Some(hardware)) if software.0 > hardware.0 => Some((software, true)),
        (_, Some(hardware)) => Some((hardware, true)),
        (Some(software), None) => Some((software, false)),
        (None, None) => None,
    };
    if let Some((share, by_hardware)) = counted {
        return Some(Sign::Counted { share, by_hardware });
    }
    if let Some(share) = felt(&card.violation_shares.thermal, limits) {
        return Some(Sign::HeldBack(share));
    }
    // The counters know better where they are there: a bit may have been set for a moment.
    let is_counted = shares.software_thermal.is_known() || shares.hardware_thermal.is_known();
    let reasons = lasting_reasons(card);
    let by_hardware = reasons.has(ClockReasons::HARDWARE_THERMAL);
    if !is_counted && (by_hardware || reasons.has(ClockReasons::SOFTWARE_THERMAL)) {
        return Some(Sign::Bit { by_hardware });
    }
    let margin = card.temperature_limits.margin.known();
    if let Some(margin) = margin.filter(|margin| margin.0 <= 0.0 && is_under_load(card, limits)) {
        return Some(Sign::NoMargin(*margin));
    }
    plateau(card, limits).map(Sign::Plateau)
}

/// Returns how far the core is below the temperature at which its clocks are cut, where that is known.
fn core_margin(card: &Card) -> Option<f64> {
    if let Some(margin) = card.temperature_limits.margin.known() {
        return Some(margin.0);
    }
    Some(core_limit(card)?.0 - card.temperature.known()?.max.0)
}

/// Returns the temperature from which on the core's clocks are cut.
fn core_limit(card: &Card) -> Option<Celsius> {
    let limits = &card.temperature_limits;
    absolute(&limits.operating_maximum).or(absolute(&limits.slowdown))
}

/// Returns a limit that is a temperature: newer cards give some as an offset to the highest operating temperature.
fn absolute(limit: &Reading<Celsius>) -> Option<Celsius> {
    limit.known().copied().filter(|limit| limit.0 >= LOWEST_LIMIT_C)
}

/// Returns how far the memory is below its highest operating temperature, where that is known.
fn memory_margin(card: &Card) -> Option<f64> {
    let limit = absolute(&card.temperature_limits.memory_maximum)?;
    Some(limit.0 - card.memory_temperature.known()?.max.0)
}

fn hot_part(card: &Card) -> Part {
    match (core_margin(card), memory_margin(card)) {
        (Some(core), _) if core <= NEAR_C => Part::Core,
        (_, Some(memory)) if memory <= NEAR_C => Part::Memory,
        (Some(core), None) if core >= FAR_C => Part::PerhapsMemory,
        _ => Part::Unknown,
    }
}

fn judge(scene: &Scene, card: &Card, sign: Sign, is_whole_box: bool, limits: &Limits) -> Draft {
    let part = hot_part(card);
    let summary = match part {
        _ if is_whole_box => text::summary_box(),
        Part::Core | Part::Unknown => text::summary_card(),
        Part::Memory | Part::PerhapsMemory => text::summary_memory(),
    };
    let is_little =
        sign.share().is_some_and(|share| share <= limits.heat_share_min) || matches!(sign, Sign::NoMargin(_));
    let severity = if is_little { Severity::Note } else { Severity::Warn };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity);
    weigh_sign(scene, sign, limits, &mut draft);
    weigh_temperatures(scene, card, part, &mut draft);
    if let Some(evidence) = clock_evidence(scene, card, limits.low_clocks_share_max) {
        draft.mention(evidence);
    }
    if let Some(fan) = card.fan.known() {
        let words = text::fan(*fan);
        draft.mention(once(Signal::FanSpeed, fan.0, Unit::Percent, reader(scene, Reader::Nvml), words));
    }
    draft.finding.impact.gpu_seconds = if is_little { 0.0 } else { seconds_lost(scene, card, limits) };
    if is_whole_box {
        draft.mention(flag(Signal::Peers, reader(scene, Reader::Nvml), text::all_cards_hot()));
        draft = draft.group("heat of the box".to_owned(), machine_subject(scene));
    }
    advise(card, part, is_whole_box, &mut draft);
    let (culprits, pids) = culprit::at_work_on(scene, card, limits);
    draft.culprits(culprits, pids)
}

/// Weighs what says that heat lowers the clocks.
fn weigh_sign(scene: &Scene, sign: Sign, limits: &Limits, draft: &mut Draft) {
    let usual = limits.slowed_share_max;
    match sign {
        Sign::Counted { share, by_hardware } => {
            let words = if by_hardware { text::counted_by_hardware(share) } else { text::counted(share) };
            draft.agree(4.0, reason_evidence(scene, share, usual, words));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
        Sign::HeldBack(share) => {
            let words = text::held_back(share);
            let evidence =
                once(Signal::Violations, share.0 * 100.0, Unit::Percent, Reader::NvmlCounters, words);
            let evidence = over(evidence, scene.window.samples, scene.window.span_s);
            draft.agree_by(4.0, 0.9, with_normal(evidence, normal(Comparison::AtMost, usual * 100.0)));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
        Sign::Bit { by_hardware } => {
            let words = if by_hardware { text::bit_of_hardware() } else { text::bit() };
            let evidence = flag(Signal::ClockReasons, reader(scene, Reader::Nvml), words);
            let strength = if scene.window.samples > 1 { 0.9 } else { 0.75 };
            draft.agree_by(4.0, strength, over(evidence, scene.window.samples, scene.window.span_s));
        }
        Sign::NoMargin(margin) => {
            let words = text::no_margin(margin);
            let evidence =
                once(Signal::Temperature, margin.0, Unit::Celsius, reader(scene, Reader::Nvml), words);
            draft.agree_by(4.0, 0.5, with_normal(evidence, normal(Comparison::Greater, 0.0)));
            if scene.window.span_s < NO_MARGIN_S {
                draft.possible_until(NO_MARGIN_S);
            }
        }
        Sign::Plateau(seen) => {
            let words = text::plateau(
                megahertz(seen.clock_after),
                megahertz(seen.clock_before),
                Watts(seen.power_after),
                Watts(seen.power_before),
                Celsius(seen.temperature),
            );
            let evidence = once(
                Signal::Temperature,
                seen.temperature,
                Unit::Celsius,
                reader(scene, Reader::Nvml),
                words,
            );
            draft.agree_by(4.0, 0.8, over(evidence, scene.window.samples, scene.window.span_s));
            draft.balance.rest_on(scene.window.samples, scene.window.span_s);
        }
    }
}

/// Weighs how hot core and memory are.
fn weigh_temperatures(scene: &Scene, card: &Card, part: Part, draft: &mut Draft) {
    let core = card.temperature.known().map(|trend| core_evidence(scene, card, trend.max));
    let memory = card.memory_temperature.known().map(|trend| memory_evidence(scene, card, trend.max));
    let (hot, other) = if part == Part::Memory { (memory, core) } else { (core, memory) };
    match (part, hot) {
        (Part::Core | Part::Memory, Some(hot)) => draft.agree(1.0, hot),
        (_, hot) => {
            if let Some(hot) = hot {
                draft.mention(hot);
            }
        }
    }
    if let Some(other) = other {
        draft.mention(other);
    }
    match (part, card.memory_temperature.absence()) {
        (Part::PerhapsMemory, Some(absence)) => draft.unseen(1.0, Signal::MemoryTemperature, absence),
        (Part::PerhapsMemory, None) => draft.silent(1.0),
        (Part::Unknown, _) => draft.silent(0.5),
        (Part::Core | Part::Memory, _) => {}
    }
}

fn core_evidence(scene: &Scene, card: &Card, hottest: Celsius) -> Evidence {
    let limit = core_limit(card);
    let words = match (limit, card.temperature_limits.margin.known()) {
        (Some(limit), _) => text::core_with_limit(hottest, limit),
        (None, Some(margin)) => text::core_with_margin(hottest, *margin),
        (None, None) => text::core(hottest),
    };
    let usual = limit.map(|limit| normal(Comparison::Less, limit.0));
    let reader = reader(scene, Reader::Nvml);
    with_normal(once(Signal::Temperature, hottest.0, Unit::Celsius, reader, words), usual)
}

fn memory_evidence(scene: &Scene, card: &Card, hottest: Celsius) -> Evidence {
    let limit = absolute(&card.temperature_limits.memory_maximum);
    let words = limit.map_or_else(|| text::memory(hottest), |limit| text::memory_with_limit(hottest, limit));
    let usual = limit.map(|limit| normal(Comparison::Less, limit.0));
    let reader = reader(scene, Reader::Nvml);
    with_normal(once(Signal::MemoryTemperature, hottest.0, Unit::Celsius, reader, words), usual)
}

/// Says what to look at.
fn advise(card: &Card, part: Part, is_whole_box: bool, draft: &mut Draft) {
    let target = Target { kind: SubjectKind::Card, id: draft.finding.subject.id.clone() };
    if is_whole_box {
        draft.advise(Action::FixCooling, Vec::new(), text::fix_box());
        return;
    }
    let words = match part {
        Part::Core | Part::Unknown => text::fix_card(card.shown()),
        Part::Memory | Part::PerhapsMemory => text::fix_memory(card.shown()),
    };
    draft.advise(Action::FixCooling, vec![target.clone()], words);
    draft.advise(Action::SetPowerLimit, vec![target], text::fix_less_power(card.shown()));
}
