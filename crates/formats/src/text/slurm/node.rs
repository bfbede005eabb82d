//! Nodes out of what a record says.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, NodeActivity, Resources, Scheduler};

use super::field::Field;
use super::record::Record;
use super::words::{count, memory, said};
use super::{hostlist, state, tres};

/// A text names no more nodes: it is no output of a scheduler.
const NODES_MAX: usize = 65_536;

/// Nodes that several rows speak of: a node stands in one row for each of its queues.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    all: Vec<ClusterNode>,
    places: BTreeMap<String, usize>,
}

impl Nodes {
    /// Adds the nodes of a record. Returns whether it is one of nodes.
    pub(super) fn add(&mut self, record: &Record) -> bool {
        let names = record.get(Field::NodeName).map(hostlist::names).unwrap_or_default();
        let number = record.get(Field::NodeCount).and_then(count);
        let state = record.get(Field::State).and_then(state::node_state);
        let is_of_nodes = state.is_some()
            || record.has(Field::Gres)
            || record.has(Field::Reason)
            || record.has(Field::Features);
        if !is_of_nodes || names.is_empty() && number.unwrap_or(0) == 0 {
            return false;
        }
        let with_name = names.len() as u64;
        let pattern = node(record, state, with_name.max(number.unwrap_or(0)));
        for name in names {
            self.add_node(ClusterNode { name, ..pattern.clone() });
        }
        let unnamed = number.unwrap_or(0).saturating_sub(with_name);
        if unnamed > 0 && self.all.len() < NODES_MAX {
            self.all.push(ClusterNode { alike: unnamed - 1, ..pattern });
        }
        true
    }

    fn add_node(&mut self, node: ClusterNode) {
        if let Some(place) = self.places.get(&node.name) {
            join(&mut self.all[*place], node);
        } else if self.all.len() < NODES_MAX {
            self.places.insert(node.name.clone(), self.all.len());
            self.all.push(node);
        }
    }

    pub(super) fn into_all(self) -> Vec<ClusterNode> {
        self.all
    }
}

/// Adds what another row says of a node.
fn join(node: &mut ClusterNode, other: ClusterNode) {
    for queue in other.queues {
        if !node.queues.contains(&queue) {
            node.queues.push(queue);
        }
    }
    if other.conditions.is_known() {
        node.state = other.state.or(std::mem::take(&mut node.state));
        node.activity = other.activity.or(std::mem::take(&mut node.activity));
        node.conditions = other.conditions;
    }
    node.reason = std::mem::take(&mut node.reason).or(other.reason);
    node.reason_by = std::mem::take(&mut node.reason_by).or(other.reason_by);
    node.reason_at = std::mem::take(&mut node.reason_at).or(other.reason_at);
    if node.features.is_empty() {
        node.features = other.features;
    }
    if node.has.is_unknown() {
        node.has = other.has;
    }
    if node.given.is_unknown() {
        node.given = other.given;
    }
}

/// Returns the node that a record describes, without its name. A record of several gives amounts of one only where they
/// are the same for each.
fn node(record: &Record, state: Option<state::NodeState>, number: u64) -> ClusterNode {
    let mut node = ClusterNode { scheduler: Scheduler::Slurm, ..ClusterNode::default() };
    if let Some(state) = state {
        node.state = record.get(Field::State).map(str::to_owned).into();
        node.activity = state.activity.into();
        node.conditions = Reading::Known(state.conditions);
    }
    fill_reason(record, &mut node);
    let parts = record.get(Field::Partition).into_iter().flat_map(|text| text.split(','));
    node.queues = parts.filter_map(|part| said(part.trim_end_matches('*'))).map(str::to_owned).collect();
    let features = record.get(Field::Features).into_iter().flat_map(|text| text.split(','));
    node.features = features.filter_map(said).map(str::to_owned).collect();
    fill_amounts(record, number, &mut node);
    node
}

