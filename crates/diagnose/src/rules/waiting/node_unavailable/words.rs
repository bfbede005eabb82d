//! The words about nodes that take no jobs, and what to do.

use gpuwhy_model::action::{Action, Target};
use gpuwhy_model::scene::NodeCondition;
use gpuwhy_model::scene::Scheduler;
use gpuwhy_model::text::Text;

use super::closed::Closed;
use super::{targets, text};
use crate::draft::Draft;
use crate::facts::cluster::number_of;

/// States in the order in which they explain a closed node best.
const STATES: &[NodeCondition] = &[
    NodeCondition::Maintenance,
    NodeCondition::Rebooting,
    NodeCondition::Unregistered,
    NodeCondition::Down,
    NodeCondition::NotResponding,
    NodeCondition::Failing,
    NodeCondition::Drained,
    NodeCondition::Reserved,
    NodeCondition::UnderPressure,
    NodeCondition::RebootPending,
];

fn state(condition: NodeCondition) -> Option<Text> {
    let words = match condition {
        NodeCondition::Drained => text::is_drained(),
        NodeCondition::Down => text::is_down(),
        NodeCondition::NotResponding => text::is_not_responding(),
        NodeCondition::Failing => text::is_failing(),
        NodeCondition::Reserved => text::is_reserved(),
        NodeCondition::Maintenance => text::is_maintenance(),
        NodeCondition::Rebooting => text::is_rebooting(),
        NodeCondition::RebootPending => text::is_reboot_pending(),
        NodeCondition::Unregistered => text::is_unregistered(),
        NodeCondition::UnderPressure => text::is_under_pressure(),
        _ => return None,
    };
    Some(words)
}

/// Returns the state that most of the closed nodes are in, in words; a second one where there is one.
pub(super) fn states(closed: &Closed<'_>) -> Text {
    let count = |condition: &NodeCondition| {
        number_of(closed.nodes.iter().copied().filter(|node| super::closed::has(node, *condition)))
    };
    let mut present: Vec<(u64, &NodeCondition)> = STATES
        .iter()
        .map(|condition| (count(condition), condition))
        .filter(|(count, _)| *count > 0)
        .collect();
    present.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut words = present.into_iter().filter_map(|(_, condition)| state(*condition));
    match (words.next(), words.next()) {
        (Some(first), Some(second)) => text::is_both(first, second),
        (Some(only), None) => only,
        (None, _) => text::is_closed(),
    }
}

/// Returns the finding about a single node in one sentence.
pub(super) fn summary_node(closed: &Closed<'_>) -> Text {
    text::summary_node(states(closed))
}

/// What to do about a node.
type Advice = fn() -> Text;

/// What somebody, or a check, wrote at a node says more than its state.
const KNOWN_REASONS: &[(&[&str], Advice)] = &[
    (&["count reported lower than configured", "gres/gpu count repor", "gpu count"], text::fix_cards_missing),
    (&["kill task failed", "killtask", "epilog error", "prolog error"], text::fix_unkillable),
    (
        &[
            "low realmemory",
            "low real memory",
            "low memory",
            "low socket",
            "low cpu",
            "low core",
            "low tmpdisk",
        ],
        text::fix_less_than_configured,
    ),
    (
        &["not responding", "no respond", "node unexpectedly rebooted", "unexpectedly rebooted"],
        text::fix_not_responding,
    ),
    (&["reboot", "maint", "upgrade", "update", "patch"], text::fix_planned),
    (&["nhc", "health", "check", "xid", "ecc", "gpu"], text::fix_health),
];

/// Adds what to do: for those who wait, and for those who may open the nodes.
pub(super) fn advise(closed: &Closed<'_>, jobs: Vec<Target>, has_time_limit: bool, draft: &mut Draft) {
    let is_slurm = closed.nodes.first().is_none_or(|node| node.scheduler == Scheduler::Slurm);
    let nodes = targets(&closed.nodes);
    let is_planned = closed.any(NodeCondition::Maintenance)
        || closed.any(NodeCondition::RebootPending)
        || closed.any(NodeCondition::Rebooting)
        || draft.finding.detail.get("reason").is_some_and(|reason| reason.contains("aintenance"));
    if is_planned {
        draft.advise(Action::WaitTurn, jobs.clone(), text::fix_wait_for_maintenance());
        if has_time_limit {
            draft.advise(Action::ChangeRequest, jobs, text::fix_shorter());
        }
    }
    let mut said: Vec<&str> = Vec::new();
    for (reason, _) in closed.reasons() {
        let lower = reason.to_ascii_lowercase();
        let known = KNOWN_REASONS.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
        if let Some((words, step)) = known
            && !said.contains(&words[0])
        {
            said.push(words[0]);
            draft.advise(Action::ReturnNode, nodes.clone(), step());
        }
    }
    if is_slurm {
        draft.advise(Action::LookAgain, nodes.clone(), text::fix_look());
        draft.advise(Action::ReturnNode, nodes, text::fix_resume());
    } else {
        draft.advise(Action::LookAgain, nodes.clone(), text::fix_look_kubernetes());
        draft.advise(Action::ReturnNode, nodes, text::fix_uncordon());
    }
}
