//! Jobs of which only the scheduler's accounting is known: cards that were given and never used.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, Scene};

use super::{RULE, text};
use crate::facts::cluster::used;
use crate::findings::Findings;

/// Reports jobs whose cards did nothing over a run that was long enough to see it.
pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for job in used(scene) {
        let is_long = job.job.elapsed.known().is_some_and(|elapsed| elapsed.0 >= limits.idle_reserved_s);
        if job.gpu.0 > limits.idle_percent_max || !is_long {
            continue;
        }
        let is_running = job.job.phase == Reading::Known(JobPhase::Running);
        let summary = if is_running { text::summary_job() } else { text::summary_job_ended() };
        let mut draft = job.draft(&RULE, summary);
        draft.agree(3.0, job.gpu_evidence());
        match job.cpu_evidence() {
            Some(evidence) => draft.mention(evidence),
            None => draft.silent(0.5),
        }
        // The program may compute on processors by mistake, or its owner may be away.
        draft.silent(if is_running { 1.5 } else { 2.5 });
        draft.advise(Action::AskOwner, Vec::new(), text::fix_job());
        findings.report(draft);
    }
}
