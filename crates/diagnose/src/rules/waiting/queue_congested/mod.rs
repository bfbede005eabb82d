//! `queue-congested`: jobs are well-formed, and all that they could use is in use.

use gpuwhy_knowledge::WaitClass;
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, NodeActivity, NodeCounts, Scene, Scheduler};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Culprit;

use super::scheduler_pending::apart;
use super::{about_group, says};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::{Fit, Group, Room, WaitingJobs, cards_of, fit, has_place, reader_of};
use crate::facts::culprit;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/queue_congested.rs"));
}

/// The rule. It stands behind `scheduler-pending`, which names what is wrong with the jobs themselves.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::QueueCongested,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::JobState,
            Signal::JobReason,
            Signal::QueueLength,
            Signal::QueueState,
            Signal::NodeState,
            Signal::NodeResources,
        ],
    },
    check,
};

/// Holders of the most cards that are named.
const HOLDERS_MAX: usize = 3;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let waiting = WaitingJobs::of(scene);
    let mut queues: Vec<&str> = waiting.groups.iter().map(|group| group.queue).collect();
    queues.sort_unstable();
    queues.dedup();
    let mut is_found = false;
    for queue in queues {
        let Some(group) = demand_of(scene, &waiting, queue) else {
            continue;
        };
        is_found = true;
        findings.report(judge(scene, &waiting, &group, limits));
    }
    if !is_found && !waiting.groups.is_empty() {
        findings.rule_out(Signal::QueueLength, None);
    }
}

/// Returns all jobs of a queue that would start if only there were room, as one group; the reason of the first to start.
/// What is wrong with a request itself is no lack of room.
fn demand_of<'scene>(
    scene: &'scene Scene,
    waiting: &WaitingJobs<'scene>,
    queue: &str,
) -> Option<Group<'scene>> {
    let mut parts: Vec<Group<'scene>> = waiting
        .groups
        .iter()
        .filter(|group| group.queue == queue && !group.is_refused)
        .filter(|group| matches!(group.why.class, WaitClass::Capacity | WaitClass::Turn | WaitClass::Unknown))
        .filter_map(|group| apart(scene, group).others)
        .collect();
    parts.sort_by_key(|group| group.why.class);
    let mut parts = parts.into_iter();
    let mut all = parts.next()?;
    for job in parts.flat_map(|part| part.jobs) {
        all.add(job);
    }
    Some(all)
}

fn judge(scene: &Scene, waiting: &WaitingJobs<'_>, group: &Group<'_>, limits: &Limits) -> Draft {
    let summary = if group.size == 1 { text::summary_one() } else { text::summary_many(group.size) };
    let mut draft = about_group(&RULE, group, summary);
    weigh_reason(waiting, group, &mut draft);
    let job = first_to_start(group);
    let fit = fit(scene, job);
    if fit.candidates.is_empty() {
        weigh_counts(scene, group, &mut draft);
    } else {
        weigh_nodes(scene, group, &fit, limits, &mut draft);
    }
    name_holders(scene, group, &mut draft);
    advise(group, &mut draft);
    draft
}

/// Returns the job that starts next: its room decides.
fn first_to_start<'scene>(group: &Group<'scene>) -> &'scene Job {
    let is_next = |job: &&&Job| crate::facts::cluster::why(job).class == WaitClass::Capacity;
    group.jobs.iter().find(is_next).copied().unwrap_or_else(|| group.example())
}

fn weigh_reason(waiting: &WaitingJobs<'_>, group: &Group<'_>, draft: &mut Draft) {
    if group.why.class == WaitClass::Unknown {
        // The scheduler has not said yet what they wait for.
        draft.only_possible();
        let words = text::waiting(group.size);
        draft.agree(
            1.0,
            once(Signal::QueueLength, group.size, Unit::Count, reader_of(group.scheduler), words),
        );
        return;
    }
    let largest = waiting.largest().max(1);
    let strength = (group.size as f64 / largest as f64).clamp(0.5, 1.0);
    draft.agree_by(2.5, strength, says(group));
    let expected = group.jobs.iter().find_map(|job| job.expected_start.known());
    if let Some(at) = expected.filter(|_| group.size == 1) {
        let words = text::expected(at.as_str());
        draft.mention(once(Signal::JobState, at.as_str(), Unit::Text, reader_of(group.scheduler), words));
    }
    if group.size > 1 {
        let words = text::waiting(group.size);
        draft.mention(once(Signal::QueueLength, group.size, Unit::Count, reader_of(group.scheduler), words));
    }
    let held: u64 = waiting
        .groups
        .iter()
        .filter(|other| other.queue == group.queue && !other.why.is_demand())
        .map(|other| other.size)
        .fold(0, u64::saturating_add);
    if held > 0 {
        let words = text::not_demand(held);
        draft.mention(once(Signal::QueueLength, held, Unit::Count, reader_of(group.scheduler), words));
    }
}

