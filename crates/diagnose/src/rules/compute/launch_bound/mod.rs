//! `launch-bound`: many small kernels, and one host thread that launches them as fast as it can.

mod traced;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, normal, once, over, power, reader, with_normal, zeros};
use crate::facts::cards::{Holder, holders_at_work, whole_cards, why_not_in_proc};
use crate::facts::claims::by_others;
use crate::facts::effort::{HollowCard, as_read, hollow, lost_share};
use crate::facts::hot::{OwnThreads, own_threads};
use crate::facts::peers::{Job, job_of, jobs};
use crate::facts::{culprit, exchange, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/launch_bound.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::LaunchBound,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ThreadCpu,
            Signal::SmActive,
            Signal::DramActive,
            Signal::GpuMemoryBusy,
            Signal::NvLinkTraffic,
            Signal::PcieTraffic,
            Signal::Trace,
        ],
    },
    check,
};

/// Between small kernels the card rests now and then: utilization that never leaves this is one long kernel.
const ALWAYS_PERCENT: f64 = 99.5;
/// A card that rests for less time than this mostly has kernels of some length: whoever waits for them in a loop, as CUDA
/// does by default, is as hot as whoever launches.
const HARDLY_RESTS_PERCENT: f64 = 97.0;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    traced::check(scene, limits, findings);
    let jobs = jobs(scene, limits);
    for card in whole_cards(scene) {
        let working = holders_at_work(scene, card, limits);
        let least = limits.host_code_busy_percent_max;
        let Some(hollow) = hollow(scene, card, least, limits.launch_power_share_max, limits) else {
            continue;
        };
        if working.is_empty() {
            continue;
        }
        if let Some(signal) = by_others(findings, card.index) {
            findings.rule_out(signal, Some(card.index));
            continue;
        }
        // Gaps that the samples show are too long for a launch: the host does something else in them.
        if hollow.busy.zeros >= limits.starved_zeros_share_min {
            findings.rule_out(Signal::GpuBusyShape, Some(card.index));
            continue;
        }
        let sm_active = card.activity.sm_active.known();
        if sm_active.is_some_and(|active| active.mean.0 >= limits.half_multiprocessors_percent_min) {
            findings.rule_out(Signal::SmActive, Some(card.index));
            continue;
        }
        let dram_active = card.activity.dram_active.known();
        if dram_active.is_some_and(|active| active.mean.0 >= limits.dram_bound_percent_min) {
            findings.rule_out(Signal::DramActive, Some(card.index));
            continue;
        }
        judge(scene, &hollow, &working, job_of(&jobs, &working), limits, findings);
    }
}

fn judge(
    scene: &Scene,
    hollow: &HollowCard<'_>,
    working: &[Holder<'_>],
    job: Option<&Job<'_>>,
    limits: &Limits,
    findings: &mut Findings,
) {
    let index = hollow.card.index;
    let processes: Vec<_> = working.iter().filter_map(|holder| holder.process).collect();
    if processes.is_empty() {
        findings.blind(Signal::ThreadCpu, why_not_in_proc(scene));
        return;
    }
    let seen: Vec<OwnThreads> = processes.iter().filter_map(|process| own_threads(process, limits)).collect();
    if seen.is_empty() {
        let absence = processes[0].threads.absence().unwrap_or(Absence::Failed(Failure::TooFewSamples));
        findings.blind(Signal::ThreadCpu, absence);
        return;
    }
    let Some(hot) = seen.iter().find(|own| own.is_one_hot()) else {
        findings.rule_out(Signal::ThreadCpu, Some(index));
        return;
    };
    let mut draft = Draft::about_card(&RULE, hollow.card, text::summary());
    let trend = hollow.busy;
    draft.agree(1.0, busy(scene, trend, None));
    draft.rest_on(trend);
    // Power and threads are seen only while one looks.
    draft.balance.rest_on(scene.window.samples, scene.window.span_s);
    if trend.mean.0 < ALWAYS_PERCENT {
        draft.agree(
            1.0,
            zeros(scene, trend, normal(Comparison::AtLeast, limits.starved_zeros_share_min * 100.0)),
        );
    } else {
        draft.silent(1.0);
    }
    let usual = normal(Comparison::AtLeast, as_read(hollow.card, limits.launch_power_share_max) * 100.0);
    draft.agree(2.0, power(scene, hollow.card, hollow.effort.of_limit, usual));
    let percent = Percent(hot.hottest.min(1.0) * 100.0);
    let words = text::hot_thread(hot.name.as_str(), percent);
    let evidence = once(Signal::ThreadCpu, percent.0, Unit::Percent, Reader::ProcTask, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    draft.agree(3.0, with_normal(evidence, normal(Comparison::Less, limits.hot_thread_cores_min * 100.0)));
    weigh_activity(hollow, limits, &mut draft);
    weigh_memory(scene, hollow, limits, &mut draft);
    weigh_loops(hollow, &processes, &mut draft);
    weigh_job(hollow, job, limits, &mut draft);
    draft.finding.impact = Impact {
        gpu_seconds: scene.window.span_s * lost_share(&hollow.effort, limits),
        bytes_held: 0,
        blocked: 0,
    };
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_fewer_launches());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_profile());
    if let Some(first) = working.first() {
        let (group, subject) = culprit::run_of(scene, first);
        draft = draft.group(group, subject);
    }
    let culprits = culprit::culprits(scene, working);
    findings.report(draft.culprits(culprits, culprit::pids(working)));
}

