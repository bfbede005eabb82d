//! `starved-by-cpu`: work waits for data that the processors prepare too slowly.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::scene::{Cgroup, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Cores, Percent, Unit};

use super::waiting_card::{WaitingCard, cgroups_of, waiting_cards};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::team::LoaderKind;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/starved_by_cpu.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::StarvedByCpu,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ProcessList,
            Signal::ProcessState,
            Signal::ProcessCpu,
            Signal::ThreadCpu,
            Signal::RunDelay,
            Signal::CgroupCpu,
            Signal::HostPressure,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for waiting in waiting_cards(scene, limits, findings) {
        if waiting.team.looks() == 0 {
            findings.blind(Signal::ProcessState, Absence::Failed(Failure::TooFewSamples));
            continue;
        }
        // One busy main thread is host code, not a lack of processors.
        if waiting.team.kind == LoaderKind::MainThread {
            continue;
        }
        if waiting.processor < limits.loader_blocked_share_min {
            findings.rule_out(Signal::ThreadCpu, Some(waiting.card.index));
            continue;
        }
        if !waiting.loaders_are_the_slow_part(limits) {
            findings.rule_out(Signal::ProcessState, Some(waiting.card.index));
            continue;
        }
        findings.report(judge(scene, &waiting, limits));
    }
}

fn judge(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, waiting.card, text::summary());
    waiting.weigh_card(scene, limits, &mut draft);
    weigh_running(scene, waiting, limits, &mut draft);
    weigh_storage(scene, waiting, limits, &mut draft);
    weigh_shortage(scene, waiting, limits, &mut draft);
    draft.advise(Action::ImproveCpu, Vec::new(), text::fix_more());
    draft.advise(Action::ImproveCpu, Vec::new(), text::fix_less_work());
    waiting.finish(scene, draft)
}

/// Weighs how much of their time the loaders run or want to run.
fn weigh_running(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    let percent = Percent(waiting.processor * 100.0);
    let number = waiting.team.loaders.len();
    let words = match waiting.team.kind {
        LoaderKind::Processes => text::loaders_run(number, percent),
        LoaderKind::Threads | LoaderKind::MainThread => text::threads_run(number, percent),
    };
    let evidence = once(Signal::ProcessState, percent.0, Unit::Percent, Reader::ProcTask, words);
    let evidence = over(evidence, waiting.team.looks(), scene.window.span_s);
    let evidence = with_normal(evidence, normal(Comparison::Less, limits.loader_cores_full * 100.0));
    draft.agree_by(3.0, waiting.processor / limits.loader_cores_full, evidence);
}

/// Weighs storage: where reading takes longer than decoding, processors are not the slow part.
fn weigh_storage(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    let percent = Percent(waiting.storage * 100.0);
    let evidence = once(
        Signal::ProcessState,
        percent.0,
        Unit::Percent,
        Reader::ProcTask,
        text::waits_for_storage(percent),
    );
    let evidence = over(evidence, waiting.team.looks(), scene.window.span_s);
    if waiting.storage > waiting.processor {
        draft.contradict(1.5, evidence);
    } else {
        let strength = 1.0 - waiting.storage / waiting.processor.max(limits.loader_blocked_share_min);
        draft.agree_by(1.0, strength, evidence);
    }
}

/// Weighs why there is not more processor time: a quota, too few processors, or too few loaders.
fn weigh_shortage(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    const WEIGHT: f64 = 1.5;
    let cgroups: Vec<&Cgroup> =
        waiting.team.processes().iter().flat_map(|process| cgroups_of(scene, process)).collect();
    let throttled = cgroups
        .iter()
        .filter_map(|cgroup| Some((cgroup.cpu_throttled.known()?.0, cgroup.cpu_quota.known()?.0)))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((share, quota)) = throttled
        && share >= limits.throttled_share_notice
    {
        let percent = Percent(share * 100.0);
        let words = text::throttled(percent, Cores(quota));
        let evidence = once(Signal::CgroupCpu, percent.0, Unit::Percent, Reader::Cgroup, words);
        let usual = normal(Comparison::Less, limits.throttled_share_notice * 100.0);
        draft.agree_by(WEIGHT, share / limits.throttled_share_strong, with_normal(evidence, usual));
        draft.finding.detail.insert("limit".to_owned(), "cgroup-quota".to_owned());
        return;
    }
    let delay = waiting.team.mean(|loader| loader.run_delay.unwrap_or(0.0));
    if delay >= limits.run_delay_share_min {
        let percent = Percent(delay * 100.0);
        let evidence =
            once(Signal::RunDelay, percent.0, Unit::Percent, Reader::ProcTask, text::run_delay(percent));
        let usual = normal(Comparison::Less, limits.run_delay_share_min * 100.0);
        draft.agree(WEIGHT, with_normal(evidence, usual));
        return;
    }
    let used = waiting.team.mean(|loader| loader.cores.unwrap_or(0.0));
    if used >= limits.loader_cores_full {
        let number = waiting.team.loaders.len();
        let evidence =
            once(Signal::ThreadCpu, used, Unit::Cores, Reader::ProcTask, text::loaders_are_full(number));
        let usual = normal(Comparison::Less, limits.loader_cores_full);
        draft.agree(WEIGHT, with_normal(over(evidence, waiting.team.looks(), scene.window.span_s), usual));
        return;
    }
    if let (Some(all), Some(cpus)) = (scene.host.cores_used.known(), scene.host.cpus.known())
        && all.0 >= *cpus as f64 * limits.tree_cores_share_min
    {
        let evidence = once(
            Signal::ProcessCpu,
            all.0,
            Unit::Cores,
            Reader::ProcHost,
            text::machine_is_full(*cpus, *all),
        );
        draft.agree(WEIGHT, over(evidence, scene.window.samples, scene.window.span_s));
        return;
    }
    let pressure = scene.host.pressure.cpu_some.known().map_or(0.0, |share| share.0);
    if pressure >= limits.cpu_pressure_share_notice {
        let percent = Percent(pressure * 100.0);
        let evidence = once(
            Signal::HostPressure,
            percent.0,
            Unit::Percent,
            Reader::ProcPressure,
            text::pressure(percent),
        );
        draft.agree_by(WEIGHT, 0.5, over(evidence, scene.window.samples, scene.window.span_s));
        return;
    }
    draft.silent(WEIGHT);
}
