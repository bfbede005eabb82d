//! Why one job waits.

use gpuwhy_knowledge::{
    LimitReach, LimitedResource, Measure, WaitClass, WaitFact, kubernetes_reason, slurm_reason,
};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, Scheduler, WaitReason};

use super::kubernetes::is_taint_of_cards;

/// The reason that decides, of all that a scheduler names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Why<'scene> {
    pub(crate) class: WaitClass,
    pub(crate) reach: Option<LimitReach>,
    pub(crate) resource: Option<LimitedResource>,
    pub(crate) measure: Measure,
    /// The scheduler's own word for it; none where it gives no reason.
    pub(crate) reason: Option<&'scene WaitReason>,
}

impl Why<'_> {
    const UNKNOWN: Self = Why {
        class: WaitClass::Unknown,
        reach: None,
        resource: None,
        measure: Measure::Amount,
        reason: None,
    };

    /// Returns the scheduler's own word.
    pub(crate) fn word(&self) -> &str {
        self.reason.map_or("", |reason| reason.word.as_str())
    }

    /// Returns whether the job would start if only there were room: it is demand. Held jobs are none.
    pub(crate) const fn is_demand(&self) -> bool {
        matches!(self.class, WaitClass::Capacity | WaitClass::Turn | WaitClass::Nodes | WaitClass::Unknown)
    }

    /// Returns whether the job waits for something that its owner or the calendar decides.
    pub(crate) const fn is_by_choice(&self) -> bool {
        matches!(
            self.class,
            WaitClass::Held
                | WaitClass::Dependency
                | WaitClass::Later
                | WaitClass::ArrayLimit
                | WaitClass::Passing
        )
    }
}

/// Returns what a reason means.
pub(crate) fn fact(scheduler: Scheduler, reason: &WaitReason) -> Option<WaitFact> {
    match scheduler {
        Scheduler::Slurm => slurm_reason(&reason.word),
        Scheduler::Kubernetes => kubernetes_reason(&reason.word).cloned(),
    }
}

/// Returns why a job waits.
pub(crate) fn why(job: &Job) -> Why<'_> {
    let known = job.reasons.iter().filter_map(|reason| {
        let fact = fact(job.scheduler, reason)?;
        let (class, reach, resource, measure) = (fact.class, fact.reach, fact.resource, fact.measure);
        Some(Why { class, reach, resource, measure, reason: Some(reason) })
    });
    let decides = match job.scheduler {
        // Slurm names what it met first; a refusal has its word and then a sentence.
        Scheduler::Slurm => known.min_by_key(|why| why.class == WaitClass::Unknown),
        // Each reason holds for some of the nodes or flavors: the one nearest to a start decides.
        Scheduler::Kubernetes => known.min_by_key(distance_from_start),
    };
    let is_held = job.scheduler == Scheduler::Slurm && job.priority == Reading::Known(0.0);
    match decides {
        Some(why) if why.class != WaitClass::Unknown => why,
        _ if is_held => Why { class: WaitClass::Held, ..Why::UNKNOWN },
        Some(why) => why,
        None => Why { reason: job.reasons.first(), ..Why::UNKNOWN },
    }
}

fn distance_from_start(why: &Why<'_>) -> u8 {
    match why.class {
        WaitClass::Quota
        | WaitClass::Held
        | WaitClass::QueueClosed
        | WaitClass::Never
        | WaitClass::Failure => 0,
        WaitClass::Passing => 1,
        WaitClass::Policy if why.reason.is_some_and(is_taint_of_cards) => 1,
        WaitClass::Turn => 2,
        WaitClass::Capacity if why.resource == Some(LimitedResource::Cards) || why.resource.is_none() => 3,
        WaitClass::Capacity => 4,
        WaitClass::Nodes => 5,
        WaitClass::Unknown => 9,
        _ => 6,
    }
}
