//! `compute-saturated`: the card computes as fast as it can.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ClientKind;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Share, Unit};
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{busy, flag, normal, once, over, power, reader, with_normal, zeros};
use crate::facts::cards::{Activity, Holder, activity, holders, whole_cards};
use crate::facts::claims::by_others_or_kernels;
use crate::facts::culprit;
use crate::facts::effort::{as_read, power_for_work};
use crate::facts::peers::{Job, jobs};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/compute_saturated.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::ComputeSaturated,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ClockReasons,
            Signal::GpuMemoryBusy,
            Signal::GpuWorkByProcess,
            Signal::SmActive,
        ],
    },
    check,
};

/// How much is open at a power at which kernels may compute, wait for memory or wait for others.
const BETWEEN_WEIGHT: f64 = 2.0;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let jobs = jobs(scene, limits);
    for card in whole_cards(scene) {
        judge(scene, card, &jobs, limits, findings);
    }
}

fn judge(scene: &Scene, card: &Card, jobs: &[Job<'_>], limits: &Limits, findings: &mut Findings) {
    let Some(trend) = card.busy.known() else {
        if let (Some(absence), false) = (card.busy.absence(), card.known_clients().is_empty()) {
            findings.blind(Signal::GpuBusy, absence);
        }
        return;
    };
    let holders = holders(scene, card);
    if trend.mean.0 < limits.saturated_busy_percent_min {
        if !holders.is_empty() {
            findings.rule_out(Signal::GpuBusy, Some(card.index));
        }
        return;
    }
    if let Some(signal) = by_others_or_kernels(findings, card.index) {
        findings.rule_out(signal, Some(card.index));
        return;
    }
    if activity(card, limits) == Activity::Rests {
        // The counter is stuck: nobody is there who could work. A text without processes does not show that.
        if card.clients.is_known() || scene.provenance.source != SourceKind::Text {
            findings.rule_out(Signal::GpuWorkByProcess, Some(card.index));
        }
        return;
    }
    let power_share = power_for_work(card);
    let draws_little = power_share.known().is_some_and(|share| *share < limits.false_busy_power_share_max);
    if draws_little {
        // Kernels are there all the time and hardly compute: waiting inside a kernel looks like this.
        findings.rule_out(Signal::PowerRatio, Some(card.index));
        return;
    }
    let least = limits.half_multiprocessors_percent_min;
    if card.activity.sm_active.known().is_some_and(|active| active.mean.0 < least) {
        // The card itself counts that most of it has nothing to do.
        findings.rule_out(Signal::SmActive, Some(card.index));
        return;
    }
    let working: Vec<Holder<'_>> =
        holders.iter().copied().filter(|holder| holder.worked(limits) != Some(false)).collect();
    let is_one_look = trend.n < 2 && scene.provenance.source == SourceKind::Text;
    let summary = if is_one_look { text::summary_one_look() } else { text::summary() };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(Severity::Ok);
    draft.agree(3.0, busy(scene, trend, normal(Comparison::Less, limits.saturated_busy_percent_min)));
    draft.rest_on(trend);
    if trend.n > 1 && trend.zeros == 0.0 {
        draft.agree(0.5, zeros(scene, trend, None));
    } else {
        draft.silent(0.5);
    }
    weigh_power(scene, card, &power_share, limits, &mut draft);
    weigh_brakes(scene, card, limits, &mut draft);
    weigh_memory(scene, card, limits, &mut draft);
    weigh_sharing(scene, &working, limits, &mut draft);
    if power_share.known().is_some_and(|share| *share < limits.exchange_power_share_max) {
        draft.silent(BETWEEN_WEIGHT);
        if jobs.iter().any(|job| may_wait_for_others(job, &working)) {
            // A kernel of an exchange is there all the time too, and so much is drawn around it.
            draft.only_possible();
        }
    }
    draft.advise(Action::Nothing, Vec::new(), text::fix());
    if let Some(first) = working.first() {
        let (group, subject) = culprit::run_of(scene, first);
        draft = draft.group(group, subject);
    }
    let culprits = culprit::culprits(scene, &working);
    findings.report(draft.culprits(culprits, culprit::pids(&working)));
}

/// Returns whether somebody at work on a card is one of several members of a job that exchange.
fn may_wait_for_others(job: &Job<'_>, working: &[Holder<'_>]) -> bool {
    let has_others = job.members.len() > 1 || job.spans_nodes() == Some(true);
    has_others && job.is_collective() && working.iter().any(|holder| job.has(holder.client.pid))
}

