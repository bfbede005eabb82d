//! The words about a job that cannot start, and what to do.

use gpuwhy_knowledge::{LimitReach, LimitedResource, Measure, WaitClass};
use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{Scene, Scheduler};
use gpuwhy_model::text::Text;

use super::text;
use super::trouble::{Misfit, Squeeze, Trouble};
use crate::draft::Draft;
use crate::facts::cluster::{Group, Reckoning, Why};

/// Returns the finding in one sentence.
pub(super) fn summary(group: &Group<'_>, trouble: &Trouble<'_>) -> Text {
    let why = clause(group, trouble);
    if group.is_refused {
        text::summary_refused(why)
    } else if group.size == 1 {
        text::summary_one(why)
    } else {
        text::summary_many(group.size, why)
    }
}

/// Returns why the job cannot start, as a part of a sentence.
fn clause(group: &Group<'_>, trouble: &Trouble<'_>) -> Text {
    match trouble {
        Trouble::Limit { reckoning } => of_limit(&group.why, reckoning.as_ref()),
        Trouble::Reason(class) => of_class(*class, group),
        Trouble::NeverFits(misfit) => self::misfit(misfit),
        Trouble::Beside(squeeze) => self::squeeze(squeeze),
        Trouble::Place { .. } => text::why_place(),
        Trouble::BeyondEveryNode { .. } => text::why_beyond_every_node(),
        Trouble::WantedNodes { nodes } => text::why_wanted_nodes(nodes.as_str()),
    }
}

fn of_limit(why: &Why<'_>, reckoning: Option<&Reckoning>) -> Text {
    let limit = limit(why);
    match (why.class, why.measure) {
        (WaitClass::TooLarge, _) => text::why_too_large(limit),
        (WaitClass::TooSmall, _) => text::why_too_small(limit),
        (_, Measure::Minutes) => text::why_budget(limit),
        (_, Measure::RunningMinutes) => text::why_running_budget(limit),
        _ if reckoning.is_some_and(|reckoning| reckoning.counts_whole_nodes) => {
            text::why_quota_exclusive(limit)
        }
        // A limit that is smaller than the request alone never clears.
        _ if reckoning.is_some_and(|reckoning| reckoning.need.is_some_and(|need| need > reckoning.most)) => {
            text::why_quota_never(limit)
        }
        _ => text::why_quota(limit),
    }
}

/// Returns the name of a limit.
fn limit(why: &Why<'_>) -> Text {
    let what = resource(why.resource.unwrap_or(LimitedResource::Unknown));
    match why.reach {
        Some(LimitReach::User) => text::limit_user(what),
        Some(LimitReach::Account) => text::limit_account(what),
        Some(LimitReach::Group) => text::limit_group(what),
        Some(LimitReach::Qos) => text::limit_qos(what),
        Some(LimitReach::Namespace) => text::limit_namespace(what),
        Some(LimitReach::Job) => text::limit_job(what),
        Some(LimitReach::Node) => text::limit_node(what),
        None => text::limit_unnamed(what),
    }
}

fn resource(resource: LimitedResource) -> Text {
    match resource {
        LimitedResource::Cards => text::of_cards(),
        LimitedResource::Cpus => text::of_cpus(),
        LimitedResource::Memory => text::of_memory(),
        LimitedResource::Nodes => text::of_nodes(),
        LimitedResource::Jobs => text::of_jobs(),
        LimitedResource::SubmittedJobs => text::of_submitted_jobs(),
        LimitedResource::Time => text::of_time(),
        LimitedResource::BurstBuffer => text::of_burst_buffer(),
        LimitedResource::Billing => text::of_billing(),
        LimitedResource::Energy => text::of_energy(),
        LimitedResource::Licenses => text::of_licenses(),
        LimitedResource::Unknown => text::of_unknown(),
    }
}

