//! Jobs of which only the scheduler's accounting is known: cards at rest beside busy processors.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;

use super::{RULE, text};
use crate::facts::cluster::{Used, used};
use crate::findings::Findings;

/// Cards that work less than this, on the mean of a whole run, wait for something.
const GPU_PERCENT_MAX: f64 = 60.0;
/// Processors that work this much, on the mean of a whole run, are full most of the time: starts and pauses count too.
const CPU_SHARE_MIN: f64 = 0.55;
/// One core for each card is a main process that does everything itself.
const ONE_CORE: std::ops::RangeInclusive<f64> = 0.7..=1.4;

/// Reports jobs whose cards rest while the processors that they were given are busy.
pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for job in used(scene) {
        if job.gpu.0 > GPU_PERCENT_MAX || job.gpu.0 <= limits.idle_percent_max {
            continue;
        }
        let all_are_busy = job.cpu_share().is_some_and(|share| share >= CPU_SHARE_MIN);
        if all_are_busy || one_core_for_each(&job) {
            report(&job, all_are_busy, findings);
        }
    }
}

/// Returns whether just one core for each card was busy, of more that were given.
pub(in crate::rules::starvation) fn one_core_for_each(job: &Used<'_>) -> bool {
    let share = job.cpu_share().unwrap_or(1.0);
    job.cores_per_card().is_some_and(|cores| ONE_CORE.contains(&cores)) && share < CPU_SHARE_MIN
}

fn report(job: &Used<'_>, all_are_busy: bool, findings: &mut Findings) {
    let mut draft = job.draft(&RULE, text::summary_job());
    draft.agree(2.0, job.gpu_evidence());
    if let Some(mut evidence) = job.cpu_evidence() {
        if !all_are_busy && let Some(cores) = job.cores_per_card() {
            evidence.text = text::one_core_for_each(gpuwhy_model::units::Cores(cores));
        }
        draft.agree_by(2.0, if all_are_busy { 1.0 } else { 0.8 }, evidence);
    }
    // A mean over the whole run shows neither pauses nor what the cores did.
    draft.silent(4.0);
    draft.advise(Action::ImproveCpu, Vec::new(), text::fix_job());
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look_at_job());
    findings.report(draft);
}