/// Weighs power: real work draws it.
fn weigh_power(scene: &Scene, card: &Card, share: &Reading<f64>, limits: &Limits, draft: &mut Draft) {
    match share {
        Reading::Known(share) => {
            // From the lower limit, where it says nothing, to the upper one, where it says all.
            let (low, high) = (limits.false_busy_power_share_max, limits.saturated_power_share_min);
            let strength = (share - low) / (high - low);
            let usual = normal(Comparison::Less, as_read(card, high) * 100.0);
            draft.agree_by(3.0, strength, power(scene, card, as_read(card, *share), usual));
        }
        other => {
            if let Some(absence) = other.absence() {
                // Kernels that only wait look the same: without power, utilization hardly proves work.
                draft.unseen(6.0, Signal::PowerRatio, absence);
            }
        }
    }
    if let Some(capped) = card.reason_shares.software_power_cap.known()
        && capped.0 > limits.slowed_share_max
    {
        let words = text::power_capped(*capped);
        let evidence =
            once(Signal::ClockReasons, capped.0 * 100.0, Unit::Percent, Reader::NvmlCounters, words);
        draft.agree(1.0, over(evidence, scene.window.samples, scene.window.span_s));
    }
}

/// Weighs heat and brakes: a card that these slow down is not simply busy.
fn weigh_brakes(scene: &Scene, card: &Card, limits: &Limits, draft: &mut Draft) {
    let shares = &card.reason_shares;
    let is_felt =
        |share: &Reading<Share>| share.known().copied().filter(|share| share.0 > limits.slowed_share_max);
    let heat = is_felt(&shares.hardware_thermal).or_else(|| is_felt(&shares.software_thermal));
    let brake = is_felt(&shares.power_brake);
    let slowed = heat
        .map(|share| (share, text::slowed_by_heat(share)))
        .or_else(|| brake.map(|share| (share, text::slowed_by_brake(share))));
    if let Some((share, words)) = slowed {
        let evidence =
            once(Signal::ClockReasons, share.0 * 100.0, Unit::Percent, Reader::NvmlCounters, words);
        draft.contradict(4.0, over(evidence, scene.window.samples, scene.window.span_s));
        return;
    }
    let shows_a_brake = card.clock_reasons.known().is_some_and(|reasons| {
        use gpuwhy_model::sample::ClockReasons;
        let braking =
            ClockReasons::HARDWARE_THERMAL | ClockReasons::SOFTWARE_THERMAL | ClockReasons::POWER_BRAKE;
        reasons.0 & braking != 0
    });
    // The counters know better where they are there: a bit may have been set for a moment.
    if shows_a_brake && !shares.hardware_thermal.is_known() {
        let reader = reader(scene, Reader::Nvml);
        draft.contradict(4.0, flag(Signal::ClockReasons, reader, text::brake_is_set()));
    }
}

/// Weighs memory traffic: a card may be bound by its memory instead.
fn weigh_memory(scene: &Scene, card: &Card, limits: &Limits, draft: &mut Draft) {
    let Some(traffic) = card.memory_busy.known() else {
        return;
    };
    if traffic.mean.0 < limits.memory_bound_busy_percent_min {
        return;
    }
    let reader = reader(scene, Reader::NvmlSamples);
    let words = text::memory_busy(Percent(traffic.mean.0));
    let evidence = once(Signal::GpuMemoryBusy, traffic.mean.0, Unit::Percent, reader, words);
    let usual = normal(Comparison::Less, limits.memory_bound_busy_percent_min);
    draft.contradict(0.5, with_normal(over(evidence, traffic.n, traffic.span_s), usual));
}

/// Weighs that several programs share the card: each of them is slower than alone.
fn weigh_sharing(scene: &Scene, working: &[Holder<'_>], limits: &Limits, draft: &mut Draft) {
    // Clients of one MPS server work side by side.
    let takes_part = |holder: &&Holder<'_>| {
        holder.client.kind == ClientKind::Compute
            && holder.client.sm.known().is_some_and(|work| work.mean.0 >= limits.contention_percent_min)
    };
    let surely_working = working.iter().filter(takes_part).count();
    if surely_working > 1 {
        let reader = reader(scene, Reader::Nvml);
        let words = text::shared(surely_working);
        draft.contradict(0.5, once(Signal::GpuWorkByProcess, surely_working, Unit::Count, reader, words));
    }
}