/// Takes `Not responding [root@2026-05-01T10:00:00]` apart.
fn fill_reason(record: &Record, node: &mut ClusterNode) {
    let Some(text) = record.get(Field::Reason) else {
        return;
    };
    let (text, mark) = match text.rsplit_once('[').filter(|(_, mark)| mark.contains('@')) {
        Some((text, mark)) => (text.trim_end(), mark.trim_end_matches(']').split_once('@')),
        None => (text, None),
    };
    node.reason = said(text).map(masked_text).into();
    let by = record.get(Field::ReasonBy).or_else(|| record.get(Field::User));
    let by = mark.map(|(user, _)| user).or(by).map(|user| user.split('(').next().unwrap_or_default());
    node.reason_by = by.map(str::to_owned).into();
    let at = mark.map(|(_, at)| at).or_else(|| record.get(Field::ReasonAt));
    node.reason_at = at.map(str::to_owned).into();
}

fn fill_amounts(record: &Record, number: u64, node: &mut ClusterNode) {
    let mut has = record.get(Field::Tres).and_then(tres::resources).unwrap_or_default();
    has.nodes = Reading::default();
    let (has_tres, counts_cards) = (!has.is_unknown(), has.cards.is_known());
    // `(null)` says that there is none, an absent column says nothing.
    let gres = record.raw(Field::Gres);
    if let Some(cards) = record.all(Field::Gres).find_map(tres::gres) {
        has.cards = cards.cards;
        has.card_kinds = cards.card_kinds;
    } else if gres.is_some_and(|text| text.trim().is_empty() || text.trim() == "(null)") {
        has.cards = Reading::Known(0);
    }
    has.cpus = has.cpus.or(record.get(Field::Cpus).and_then(count).map(tres::cores).into());
    has.memory =
        has.memory.or(record.get(Field::MemoryPerNode).and_then(memory).map(|(bytes, _)| bytes).into());
    let given_tres = record.raw(Field::GivenTres);
    let mut given = given_tres.and_then(tres::resources).unwrap_or_default();
    given.nodes = Reading::default();
    if given_tres.is_some() && has_tres {
        // What the node has and the list does not name is not given.
        let none_given = |is_counted: bool| if is_counted { Reading::Known(0) } else { Reading::default() };
        given.cards = given.cards.or(none_given(counts_cards));
        given.cpus = given.cpus.or(none_given(has.cpus.is_known()).map(tres::cores));
        given.memory = given.memory.or(none_given(has.memory.is_known()).map(gpuwhy_model::units::Bytes));
    }
    if let Some(used) = record.all(Field::GresUsed).find_map(tres::gres) {
        given.cards = used.cards;
        given.card_kinds = used.card_kinds.into_iter().filter(|(_, number)| *number > 0).collect();
    }
    given.cpus = given.cpus.or(record.get(Field::CpusGiven).and_then(count).map(tres::cores).into());
    let memory_given = record.get(Field::MemoryGiven).and_then(memory).map(|(bytes, _)| bytes);
    given.memory = given.memory.or(memory_given.into());
    let by_use = record.get(Field::CpusByUse).and_then(by_use);
    if let Some([used, _, _, all]) = by_use
        && number == 1
    {
        has.cpus = has.cpus.or(Reading::Known(tres::cores(all)));
        given.cpus = given.cpus.or(Reading::Known(tres::cores(used)));
    }
    if node.activity == Reading::Known(NodeActivity::Idle) {
        nothing_given(&has, &mut given);
    }
    node.has = has;
    node.given = given;
}

/// Says that an idle node has given nothing.
fn nothing_given(has: &Resources, given: &mut Resources) {
    let zero = |counted: bool| if counted { Reading::Known(0) } else { Reading::default() };
    given.cards = std::mem::take(&mut given.cards).or(zero(has.cards.is_known()));
    given.cpus = std::mem::take(&mut given.cpus).or(zero(has.cpus.is_known()).map(tres::cores));
}

/// Returns the numbers of `given/idle/other/all`.
pub(super) fn by_use(text: &str) -> Option<[u64; 4]> {
    let numbers: Vec<u64> = text.split('/').map(count).collect::<Option<_>>()?;
    numbers.try_into().ok()
}
