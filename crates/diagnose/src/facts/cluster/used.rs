//! What jobs made of what they were given, by the scheduler's accounting.

use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::scene::{Job, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Cores, Percent, Unit};
use gpuwhy_model::verdict::{Impact, Subject};

use super::reader_of;
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::culprit;
use crate::rule::Rule;
use crate::shared_text;

/// A job with what its cards and processors did over its whole run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used<'scene> {
    pub(crate) job: &'scene Job,
    pub(crate) cards: u64,
    /// Mean utilization of its cards.
    pub(crate) gpu: Percent,
    /// Processors that it was given, and how many of them it kept busy on average.
    pub(crate) cpus: Option<(Cores, Cores)>,
}

impl Used<'_> {
    /// Returns how many cores were busy for each card.
    pub(crate) fn cores_per_card(&self) -> Option<f64> {
        self.cpus.map(|(_, busy)| busy.0 / self.cards.max(1) as f64)
    }

    /// Returns which share of its processors it kept busy.
    pub(crate) fn cpu_share(&self) -> Option<f64> {
        self.cpus.filter(|(given, _)| given.0 > 0.0).map(|(given, busy)| busy.0 / given.0)
    }

    /// Begins a finding about the job.
    pub(crate) fn draft(&self, rule: &'static Rule, summary: Text) -> Draft {
        let id = self.job.id.clone();
        let subject = Subject { kind: SubjectKind::Job, id: id.clone(), name: id.clone() };
        let mut draft = Draft::new(rule, subject, format!("job {id}"), Vec::new(), summary);
        draft = draft.culprits(vec![culprit::of_job(self.job)], Vec::new());
        let lost = self
            .job
            .elapsed
            .known()
            .map_or(0.0, |run| run.0 * self.cards as f64 * (1.0 - self.gpu.0 / 100.0));
        draft.finding.impact = Impact { gpu_seconds: lost.max(0.0), ..Impact::default() };
        // Its whole run was looked at.
        draft.balance.past_decides = true;
        draft
    }

    /// Shows how busy its cards were.
    pub(crate) fn gpu_evidence(&self) -> Evidence {
        let words = shared_text::job_gpu_busy(self.cards, self.gpu);
        once(Signal::JobUsage, self.gpu.0, Unit::Percent, reader_of(self.job.scheduler), words)
    }

    /// Shows how many of its processors were busy.
    pub(crate) fn cpu_evidence(&self) -> Option<Evidence> {
        let (given, busy) = self.cpus?;
        let words = shared_text::job_cores_busy(busy, given);
        Some(once(Signal::JobUsage, busy.0, Unit::Cores, reader_of(self.job.scheduler), words))
    }
}

/// Returns the jobs of which accounting says what their cards did. Where processes were seen, they tell more.
pub(crate) fn used(scene: &Scene) -> Vec<Used<'_>> {
    if !scene.processes.is_empty() || !scene.cards.is_empty() {
        return Vec::new();
    }
    scene.jobs.iter().filter_map(of_job).collect()
}

fn of_job(job: &Job) -> Option<Used<'_>> {
    let gpu = *job.usage.gpu_busy.known()?;
    let cards = super::cards_of(job).unwrap_or(1).max(1);
    let given = job.given.cpus.known().or(job.asked.cpus.known()).copied();
    let cpus = match (given, job.usage.cpu_share.known()) {
        (Some(given), Some(share)) if given.0 > 0.0 => Some((given, Cores(given.0 * share.0))),
        _ => None,
    };
    Some(Used { job, cards, gpu, cpus })
}