/// Weighs the nodes that the job could use.
fn weigh_nodes(scene: &Scene, group: &Group<'_>, fit: &Fit<'_>, limits: &Limits, draft: &mut Draft) {
    let reader = reader_of(group.scheduler);
    let open = fit.number_open();
    let closed = fit.number_closed();
    let is_idle =
        |node: &gpuwhy_model::scene::ClusterNode| node.activity == Reading::Known(NodeActivity::Idle);
    if fit.has_room() {
        let nodes = fit.open_with(Room::Free);
        // Without knowing what it asks for, an idle node need not be one for it.
        let weight = if fit.need.is_known() { 1.5 } else { 0.5 };
        draft.contradict(
            weight,
            once(Signal::NodeResources, nodes, Unit::Count, reader, text::has_room(nodes)),
        );
        draft.silent(1.0);
    } else if fit.is_surely_full() && open > 0 {
        draft.agree(3.0, once(Signal::NodeResources, 0_u64, Unit::Count, reader, text::all_in_use(open)));
        draft.silent(0.5);
    } else if open > 0 && !fit.open.iter().any(|(node, _)| is_idle(node)) {
        draft.agree(1.0, once(Signal::NodeState, 0_u64, Unit::Count, reader, text::none_of_open_idle(open)));
        draft.silent(1.5);
    } else {
        weigh_counts(scene, group, draft);
    }
    let all = fit.number_suitable().max(1);
    let is_much = closed as f64 >= all as f64 * limits.closed_nodes_share_min;
    if closed > 0 {
        let words = text::closed(all, closed);
        let evidence = once(Signal::NodeState, closed, Unit::Count, reader, words);
        if is_much && fit.lacks_closed_nodes() {
            draft.contradict(1.0, evidence);
        } else {
            draft.mention(evidence);
        }
    }
}

/// Weighs how many nodes of the queue do what, where they are only counted.
fn weigh_counts(scene: &Scene, group: &Group<'_>, draft: &mut Draft) {
    let counts = scene
        .queues
        .iter()
        .find(|queue| queue.name == group.queue)
        .and_then(|queue| queue.node_counts.known());
    let reader = reader_of(group.scheduler);
    match counts {
        Some(NodeCounts { allocated, idle: 0, total, .. }) if *allocated > 0 => {
            let words = text::none_idle(*allocated, *total);
            draft.agree(2.0, once(Signal::QueueState, 0_u64, Unit::Count, reader, words));
            draft.silent(0.5);
        }
        Some(NodeCounts { idle, .. }) if *idle > 0 => {
            draft.contradict(0.5, once(Signal::QueueState, *idle, Unit::Count, reader, text::idle(*idle)));
            draft.silent(2.0);
        }
        // The reason alone does not show that nothing else stands in the way.
        _ => draft.silent(2.0),
    }
}

/// Names who holds the most cards of the queue.
fn name_holders(scene: &Scene, group: &Group<'_>, draft: &mut Draft) {
    let shares_a_queue = |job: &&Job| {
        let own = group.jobs.iter().flat_map(|job| &job.queues);
        job.queues.is_empty()
            || group.queue.is_empty()
            || own.into_iter().any(|queue| job.queues.contains(queue))
    };
    let mut holders: Vec<(u64, &Job)> = scene
        .jobs
        .iter()
        .filter(|job| has_place(job) && job.scheduler == group.scheduler && !job.id.is_empty())
        .filter(shares_a_queue)
        .filter_map(|job| Some((cards_of(job)?, job)))
        .filter(|(cards, _)| *cards > 0)
        .collect();
    holders.sort_by(|(one, job), (other, next)| other.cmp(one).then_with(|| job.id.cmp(&next.id)));
    let held: u64 = holders.iter().map(|(cards, _)| *cards).fold(0, u64::saturating_add);
    if holders.is_empty() {
        return;
    }
    let words = text::held(held);
    draft.mention(once(Signal::NodeResources, held, Unit::Count, reader_of(group.scheduler), words));
    let named: Vec<Culprit> = holders.iter().take(HOLDERS_MAX).map(|(_, job)| culprit::of_job(job)).collect();
    // Who holds the cards, then who waits for them.
    draft.finding.culprits.splice(0..0, named);
}

fn advise(group: &Group<'_>, draft: &mut Draft) {
    let targets = group.targets();
    if group.scheduler == Scheduler::Slurm {
        draft.advise(Action::WaitTurn, targets.clone(), text::fix_wait());
        draft.advise(Action::ChangeRequest, targets, text::fix_shorter());
        draft.advise(Action::MoveWork, Vec::new(), text::fix_other_queue());
    } else {
        draft.advise(Action::WaitTurn, targets.clone(), text::fix_wait_pod());
        draft.advise(Action::ChangeRequest, targets, text::fix_priority());
    }
    let is_priority_known = group.jobs.iter().any(|job| matches!(job.priority, Reading::Known(_)));
    if group.why.class == WaitClass::Turn && group.scheduler == Scheduler::Slurm && !is_priority_known {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_look_priority());
    }
}
