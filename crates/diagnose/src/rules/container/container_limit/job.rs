//! Jobs that their scheduler ended because they needed more memory than they were given.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Subject};

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::reader_of;
use crate::facts::culprit;
use crate::findings::Findings;

/// Reports jobs in the state "out of memory".
pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    for job in scene.jobs.iter().filter(|job| job.phase == Reading::Known(JobPhase::OutOfMemory)) {
        findings.report(judge(job));
    }
}

fn judge(job: &Job) -> Draft {
    let id = job.id.clone();
    let subject = Subject { kind: SubjectKind::Job, id: id.clone(), name: id.clone() };
    let mut draft =
        Draft::new(&RULE, subject, format!("job {id} memory"), Vec::new(), text::summary_job_memory());
    draft = draft.culprits(vec![culprit::of_job(job)], Vec::new());
    draft.balance.past_decides = true;
    draft.finding.impact = Impact { blocked: 1, ..Impact::default() };
    draft.finding.detail.insert("limit".to_owned(), "memory".to_owned());
    let reader = reader_of(job.scheduler);
    let state = job.state.known().cloned().unwrap_or_else(|| JobPhase::OutOfMemory.id().to_owned());
    draft.agree(
        4.0,
        once(Signal::JobState, state.as_str(), Unit::Text, reader, text::job_state(state.as_str())),
    );
    let given = job.given.memory.known().or(job.asked.memory.known()).or(job.asked_per_node.memory.known());
    match (given, job.usage.memory.known()) {
        (Some(given), Some(used)) => {
            // Accounting looks now and then: the last rise is often missing.
            let words = text::job_memory(*given, *used);
            draft.mention(once(Signal::JobUsage, used.0, Unit::Bytes, reader, words));
        }
        (Some(given), None) => {
            draft.mention(once(
                Signal::JobRequest,
                given.0,
                Unit::Bytes,
                reader,
                text::job_memory_given(*given),
            ));
        }
        _ => draft.silent(0.5),
    }
    // That the node itself ran short cannot be told from here.
    draft.silent(0.5);
    let target = vec![Target { kind: SubjectKind::Job, id }];
    draft.advise(Action::ChangeRequest, target, text::fix_job_memory());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less_memory());
    draft
}
