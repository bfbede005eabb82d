//! What a scheduler's jobs, nodes and limits say together.

mod fit;
mod folded;
mod groups;
mod kubernetes;
mod limits;
mod used;
mod why;

pub(crate) use fit::{Fit, Room, fit, number_of};
pub(crate) use folded::folded;
pub(crate) use groups::{Group, WaitingJobs};
pub(crate) use kubernetes::is_beyond_every_node;
pub(crate) use limits::{Reckoning, reckoning};
pub(crate) use used::{Used, used};
pub(crate) use why::{Why, why};

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, Scheduler};
use gpuwhy_model::signal::Reader;

/// Returns who says what a job or node of a scheduler is.
pub(crate) const fn reader_of(scheduler: Scheduler) -> Reader {
    match scheduler {
        Scheduler::Slurm => Reader::Slurm,
        Scheduler::Kubernetes => Reader::Kubernetes,
    }
}

/// Returns whether a job holds a place.
pub(crate) fn has_place(job: &Job) -> bool {
    matches!(
        job.phase,
        Reading::Known(JobPhase::Running | JobPhase::Starting | JobPhase::Suspended | JobPhase::Ending)
    )
}

/// Returns the cards that a job was given or asks for, over all its nodes.
pub(crate) fn cards_of(job: &Job) -> Option<u64> {
    let whole = job.given.cards.known().or(job.asked.cards.known()).copied();
    let nodes = job.asked.nodes.known().copied().unwrap_or(1).max(1);
    whole.or_else(|| job.asked_per_node.cards.known().map(|cards| cards.saturating_mul(nodes)))
}
