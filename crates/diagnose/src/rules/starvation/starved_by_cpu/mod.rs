//! `starved-by-cpu`: work waits for data that the processors prepare too slowly.

mod accounted;
mod shortage;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};

use super::waiting_card::{WaitingCard, cards_with_slow_loaders};
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
            Signal::HostCpu,
            Signal::HostPressure,
            Signal::JobUsage,
        ],
    },
    check,
};

/// How much it counts that there is a reason for the lack of processor time.
const SHORTAGE_WEIGHT: f64 = 1.5;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    accounted::check(scene, limits, findings);
    let shares = |waiting: &WaitingCard<'_>| (waiting.processor, waiting.storage + waiting.processor);
    for waiting in cards_with_slow_loaders(scene, limits, findings, Signal::ThreadCpu, shares) {
        // One busy main thread is host code, not a lack of processors.
        if waiting.team.kind != LoaderKind::MainThread {
            findings.report(judge(scene, &waiting, limits));
        }
    }
}

fn judge(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, waiting.work.card, text::summary());
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

/// Weighs why there is not more processor time: a quota, few allowed processors, a hypervisor, too few loaders, or a full
/// machine. The first of them that is seen counts.
fn weigh_shortage(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    match shortage::shortage(scene, waiting, limits) {
        Some(shortage) => {
            if let Some(limit) = shortage.limit {
                draft.finding.detail.insert("limit".to_owned(), limit.to_owned());
            }
            draft.agree_by(SHORTAGE_WEIGHT, shortage.strength, shortage.evidence);
        }
        None => draft.silent(SHORTAGE_WEIGHT),
    }
}