fn of_class(class: WaitClass, group: &Group<'_>) -> Text {
    let job = group.example();
    match class {
        WaitClass::Held => text::why_held(),
        WaitClass::HeldByAdministrator => text::why_held_by_administrator(),
        WaitClass::Dependency => match job.dependency.known() {
            Some(other) if group.size == 1 => text::why_dependency_on(other.as_str()),
            _ => text::why_dependency(),
        },
        WaitClass::Never => text::why_never(),
        WaitClass::Later => text::why_later(),
        WaitClass::ArrayLimit => text::why_array_limit(),
        WaitClass::Policy => text::why_policy(),
        WaitClass::QueueClosed => text::why_queue_closed(),
        WaitClass::Failure => text::why_failure(),
        WaitClass::Passing => text::why_passing(),
        _ => text::why_request(),
    }
}

/// Says what no node has.
pub(super) fn misfit(misfit: &Misfit<'_>) -> Text {
    match misfit {
        Misfit::Cards { need, have: 0 } => text::why_no_cards(*need),
        Misfit::Cards { need, have } => text::why_too_many_cards(*have, *need),
        Misfit::Kind { kind } => text::why_no_kind(*kind),
        Misfit::Features { constraint } => text::why_no_features(*constraint),
        Misfit::Cpus { need, have } => text::why_too_many_cpus(whole(*have), whole(*need)),
        Misfit::Memory { need, have } => text::why_too_much_memory(*have, *need),
        Misfit::Nodes { need, have } => text::why_too_many_nodes(*have, *need),
        Misfit::Time { need, have } => text::why_too_long(*have, *need),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of processors")]
fn whole(number: f64) -> u64 {
    number.max(0.0).ceil() as u64
}

/// Says what is not free beside the free cards.
pub(super) fn squeeze(squeeze: &Squeeze) -> Text {
    match squeeze {
        Squeeze::Cpus { cards } => text::why_no_cpus_beside(*cards),
        Squeeze::Memory { cards } => text::why_no_memory_beside(*cards),
        Squeeze::Scattered { cards, need } => text::why_scattered(*cards, *need),
    }
}

/// Returns by how much a limit is passed, and the sum in words.
pub(super) fn reckoned(reckoning: &Reckoning) -> (f64, Text) {
    let most = reckoning.amount(reckoning.most);
    let words = match (reckoning.need, reckoning.used) {
        (Some(need), Some(used)) => {
            let (need, used) = (reckoning.amount(need), reckoning.amount(used));
            if reckoning.counts_whole_nodes {
                text::counts_with_whole_nodes(most, need, used)
            } else {
                text::counts_with_used(most, need, used)
            }
        }
        (Some(need), None) => text::counts(most, reckoning.amount(need)),
        (None, Some(used)) => text::counts_used(most, reckoning.amount(used)),
        (None, None) => text::counts_limit(most),
    };
    (reckoning.gap().unwrap_or(0.0), words)
}

/// Adds the smallest change that would let the job start, then where to look.
pub(super) fn advise(scene: &Scene, group: &Group<'_>, trouble: &Trouble<'_>, draft: &mut Draft) {
    let is_slurm = group.scheduler == Scheduler::Slurm;
    let mut step = |action: Action, words: Text| draft.advise(action, group.targets(), words);
    match trouble {
        Trouble::Limit { reckoning } => {
            advise_on_limit(group, reckoning.as_ref(), &mut step);
            if is_slurm {
                step(Action::LookAgain, text::fix_look_limits());
            }
        }
        Trouble::NeverFits(misfit) => {
            let words = match misfit {
                Misfit::Cards { have: 0, .. } => text::fix_other_queue(),
                Misfit::Cards { have, .. } => text::fix_cards(*have),
                Misfit::Kind { .. } => match kinds(scene) {
                    kinds if kinds.is_empty() => text::fix_other_queue(),
                    kinds => text::fix_kind(kinds),
                },
                Misfit::Features { .. } => text::fix_features(),
                Misfit::Cpus { have, .. } => text::fix_cpus(whole(*have)),
                Misfit::Memory { have, .. } => text::fix_memory(*have),
                Misfit::Nodes { have, .. } => text::fix_nodes(*have),
                Misfit::Time { have, .. } => text::fix_time(*have),
            };
            step(Action::ChangeRequest, words);
        }
        Trouble::Beside(Squeeze::Cpus { .. }) => step(Action::ChangeRequest, text::fix_fewer_cpus()),
        Trouble::Beside(Squeeze::Memory { .. }) => step(Action::ChangeRequest, text::fix_less_memory()),
        Trouble::Beside(Squeeze::Scattered { .. }) => step(Action::ChangeRequest, text::fix_spread()),
        Trouble::Place { .. } => {
            step(Action::ChangeRequest, text::fix_shorter());
            step(Action::WaitTurn, text::fix_wait());
        }
        Trouble::WantedNodes { .. } => step(Action::ChangeRequest, text::fix_any_node()),
        Trouble::BeyondEveryNode { .. } => step(Action::LookAgain, text::fix_beyond_every_node()),
        Trouble::Reason(class) => advise_on_class(*class, is_slurm, &mut step),
    }
}

fn advise_on_limit(group: &Group<'_>, reckoning: Option<&Reckoning>, step: &mut dyn FnMut(Action, Text)) {
    if let Some(reckoning) = reckoning {
        if reckoning.counts_whole_nodes {
            step(Action::ChangeRequest, text::fix_not_exclusive());
        }
        let left = reckoning.most - reckoning.used.unwrap_or(0.0);
        let needs_more = reckoning.need.is_none_or(|need| need > left);
        if left > 0.0 && needs_more && group.why.class != WaitClass::TooSmall && !reckoning.counts_whole_nodes
        {
            step(Action::ChangeRequest, text::fix_ask_at_most(reckoning.amount(left)));
        }
    }
    match (group.why.class, group.why.measure, group.why.reach) {
        (WaitClass::TooLarge, ..) => {
            if reckoning.is_none() {
                step(Action::ChangeRequest, text::fix_ask_less());
            }
        }
        (WaitClass::TooSmall, ..) => step(Action::ChangeRequest, text::fix_ask_more()),
        (_, Measure::Minutes, _) => step(Action::AskOwner, text::fix_budget()),
        (_, Measure::RunningMinutes, _) => step(Action::ChangeRequest, text::fix_shorter_of_own()),
        (_, _, Some(LimitReach::User)) => step(Action::WaitTurn, text::fix_wait_for_own()),
        _ => step(Action::WaitTurn, text::fix_wait_for_group()),
    }
}

fn advise_on_class(class: WaitClass, is_slurm: bool, step: &mut dyn FnMut(Action, Text)) {
    match class {
        WaitClass::Held if is_slurm => step(Action::ReleaseJob, text::fix_release()),
        WaitClass::Held => step(Action::ReleaseJob, text::fix_activate()),
        WaitClass::HeldByAdministrator => step(Action::AskOwner, text::fix_ask_administrator()),
        WaitClass::Dependency => step(Action::WaitTurn, text::fix_dependency()),
        WaitClass::Never => step(Action::ChangeRequest, text::fix_never()),
        WaitClass::Later => step(Action::WaitTurn, text::fix_later()),
        WaitClass::ArrayLimit => step(Action::ChangeRequest, text::fix_array()),
        WaitClass::Policy if is_slurm => step(Action::ChangeRequest, text::fix_policy()),
        WaitClass::Policy => step(Action::ChangeRequest, text::fix_toleration()),
        WaitClass::QueueClosed => step(Action::ChangeRequest, text::fix_queue_closed()),
        WaitClass::Failure if is_slurm => step(Action::LookAgain, text::fix_failure()),
        WaitClass::Failure => step(Action::LookAgain, text::fix_failure_of_pod()),
        WaitClass::Passing => step(Action::WaitTurn, text::fix_passing()),
        _ if is_slurm => step(Action::ChangeRequest, text::fix_request()),
        _ => step(Action::ChangeRequest, text::fix_request_of_pod()),
    }
}

/// Returns the kinds of cards that the cluster has.
fn kinds(scene: &Scene) -> Vec<String> {
    let mut kinds: Vec<String> =
        scene.cluster.iter().flat_map(|node| node.has.card_kinds.keys().cloned()).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}
