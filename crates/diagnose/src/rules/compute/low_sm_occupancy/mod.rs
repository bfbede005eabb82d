//! `low-sm-occupancy`: kernels run all the time, on few of the card's multiprocessors.

mod context;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, flag, memory_used, normal, once, over, power, with_normal};
use crate::facts::cards::{Holder, holders_at_work, is_worth_naming, whole_cards, why_not_in_proc};
use crate::facts::claims::by_others;
use crate::facts::culprit;
use crate::facts::effort::{HollowCard, as_read, hollow, lost_share};
use crate::facts::hot::own_threads;
use crate::facts::peers::{Job, jobs};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/low_sm_occupancy.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::LowSmOccupancy,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::SmActive,
            Signal::PowerRatio,
            Signal::ThreadCpu,
            Signal::VramUsed,
        ],
    },
    check,
};

/// One kernel that never ends leaves no trace in the utilization: it varies by no more than this, in percent.
const FLAT_PERCENT: f64 = 1.0;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let jobs = jobs(scene, limits);
    for card in whole_cards(scene) {
        let working = holders_at_work(scene, card, limits);
        if working.is_empty() && !context::is_alone(scene, card, limits) {
            continue;
        }
        let low_power = limits.false_busy_power_share_max;
        let Some(hollow) = hollow(scene, card, limits.saturated_busy_percent_min, low_power, limits) else {
            continue;
        };
        if let Some(signal) = by_others(findings, card.index) {
            findings.rule_out(signal, Some(card.index));
            continue;
        }
        // Members that wait for each other fill few multiprocessors too: another cause.
        let is_waiting_member = jobs.iter().any(|job| may_wait_for_others(job, &working));
        if is_waiting_member {
            findings.rule_out(Signal::Peers, Some(card.index));
            continue;
        }
        match card.activity.sm_active.known() {
            Some(active) if active.mean.0 >= limits.half_multiprocessors_percent_min => {
                findings.rule_out(Signal::SmActive, Some(card.index));
            }
            active => judge(scene, &hollow, &working, active, limits, findings),
        }
    }
}

/// Returns whether somebody at work on a card is a member of a job of several that exchange, or may.
fn may_wait_for_others(job: &Job<'_>, working: &[Holder<'_>]) -> bool {
    let is_of_job = working.iter().any(|holder| job.has(holder.client.pid));
    // Of a text nobody can say whether equals belong together.
    is_of_job && (job.is_collective() || !job.is_certain && job.members.len() > 1)
}

fn judge(
    scene: &Scene,
    hollow: &HollowCard<'_>,
    working: &[Holder<'_>],
    active: Option<&Trend<Percent>>,
    limits: &Limits,
    findings: &mut Findings,
) {
    let is_one_hot = working
        .iter()
        .filter_map(|holder| holder.process)
        .any(|process| own_threads(process, limits).is_some_and(|own| own.is_one_hot()));
    if is_one_hot {
        // It may only wait in a loop; but whoever launches many small kernels looks so, and more often.
        findings.rule_out(Signal::ThreadCpu, Some(hollow.card.index));
        return;
    }
    let few = limits.few_multiprocessors_percent_max;
    let summary = match active {
        Some(active) if active.mean.0 >= few => text::summary_poor(),
        _ => text::summary(),
    };
    let mut draft = Draft::about_card(&RULE, hollow.card, summary);
    let usual = normal(Comparison::Less, limits.saturated_busy_percent_min);
    draft.agree(1.5, busy(scene, hollow.busy, usual));
    draft.rest_on(hollow.busy);
    // Power is seen only while one looks.
    draft.balance.rest_on(scene.window.samples, scene.window.span_s);
    match active {
        Some(active) => weigh_activity(active, limits, &mut draft),
        None if hollow.effort.above_idle > limits.few_multiprocessors_power_share_max => {
            findings.rule_out(Signal::PowerRatio, Some(hollow.card.index));
            return;
        }
        None if is_memory_in_use(hollow, limits) => {
            findings.rule_out(Signal::GpuMemoryBusy, Some(hollow.card.index));
            return;
        }
        None => weigh_signs(scene, hollow, working, limits, &mut draft),
    }
    let strength = 1.0 - hollow.effort.above_idle / limits.false_busy_power_share_max;
    let usual = normal(Comparison::AtLeast, as_read(hollow.card, limits.false_busy_power_share_max) * 100.0);
    draft.agree_by(2.0, 0.5 + strength / 2.0, power(scene, hollow.card, hollow.effort.of_limit, usual));
    draft.finding.impact = Impact {
        gpu_seconds: scene.window.span_s * lost_share(&hollow.effort, limits),
        bytes_held: 0,
        blocked: 0,
    };
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_profile());
    draft.advise(Action::ConfigureMig, Vec::new(), text::fix_share());
    if let Some(first) = working.first() {
        let (group, subject) = culprit::run_of(scene, first);
        draft = draft.group(group, subject);
    }
    let culprits = culprit::culprits(scene, working);
    findings.report(draft.culprits(culprits, culprit::pids(working)));
}

