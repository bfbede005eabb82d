//! `memory-bandwidth-saturated`: the card moves its memory as fast as it can.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{busy, normal, once, over, power, reader, with_normal};
use crate::facts::cards::{holders_at_work, whole_cards};
use crate::facts::claims::by_others;
use crate::facts::culprit;
use crate::facts::effort::{is_kept_slow, power_for_work};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/memory_bandwidth_saturated.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::MemoryBandwidthSaturated,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::DramActive,
            Signal::GpuMemoryBusy,
            Signal::PowerRatio,
            Signal::TensorActive,
        ],
    },
    check,
};

/// Memory that is read or written for this much of the time has no room left, in percent.
const ALWAYS_IN_USE_PERCENT: f64 = 85.0;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in whole_cards(scene) {
        let is_full = card.busy.known().is_some_and(|busy| busy.mean.0 >= limits.saturated_busy_percent_min);
        if !is_full || holders_at_work(scene, card, limits).is_empty() || is_kept_slow(card, limits) {
            continue;
        }
        if let Some(signal) = by_others(findings, card.index) {
            findings.rule_out(signal, Some(card.index));
            continue;
        }
        judge(scene, card, limits, findings);
    }
}

fn judge(scene: &Scene, card: &Card, limits: &Limits, findings: &mut Findings) {
    let Some(trend) = card.busy.known() else {
        return;
    };
    let mut draft = Draft::about_card(&RULE, card, text::summary()).severity(Severity::Ok);
    draft.agree(1.5, busy(scene, trend, normal(Comparison::Less, limits.saturated_busy_percent_min)));
    draft.rest_on(trend);
    let is_by_memory = match card.activity.dram_active.known() {
        Some(active) => weigh_interface(active, limits, &mut draft),
        None => weigh_time(scene, card, limits, &mut draft),
    };
    if let Err(signal) = is_by_memory {
        findings.rule_out(signal, Some(card.index));
        return;
    }
    weigh_tensor(card, limits, &mut draft);
    draft.advise(Action::Nothing, Vec::new(), text::fix_nothing());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_fewer_bytes());
    let working = holders_at_work(scene, card, limits);
    if let Some(first) = working.first() {
        let (group, subject) = culprit::run_of(scene, first);
        draft = draft.group(group, subject);
    }
    let culprits = culprit::culprits(scene, &working);
    findings.report(draft.culprits(culprits, culprit::pids(&working)));
}

/// Weighs the card's own counter of its memory interface; the signal that excludes the cause where it does.
fn weigh_interface(active: &Trend<Percent>, limits: &Limits, draft: &mut Draft) -> Result<(), Signal> {
    if active.mean.0 < limits.dram_bound_percent_min {
        return Err(Signal::DramActive);
    }
    let words = text::interface_active(active.mean);
    let evidence = once(Signal::DramActive, active.mean.0, Unit::Percent, Reader::NvmlGpm, words);
    let usual = normal(Comparison::Less, limits.dram_bound_percent_min);
    draft.agree(4.0, with_normal(over(evidence, active.n, active.span_s), usual));
    draft.rest_on(active);
    Ok(())
}

/// Weighs for how much of the time memory was in use, and power, where the card does not count its interface: time is
/// not bandwidth, so that both must agree.
fn weigh_time(scene: &Scene, card: &Card, limits: &Limits, draft: &mut Draft) -> Result<(), Signal> {
    let in_use = card.memory_busy.known().ok_or(Signal::GpuMemoryBusy)?;
    if in_use.mean.0 < limits.memory_bound_busy_percent_min {
        return Err(Signal::GpuMemoryBusy);
    }
    let Reading::Known(ratio) = card.power_ratio() else {
        return Err(Signal::PowerRatio);
    };
    let (low, high) = (limits.false_busy_power_share_max, limits.memory_bound_power_share_max);
    // Memory that is in use nearly all of the time is the limit, even where arithmetic takes its part.
    let is_in_use_always = in_use.mean.0 >= ALWAYS_IN_USE_PERCENT;
    let draws_little = power_for_work(card).known().is_some_and(|share| *share < low);
    if draws_little || ratio > high && !is_in_use_always {
        return Err(Signal::PowerRatio);
    }
    // From the lower limit, where traffic is heavy, to all of the time.
    let strength = 0.6 + 0.4 * (in_use.mean.0 - limits.memory_bound_busy_percent_min) / 30.0;
    let words = text::memory_in_use(in_use.mean);
    let reader = reader(scene, Reader::NvmlSamples);
    let evidence = once(Signal::GpuMemoryBusy, in_use.mean.0, Unit::Percent, reader, words);
    let usual = normal(Comparison::Less, limits.memory_bound_busy_percent_min);
    draft.agree_by(3.0, strength, with_normal(over(evidence, in_use.n, in_use.span_s), usual));
    draft.rest_on(in_use);
    if ratio <= high {
        draft.agree(1.5, power(scene, card, ratio, normal(Comparison::Greater, high * 100.0)));
    } else {
        draft.contradict(0.5, power(scene, card, ratio, None));
    }
    if let Some(absence) = card.activity.dram_active.absence() {
        draft.unseen(1.0, Signal::DramActive, absence);
    }
    Ok(())
}

/// Weighs the matrix units: where they work hard, arithmetic is at least as much the limit.
fn weigh_tensor(card: &Card, limits: &Limits, draft: &mut Draft) {
    let Some(active) = card.activity.tensor_active.known() else {
        return;
    };
    let words = text::tensor_active(active.mean);
    let evidence = once(Signal::TensorActive, active.mean.0, Unit::Percent, Reader::NvmlGpm, words);
    let evidence = over(evidence, active.n, active.span_s);
    if active.mean.0 < limits.tensor_low_percent_max {
        draft.agree(1.0, with_normal(evidence, normal(Comparison::AtLeast, limits.tensor_low_percent_max)));
    } else {
        draft.contradict(1.0, evidence);
    }
}
