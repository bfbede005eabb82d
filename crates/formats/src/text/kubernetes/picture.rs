//! What a text shows of a cluster, while it is read.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    ClusterNode, Container, Job, JobPhase, LimitHit, LogLine, ProgramFact, Provenance, Queue, Quota, Scene,
    Scheduler, SourceKind, Standing,
};

use super::event::{Event, apply, line};
use crate::Format;

/// What a text shows of a cluster.
#[derive(Debug, Default)]
pub(super) struct Picture {
    jobs: Vec<Job>,
    /// Places of jobs by their ids.
    places: BTreeMap<String, usize>,
    pub(super) nodes: Vec<ClusterNode>,
    pub(super) queues: Vec<Queue>,
    pub(super) quotas: Vec<Quota>,
    pub(super) program: Vec<LogLine>,
    pub(super) events: Vec<Event>,
    /// Whether something that Kubernetes has was recognised, even if nothing of it is kept.
    pub(super) is_recognised: bool,
}

impl Picture {
    /// Returns the job with an id, and makes it if it is new; what has no id is one job.
    pub(super) fn job(&mut self, id: &str) -> &mut Job {
        let place = *self.places.entry(id.to_owned()).or_insert_with(|| {
            self.jobs.push(Job { id: id.to_owned(), scheduler: Scheduler::Kubernetes, ..Job::default() });
            self.jobs.len() - 1
        });
        &mut self.jobs[place]
    }

    /// Adds a job; what an earlier one of the same id does not say, it does.
    pub(super) fn add_job(&mut self, job: Job) {
        let place = self.places.get(&job.id).copied();
        match place {
            Some(place) if !job.id.is_empty() => self.jobs[place] = job,
            _ => {
                self.places.insert(job.id.clone(), self.jobs.len());
                self.jobs.push(job);
            }
        }
    }

    /// Returns whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
            && self.nodes.is_empty()
            && self.queues.is_empty()
            && self.quotas.is_empty()
            && self.program.is_empty()
            && self.events.is_empty()
            && !self.is_recognised
    }

    /// Makes the scene.
    pub(super) fn scene(mut self, format: Format) -> Scene {
        let events = std::mem::take(&mut self.events);
        apply(events, &mut self);
        for job in &self.jobs {
            for container in &job.containers {
                self.program.extend(ended_for_memory(&job.id, container));
            }
        }
        self.program.extend(self.jobs.iter().filter(|job| is_killed_without_container(job)).map(|job| {
            memory_line(&format!("{}: {}", job.id, job.state.known().map_or("OOMKilled", String::as_str)))
        }));
        Scene {
            jobs: self.jobs,
            cluster: self.nodes,
            queues: self.queues,
            quotas: self.quotas,
            program: self.program,
            provenance: Provenance { source: SourceKind::Text, inputs: vec![format.to_string()] },
            ..Scene::default()
        }
    }
}

/// Returns whether a table says that a pod was ended for want of memory, and nothing of its containers.
fn is_killed_without_container(job: &Job) -> bool {
    job.phase == Reading::Known(JobPhase::OutOfMemory)
        && job.containers.iter().all(|container| container.ends.is_empty())
}

/// Says in one line that a container was ended for want of memory, if it was.
fn ended_for_memory(owner: &str, container: &Container) -> Option<LogLine> {
    let end = container.ends.iter().find(|end| end.for_memory)?;
    let limit = container
        .memory_limit
        .known()
        .map_or_else(String::new, |limit| format!(" limits.memory={}", limit.0));
    let code = end.exit_code.map_or_else(String::new, |code| format!(" exitCode={code}"));
    Some(memory_line(&format!("{owner}/{}: reason=OOMKilled{code}{limit}", container.name)))
}

fn memory_line(text: &str) -> LogLine {
    LogLine { standing: Some(Standing::Final), ..line(text, Some(ProgramFact::LimitHit(LimitHit::Memory))) }
}