/// Returns whether a card's memory is in use most of the time: kernels on a few multiprocessors cannot do that.
fn is_memory_in_use(hollow: &HollowCard<'_>, limits: &Limits) -> bool {
    let in_use = hollow.card.memory_busy.known();
    in_use.is_some_and(|in_use| in_use.mean.0 >= limits.memory_bound_busy_percent_min)
}

/// Weighs the card's own counter of multiprocessors with work.
fn weigh_activity(active: &Trend<Percent>, limits: &Limits, draft: &mut Draft) {
    let (few, half) = (limits.few_multiprocessors_percent_max, limits.half_multiprocessors_percent_min);
    let strength = ((half - active.mean.0) / (half - few)).clamp(0.2, 1.0);
    let words = text::multiprocessors(active.mean);
    let evidence = once(Signal::SmActive, active.mean.0, Unit::Percent, Reader::NvmlGpm, words);
    let evidence = with_normal(over(evidence, active.n, active.span_s), normal(Comparison::AtLeast, half));
    draft.agree_by(4.0, strength, evidence);
    draft.rest_on(active);
}

/// Weighs what else speaks for one small kernel that never ends, where the card does not count its multiprocessors.
fn weigh_signs(
    scene: &Scene,
    hollow: &HollowCard<'_>,
    working: &[Holder<'_>],
    limits: &Limits,
    draft: &mut Draft,
) {
    if let Some(absence) = hollow.card.activity.sm_active.absence() {
        draft.unseen(3.0, Signal::SmActive, absence);
    }
    let trend = hollow.busy;
    if trend.n > 1 && trend.stddev.0 <= FLAT_PERCENT {
        let mut evidence = busy(scene, trend, None);
        evidence.signal = Signal::GpuBusyShape;
        evidence.text = text::flat();
        draft.agree(1.0, evidence);
    } else {
        draft.silent(1.0);
    }
    let is_small =
        hollow.card.memory.known().is_some_and(|memory| !is_worth_naming(memory.used, hollow.card, limits));
    if let (true, Some(memory)) = (is_small, hollow.card.memory.known()) {
        draft.agree(0.5, memory_used(scene, memory.used, memory.total));
    } else {
        draft.silent(0.5);
    }
    let hottest = working
        .iter()
        .filter_map(|holder| own_threads(holder.process?, limits))
        .max_by(|one, other| one.hottest.total_cmp(&other.hottest));
    match hottest {
        Some(own) if own.hottest <= limits.other_threads_cores_max => {
            draft.agree(1.0, flag(Signal::ThreadCpu, Reader::ProcTask, text::no_hot_thread()));
        }
        Some(_) => draft.silent(1.0),
        None => {
            draft.unseen(1.0, Signal::ThreadCpu, why_not_in_proc(scene));
            if !is_small {
                // A model in memory and nobody seen: a member of a job on several machines looks the same.
                draft.only_possible();
            }
        }
    }
}