/// Weighs how many multiprocessors have work: small kernels fill few.
fn weigh_activity(hollow: &HollowCard<'_>, limits: &Limits, draft: &mut Draft) {
    match hollow.card.activity.sm_active.known() {
        Some(active) if active.mean.0 < limits.few_multiprocessors_percent_max => {
            let words = text::multiprocessors(active.mean);
            let evidence = once(Signal::SmActive, active.mean.0, Unit::Percent, Reader::NvmlGpm, words);
            let usual = normal(Comparison::AtLeast, limits.half_multiprocessors_percent_min);
            draft.agree(1.5, with_normal(over(evidence, active.n, active.span_s), usual));
        }
        Some(_) => draft.silent(1.5),
        None => {
            if let Some(absence) = hollow.card.activity.sm_active.absence() {
                draft.unseen(0.5, Signal::SmActive, absence);
            }
        }
    }
}

/// Weighs memory traffic: small kernels with rests between them leave the memory alone most of the time.
fn weigh_memory(scene: &Scene, hollow: &HollowCard<'_>, limits: &Limits, draft: &mut Draft) {
    let heavy = limits.memory_bound_busy_percent_min;
    let Some(in_use) = hollow.card.memory_busy.known().filter(|in_use| in_use.mean.0 >= heavy) else {
        return;
    };
    let words = text::memory_in_use(in_use.mean);
    let reader = reader(scene, Reader::NvmlSamples);
    let evidence = once(Signal::GpuMemoryBusy, in_use.mean.0, Unit::Percent, reader, words);
    draft.contradict(2.0, over(evidence, in_use.n, in_use.span_s));
}

/// Weighs that the hot thread may wait in a loop, where the card does not count how full its multiprocessors are: workers
/// of model servers ask for requests in a loop, and read their weights once for every token.
fn weigh_loops(hollow: &HollowCard<'_>, processes: &[&Process], draft: &mut Draft) {
    if hollow.card.activity.sm_active.is_known() {
        return;
    }
    if processes.iter().any(|process| names::is_server(process)) {
        draft.silent(3.0);
        draft.only_possible();
    } else if hollow.busy.mean.0 >= HARDLY_RESTS_PERCENT {
        draft.silent(2.0);
    }
}

/// Weighs that a member of a job may wait for others instead, in a loop on the host and on the card.
fn weigh_job(hollow: &HollowCard<'_>, job: Option<&Job<'_>>, limits: &Limits, draft: &mut Draft) {
    let Some(job) = job.filter(|job| job.is_collective()) else {
        return;
    };
    if !job.has_exchange_threads() {
        draft.silent(0.5);
        return;
    }
    let ways = [exchange::nvlink(hollow.card), exchange::pcie(hollow.card)];
    let busiest = ways
        .into_iter()
        .flatten()
        .max_by(|one, other| one.share.unwrap_or(0.0).total_cmp(&other.share.unwrap_or(0.0)));
    let share = busiest.as_ref().and_then(|way| way.share);
    if let (Some(way), Some(share)) = (&busiest, share)
        && share >= limits.exchange_link_share_notice
    {
        let percent = Percent(share * 100.0);
        let words = text::exchanges(percent);
        draft.contradict(1.5, once(way.signal(), percent.0, Unit::Percent, way.reader(), words));
        return;
    }
    // Everybody is here, the exchange moves, and no link holds it back: then it is not what takes the time.
    let moves = busiest.is_some_and(|way| !way.is_quiet(limits));
    if moves && job.spans_nodes() == Some(false) {
        draft.silent(0.5);
        return;
    }
    draft.silent(3.0);
    // What waits on other machines cannot be seen from here; its kernels and its threads spin all the same.
    let waits_elsewhere =
        job.spans_nodes() != Some(false) && hollow.busy.mean.0 >= limits.saturated_busy_percent_min;
    if waits_elsewhere || hollow.busy.mean.0 >= ALWAYS_PERCENT {
        draft.only_possible();
    }
}
