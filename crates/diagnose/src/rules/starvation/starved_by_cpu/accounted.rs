//! Jobs of which only the scheduler's accounting is known: cards at rest beside busy processors.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Job, JobPhase, Scene, Scheduler};
use gpuwhy_model::units::Cores;

use super::{RULE, text};
use crate::facts::cluster::{Used, used};
use crate::findings::Findings;

/// Cards that work less than this, on the mean of a whole run, wait for something.
const GPU_PERCENT_MAX: f64 = 60.0;
/// Processors that work this much, on the mean of a whole run, are full most of the time: starts and pauses count too.
const CPU_SHARE_MIN: f64 = 0.55;
/// One core for each card is most often a main process that does everything itself.
const ONE_CORE: std::ops::RangeInclusive<f64> = 0.7..=1.4;

/// Reports jobs whose cards rest while the processors that they were given are busy, or just one of them for each card.
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
fn one_core_for_each(job: &Used<'_>) -> bool {
    let share = job.cpu_share().unwrap_or(1.0);
    job.cores_per_card().is_some_and(|cores| ONE_CORE.contains(&cores)) && share < CPU_SHARE_MIN
}

fn report(job: &Used<'_>, all_are_busy: bool, findings: &mut Findings) {
    let summary = match job.cpus.zip(job.cores_per_card()) {
        Some(((given, busy), each)) if !all_are_busy => {
            text::summary_job_rests(busy, Cores(each), given, job.gpu)
        }
        _ => text::summary_job(),
    };
    let mut draft = job.draft(&RULE, summary);
    draft.agree(2.0, job.gpu_evidence());
    if let Some(evidence) = job.cpu_evidence() {
        draft.agree_by(2.0, if all_are_busy { 1.0 } else { 0.8 }, evidence);
    }
    // A mean over the whole run shows neither pauses nor what the cores did.
    draft.silent(4.0);
    match job.cpus {
        // What it has is mostly idle: more of it would not help.
        Some((given, _)) if !all_are_busy => {
            let each = Cores(given.0 / job.cards.max(1) as f64);
            draft.advise(Action::ImproveProgram, Vec::new(), text::fix_use_cores(each));
        }
        _ => draft.advise(Action::ImproveCpu, Vec::new(), text::fix_job()),
    }
    if job.job.scheduler == Scheduler::Slurm {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_look_at_job(id_for_a_shell(job.job)));
    }
    findings.report(draft);
}

/// Returns the job's number, if it still runs and a shell takes the number as it is; else a word to be replaced.
fn id_for_a_shell(job: &Job) -> &str {
    let is_over = job.phase.known().is_some_and(|phase| *phase != JobPhase::Running);
    let is_plain = job.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.+".contains(&byte));
    if is_over || !is_plain || job.id.is_empty() { "JOB" } else { &job.id }
}
