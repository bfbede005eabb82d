//! What the rows and blocks of one output say together, as parts of a scene.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    Job, JobPhase, Provenance, Quota, QuotaHolder, Reservation, Scene, SchedulerState, SourceKind, Window,
};

use super::field::Field;
use super::node::Nodes;
use super::queue::Queues;
use super::record::Record;
use super::{job, quota, usage};
use crate::Format;

/// No output lists more jobs.
const JOBS_MAX: usize = 500_000;

/// Jobs, nodes, queues and limits of one output.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    jobs: Vec<Job>,
    places: BTreeMap<String, usize>,
    pub(super) nodes: Nodes,
    pub(super) queues: Queues,
    quotas: Vec<Quota>,
    pub(super) reservations: Vec<Reservation>,
    pub(super) scheduler: SchedulerState,
}

impl Gathered {
    /// Adds the job of a record, or what a record of one of its steps says of it. Returns whether it is of a job.
    pub(super) fn add_job(&mut self, record: &Record) -> bool {
        let step =
            record.get(Field::JobId).and_then(|id| id.split_once('.')).filter(|(id, _)| job::is_id(id));
        if let Some((id, _)) = step {
            let id = id.to_owned();
            return self.add_step(&id, record);
        }
        let Some(job) = job::job(record) else {
            return false;
        };
        self.push_job(job);
        true
    }

    pub(super) fn push_job(&mut self, job: Job) {
        if self.jobs.len() >= JOBS_MAX {
            return;
        }
        if !job.id.is_empty() {
            // A job that waits in several queues stands in several rows.
            if let Some(known) = self.places.get(&job.id).and_then(|place| self.jobs.get_mut(*place)) {
                let new: Vec<String> =
                    job.queues.into_iter().filter(|name| !known.queues.contains(name)).collect();
                known.queues.extend(new);
                return;
            }
            self.places.insert(job.id.clone(), self.jobs.len());
        }
        self.jobs.push(job);
    }

    /// Adds to a job what one of its steps used and how it ended.
    fn add_step(&mut self, id: &str, record: &Record) -> bool {
        let mut of_step = record.clone();
        of_step.put_first(Field::JobId, id);
        let Some(step) = job::job(&of_step) else {
            return false;
        };
        let Some(place) = self.places.get(id).copied() else {
            // The rows of the job itself may be cut off.
            self.places.insert(id.to_owned(), self.jobs.len());
            self.jobs.push(Job { name: Reading::default(), ..step });
            return true;
        };
        let job = &mut self.jobs[place];
        let ran_out = step.phase == Reading::Known(JobPhase::OutOfMemory);
        if ran_out
            && matches!(
                job.phase,
                Reading::Known(JobPhase::Failed | JobPhase::Completed | JobPhase::Cancelled)
            )
        {
            job.phase = step.phase;
        }
        let (known, own) = (&mut job.usage, step.usage);
        let is_more = match (&known.memory, &own.memory) {
            (Reading::Known(known), Reading::Known(own)) => own > known,
            (_, own) => own.is_known(),
        };
        if is_more {
            known.memory = own.memory;
            known.memory_share = Reading::default();
        }
        known.gpu_busy = std::mem::take(&mut known.gpu_busy).or(own.gpu_busy);
        known.gpu_memory = std::mem::take(&mut known.gpu_memory).or(own.gpu_memory);
        known.cpu_time = std::mem::take(&mut known.cpu_time).or(own.cpu_time);
        let mut used = std::mem::take(&mut job.usage);
        usage::settle_shares(&mut used, job);
        job.usage = used;
        true
    }

    /// Adds what a row about nodes says of their queue.
    pub(super) fn add_queue_of_nodes(&mut self, record: &Record) -> bool {
        record.has(Field::Avail) | record.has(Field::NodesByUse) && self.queues.add(record)
    }

    pub(super) fn add_quotas(&mut self, record: &Record, holder: QuotaHolder) -> bool {
        let quotas = quota::quotas(record, holder);
        let names_something =
            record.get(Field::Name).or(record.get(Field::Account)).or(record.get(Field::Qos)).is_some();
        self.quotas.extend(quotas);
        names_something
    }

    /// Makes the parts of a scene.
    pub(super) fn scene(self, format: Format) -> Scene {
        let (queues, quotas, counted) = self.queues.into_parts();
        let mut jobs = self.jobs;
        jobs.extend(counted);
        Scene {
            window: Window { samples: 1, ..Window::default() },
            jobs,
            cluster: self.nodes.into_all(),
            queues,
            quotas: self.quotas.into_iter().chain(quotas).collect(),
            reservations: self.reservations,
            scheduler: self.scheduler,
            provenance: Provenance { source: SourceKind::Text, inputs: vec![format.to_string()] },
            ..Scene::default()
        }
    }
}
