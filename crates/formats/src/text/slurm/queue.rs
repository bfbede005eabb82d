//! Queues (partitions) and what they allow, out of what a record says.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    Job, JobPhase, NodeCounts, Queue, Quota, QuotaHolder, QuotaReach, Resources, Scheduler,
};

use super::field::Field;
use super::record::Record;
use super::words::{between_commas, count, memory, said, time};
use super::{hostlist, job, node, state, tres};

/// Queues that several rows speak of, with what they allow and the jobs that they only count.
#[derive(Debug, Default)]
pub(super) struct Queues {
    all: BTreeMap<String, (Queue, Resources)>,
    pub(super) jobs: Vec<Job>,
}

impl Queues {
    /// Adds what a record says of its queue, if it names one.
    pub(super) fn add(&mut self, record: &Record) -> bool {
        let Some(name) = record.get(Field::Partition).map(|name| name.trim_end_matches('*')) else {
            return false;
        };
        if name.is_empty() || name.contains(',') {
            return false;
        }
        let entry = self.all.entry(name.to_owned()).or_insert_with(|| {
            let queue = Queue { name: name.to_owned(), scheduler: Scheduler::Slurm, ..Queue::default() };
            (queue, Resources::default())
        });
        fill(record, &mut entry.0);
        fill_most(record, &mut entry.1);
        self.jobs.extend(counted_jobs(record, name));
        true
    }

    /// Returns the queues, and what each allows one job where it says so.
    pub(super) fn into_parts(self) -> (Vec<Queue>, Vec<Quota>, Vec<Job>) {
        let quotas = self.all.iter().filter(|(_, (_, most))| !most.is_unknown());
        let quotas = quotas.map(|(name, (_, most))| Quota {
            scheduler: Scheduler::Slurm,
            holder: QuotaHolder::Queue,
            name: name.clone(),
            reach: QuotaReach::Job,
            most: most.clone(),
            ..Quota::default()
        });
        let quotas = quotas.collect();
        (self.all.into_values().map(|(queue, _)| queue).collect(), quotas, self.jobs)
    }
}

fn fill(record: &Record, queue: &mut Queue) {
    let open = record.get(Field::Avail).map(str::to_owned);
    if let Some(word) = open {
        queue.is_open = state::queue_is_open(&word).into();
        queue.state = Reading::Known(word);
    }
    if let Some([allocated, idle, other, total]) = record.get(Field::NodesByUse).and_then(node::by_use) {
        queue.node_counts = Reading::Known(NodeCounts { allocated, idle, other, total });
    }
    let share = record.get(Field::OverSubscribe).map(|word| word.to_ascii_uppercase().starts_with("EXCL"));
    queue.exclusive = share.map_or_else(|| std::mem::take(&mut queue.exclusive), Reading::Known);
    let tier = record.get(Field::Priority).and_then(|text| text.parse().ok());
    queue.priority = tier.map_or_else(|| std::mem::take(&mut queue.priority), Reading::Known);
    queue.accounts.extend(allowed(record, Field::Accounts));
    queue.qos.extend(allowed(record, Field::QosAllowed));
    if let Some(tres) = record.get(Field::Tres).and_then(tres::resources) {
        queue.has = tres;
    }
    for name in record.get(Field::NodeName).map(hostlist::names).unwrap_or_default() {
        // A queue of many nodes stands in many rows.
        if queue.nodes.len() < 65_536 && queue.nodes.last() != Some(&name) {
            queue.nodes.push(name);
        }
    }
}

/// Returns the names that a queue lets in; none where it lets in all.
fn allowed(record: &Record, field: Field) -> Vec<String> {
    let names = record.get(field).filter(|names| !names.eq_ignore_ascii_case("all"));
    names.into_iter().flat_map(|names| names.split(',')).filter_map(said).map(str::to_owned).collect()
}

fn fill_most(record: &Record, most: &mut Resources) {
    if let Some(limit) = record.get(Field::TimeLimit).and_then(|text| time(text, 60.0)) {
        most.time = limit;
    }
    let unlimited = |text: &str| text.eq_ignore_ascii_case("unlimited");
    if let Some(text) = record.get(Field::NodesMost) {
        most.nodes = if unlimited(text) { Reading::Unsupported } else { count(text).into() };
    }
    if let Some(text) = record.get(Field::MemoryPerNodeMost) {
        most.memory =
            if unlimited(text) { Reading::Unsupported } else { memory(text).map(|(bytes, _)| bytes).into() };
    }
}

/// Returns the jobs that a row of a summary counts: `(Priority):152; (Resources):1`, and those that run.
fn counted_jobs(record: &Record, queue: &str) -> Vec<Job> {
    let of_queue = |phase: JobPhase, number: u64| Job {
        scheduler: Scheduler::Slurm,
        alike: number.saturating_sub(1),
        queues: vec![queue.to_owned()],
        phase: Reading::Known(phase),
        ..Job::default()
    };
    let mut jobs = Vec::new();
    let mut explained = 0_u64;
    let reasons = record.get(Field::Reasons).into_iter().flat_map(|text| text.split(';'));
    for (reason, number) in reasons.flat_map(between_commas).filter_map(job::counted_reason) {
        explained = explained.saturating_add(number);
        if number > 0 {
            jobs.push(Job {
                reason: Reading::Known(reason.word.clone()),
                reasons: vec![reason],
                ..of_queue(JobPhase::Waiting, number)
            });
        }
    }
    let waiting = record.get(Field::Waiting).and_then(count).unwrap_or(0);
    if waiting > explained {
        jobs.push(of_queue(JobPhase::Waiting, waiting - explained));
    }
    if let Some(running) = record.get(Field::Running).and_then(count).filter(|running| *running > 0) {
        jobs.push(of_queue(JobPhase::Running, running));
    }
    jobs
}
