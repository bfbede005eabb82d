//! Jobs of which only the scheduler's accounting is known: one busy core for each card that rests.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;

use super::{RULE, text};
use crate::facts::cluster::used;
use crate::findings::Findings;
use crate::rules::starvation::starved_by_cpu::one_core_for_each;

/// Cards that work less than this, on the mean of a whole run, wait for something.
const GPU_PERCENT_MAX: f64 = 60.0;

/// Reports jobs in which one core for each card was busy, of more that were given.
pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for job in used(scene) {
        if job.gpu.0 > GPU_PERCENT_MAX || job.gpu.0 <= limits.idle_percent_max || !one_core_for_each(&job) {
            continue;
        }
        let mut draft = job.draft(&RULE, text::summary_job());
        draft.agree(2.0, job.gpu_evidence());
        if let Some(evidence) = job.cpu_evidence() {
            draft.agree_by(2.0, 0.5, evidence);
        }
        // Loaders may as well be what keeps that core busy.
        draft.silent(4.5);
        draft.advise(Action::LookAgain, Vec::new(), text::fix_look_at_job());
        findings.report(draft);
    }
}
