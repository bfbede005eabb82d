//! Jobs that wait for the same reason in the same queue.

use std::collections::BTreeMap;

use gpuwhy_knowledge::WaitClass;
use gpuwhy_model::action::{SubjectKind, Target};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, Scene, Scheduler};
use gpuwhy_model::verdict::{Culprit, Subject};

use super::why::{Why, why};
use crate::facts::culprit;

/// More jobs of one group are not named.
const NAMED_MAX: usize = 5;

/// Jobs that wait for the same reason in the same queue.
#[derive(Debug, Clone)]
pub(crate) struct Group<'scene> {
    pub(crate) jobs: Vec<&'scene Job>,
    pub(crate) why: Why<'scene>,
    pub(crate) queue: &'scene str,
    pub(crate) scheduler: Scheduler,
    /// How many jobs it is, with those that are only counted.
    pub(crate) size: u64,
    /// Whether the scheduler did not even take them.
    pub(crate) is_refused: bool,
}

/// Every job that waits or was refused, in groups, the largest first.
#[derive(Debug)]
pub(crate) struct WaitingJobs<'scene> {
    pub(crate) groups: Vec<Group<'scene>>,
}

impl<'scene> WaitingJobs<'scene> {
    /// Returns the jobs of a scene that wait.
    pub(crate) fn of(scene: &'scene Scene) -> Self {
        type Key<'scene> = (Scheduler, &'scene str, bool, WaitClass, String);
        let mut groups: BTreeMap<Key<'scene>, Group<'scene>> = BTreeMap::new();
        for job in &scene.jobs {
            let is_refused = job.phase == Reading::Known(JobPhase::Refused);
            let waits = matches!(job.phase, Reading::Known(JobPhase::Waiting | JobPhase::Preempted));
            if !waits && !is_refused {
                continue;
            }
            let why = why(job);
            let queue = job.queues.first().map_or("", String::as_str);
            // What has no class is told apart by its words.
            let word = if is_by_word(why.class) { why.word().to_owned() } else { String::new() };
            let group =
                groups.entry((job.scheduler, queue, is_refused, why.class, word)).or_insert_with(|| Group {
                    jobs: Vec::new(),
                    why,
                    queue,
                    scheduler: job.scheduler,
                    size: 0,
                    is_refused,
                });
            group.jobs.push(job);
            group.size = group.size.saturating_add(job.number());
        }
        let mut groups: Vec<Group<'scene>> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.size));
        Self { groups }
    }

    /// Returns how many jobs of a queue would start if only there were room.
    pub(crate) fn demand(&self, queue: &str) -> u64 {
        let demand = self.groups.iter().filter(|group| group.queue == queue && group.why.is_demand());
        demand.map(|group| group.size).fold(0, u64::saturating_add)
    }

    /// Returns the size of the largest group of those that nobody holds back by choice; 0 without one.
    pub(crate) fn largest(&self) -> u64 {
        let active = self.groups.iter().filter(|group| !group.why.is_by_choice());
        active.map(|group| group.size).max().unwrap_or(0)
    }
}

/// Returns whether reasons of a class are different troubles when their words differ.
const fn is_by_word(class: WaitClass) -> bool {
    !matches!(class, WaitClass::Capacity | WaitClass::Turn | WaitClass::Nodes | WaitClass::Unknown)
}

impl<'scene> Group<'scene> {
    /// Returns some jobs of the group as a group of their own.
    pub(crate) fn with(&self, jobs: Vec<&'scene Job>) -> Self {
        let mut part = Self { jobs: Vec::new(), size: 0, ..self.clone() };
        for job in jobs {
            part.add(job);
        }
        if let [only] = part.jobs.as_slice() {
            part.why = why(only);
        }
        part
    }

    /// Adds a job.
    pub(crate) fn add(&mut self, job: &'scene Job) {
        self.jobs.push(job);
        self.size = self.size.saturating_add(job.number());
    }

    /// Returns the job that shows best why the group waits: the one that says most of what it asks for.
    pub(crate) fn example(&self) -> &'scene Job {
        let said = |job: &Job| {
            let known = [
                job.asked.cards.is_known() || job.asked_per_node.cards.is_known(),
                job.asked.cpus.is_known(),
                job.asked.memory.is_known() || job.asked_per_node.memory.is_known(),
                job.asked.nodes.is_known(),
                job.asked.time.is_known(),
                job.exclusive.is_known(),
            ];
            known.into_iter().filter(|known| *known).count()
        };
        // The first of equals, so that the same scene names the same job.
        self.jobs
            .iter()
            .copied()
            .reduce(|best, next| if said(next) > said(best) { next } else { best })
            .unwrap_or(self.jobs[0])
    }

    /// Returns what the group is as the subject of a finding: its job, or its queue.
    pub(crate) fn subject(&self) -> Subject {
        match self.jobs.as_slice() {
            [job] if self.size == 1 => {
                Subject { kind: SubjectKind::Job, id: job.id.clone(), name: job.id.clone() }
            }
            _ => Subject { kind: SubjectKind::Queue, id: self.queue.to_owned(), name: self.queue.to_owned() },
        }
    }

    /// Returns the jobs of the group as those whom it concerns.
    pub(crate) fn culprits(&self) -> Vec<Culprit> {
        let named = self.jobs.iter().filter(|job| !job.id.is_empty());
        named.take(NAMED_MAX).map(|job| culprit::of_job(job)).collect()
    }

    /// Returns the jobs of the group as what a step acts on.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let named = self.jobs.iter().filter(|job| !job.id.is_empty());
        named.take(NAMED_MAX).map(|job| Target { kind: SubjectKind::Job, id: job.id.clone() }).collect()
    }

    /// Returns the nodes that reasons of the group name.
    pub(crate) fn named_nodes(&self) -> Vec<&'scene str> {
        let reasons = self.jobs.iter().flat_map(|job| &job.reasons);
        let mut names: Vec<&str> =
            reasons.flat_map(|reason| &reason.named_nodes).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
