//! On which nodes a job could start, and what keeps it from them.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, Job, NodeActivity, NodeCondition, Scene};
use gpuwhy_model::units::Bytes;

use super::kubernetes::is_told_of_full_nodes;

/// What a job needs on each of its nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Need {
    pub(crate) nodes: u64,
    pub(crate) cards: Option<u64>,
    pub(crate) kind: Option<String>,
    pub(crate) cpus: Option<f64>,
    pub(crate) memory: Option<Bytes>,
    pub(crate) is_exclusive: bool,
}

impl Need {
    /// Returns whether anything is known of what it asks for on a node.
    pub(crate) fn is_known(&self) -> bool {
        self.cards.is_some() || self.cpus.is_some() || self.memory.is_some()
    }

    pub(crate) fn of(job: &Job) -> Self {
        let nodes = job.asked.nodes.known().copied().unwrap_or(1).max(1);
        // Where only the sum is known, at least one node must have an even share.
        let share = |all: u64| all.div_ceil(nodes);
        let per_node = &job.asked_per_node;
        let cards = per_node.cards.known().copied().or_else(|| job.asked.cards.known().copied().map(share));
        let kinds = if per_node.card_kinds.is_empty() { &job.asked.card_kinds } else { &per_node.card_kinds };
        let kind = if kinds.len() == 1 { kinds.keys().next().cloned() } else { None };
        let cpus = per_node.cpus.known().or(job.asked.cpus.known().filter(|_| nodes == 1)).map(|cpus| cpus.0);
        let all_cpus = job.asked.cpus.known().map(|cpus| cpus.0 / nodes as f64);
        let memory = per_node.memory.known().copied();
        let all_memory = job.asked.memory.known().map(|memory| Bytes(memory.0 / nodes));
        Self {
            nodes,
            cards: cards.filter(|cards| *cards > 0),
            kind,
            cpus: larger(cpus, all_cpus).filter(|cpus| *cpus > 0.0),
            memory: memory.max(all_memory).filter(|memory| memory.0 > 0),
            is_exclusive: job.exclusive == Reading::Known(true),
        }
    }
}

/// What one node has for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It could start now.
    Free,
    /// It is known not to fit beside what runs there: no card is free.
    Taken,
    /// Cards are free, processors are not.
    NoCpus,
    /// Cards are free, memory is not.
    NoMemory,
    /// Fewer cards are free than it needs on one node.
    TooFewCards,
    /// How much of it is free is not known.
    Unknown,
}

/// How the nodes that a job may use fit it. Numbers count nodes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fit<'scene> {
    pub(crate) need: Need,
    /// Nodes of its queues.
    pub(crate) candidates: Vec<&'scene ClusterNode>,
    /// Those that could hold it if they were empty.
    pub(crate) suitable: Vec<&'scene ClusterNode>,
    /// Those of the suitable that take no jobs.
    pub(crate) closed: Vec<&'scene ClusterNode>,
    /// Those that take jobs, with the room that they have.
    pub(crate) open: Vec<(&'scene ClusterNode, Room)>,
    /// The most cards that one candidate has; none when it is not known of any.
    pub(crate) cards_most: Option<u64>,
    /// The most processors and memory that one candidate with enough cards has.
    pub(crate) cpus_most: Option<f64>,
    pub(crate) memory_most: Option<Bytes>,
    /// Cards that are free on open nodes.
    pub(crate) cards_free: u64,
    /// Whether some candidate has cards of the kind that is asked for, or does not say its kinds.
    pub(crate) has_kind: bool,
    /// Whether some candidate has the features that are asked for, or features are not known.
    pub(crate) has_features: bool,
}

/// Returns how many nodes some entries stand for.
pub(crate) fn number_of<'node>(nodes: impl IntoIterator<Item = &'node ClusterNode>) -> u64 {
    nodes.into_iter().map(ClusterNode::number).fold(0, u64::saturating_add)
}

impl Fit<'_> {
    pub(crate) fn open_with(&self, room: Room) -> u64 {
        number_of(self.open.iter().filter(|(_, own)| *own == room).map(|(node, _)| *node))
    }

    pub(crate) fn number_open(&self) -> u64 {
        number_of(self.open.iter().map(|(node, _)| *node))
    }

    pub(crate) fn number_closed(&self) -> u64 {
        number_of(self.closed.iter().copied())
    }

    pub(crate) fn number_suitable(&self) -> u64 {
        number_of(self.suitable.iter().copied())
    }

    /// Returns whether the job could start now, as far as it is known.
    pub(crate) fn has_room(&self) -> bool {
        self.open_with(Room::Free) >= self.need.nodes
    }

    /// Returns whether it is known of every open node that it has no room.
    pub(crate) fn is_surely_full(&self) -> bool {
        !self.candidates.is_empty()
            && self.open.iter().all(|(_, room)| !matches!(room, Room::Free | Room::Unknown))
    }

    /// Returns whether the job would fit on open and closed nodes together, and does not on the open ones.
    pub(crate) fn lacks_closed_nodes(&self) -> bool {
        let (free, unknown) = (self.open_with(Room::Free), self.open_with(Room::Unknown));
        self.number_closed() > 0
            && free.saturating_add(unknown) < self.need.nodes
            && free.saturating_add(self.number_closed()) >= self.need.nodes
    }
}

/// Returns how a job fits the nodes of its cluster; nothing where no node is known.
pub(crate) fn fit<'scene>(scene: &'scene Scene, job: &Job) -> Fit<'scene> {
    let mut fit = Fit { need: Need::of(job), ..Fit::default() };
    let mut knows_features = false;
    let is_told_full = is_told_of_full_nodes(job);
    for node in &scene.cluster {
        if node.scheduler != job.scheduler || !is_candidate(scene, job, node) {
            continue;
        }
        fit.candidates.push(node);
        let cards = node.has.cards.known().copied();
        fit.cards_most = fit.cards_most.max(cards);
        let has_kind = has_kind(node, fit.need.kind.as_deref());
        fit.has_kind |= has_kind;
        let has_features = has_features(node, job);
        knows_features |= !node.features.is_empty();
        fit.has_features |= has_features;
        let has_cards = fit.need.cards.is_none_or(|need| cards.is_none_or(|cards| cards >= need));
        if !has_cards || !has_kind || !has_features {
            continue;
        }
        let (cpus, memory) = (node.has.cpus.known().map(|cpus| cpus.0), node.has.memory.known().copied());
        fit.cpus_most = larger(fit.cpus_most, cpus);
        fit.memory_most = fit.memory_most.max(memory);
        let is_enough = fit.need.cpus.is_none_or(|need| cpus.is_none_or(|cpus| cpus >= need))
            && fit.need.memory.is_none_or(|need| memory.is_none_or(|memory| memory >= need));
        if !is_enough {
            continue;
        }
        fit.suitable.push(node);
        let is_named_closed = job.reasons.iter().any(|reason| reason.named_nodes.contains(&node.name));
        if node.takes_jobs() == Some(false)
            || is_named_closed && !node.name.is_empty() && node.takes_jobs().is_none()
        {
            fit.closed.push(node);
            continue;
        }
        let room = match room(node, &fit.need) {
            Room::Unknown if is_told_full => Room::Taken,
            room => room,
        };
        if room != Room::Taken
            && let Some(free) = free_cards(node)
        {
            fit.cards_free = fit.cards_free.saturating_add(free.saturating_mul(node.number()));
        }
        fit.open.push((node, room));
    }
    fit.has_features |= !knows_features;
    fit
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

/// Returns whether a job may use a node, by its queues and the nodes that it names.
fn is_candidate(scene: &Scene, job: &Job, node: &ClusterNode) -> bool {
    if !job.wanted_nodes.is_empty() && !job.wanted_nodes.contains(&node.name) {
        return false;
    }
    if job.excluded_nodes.contains(&node.name) && !node.name.is_empty() {
        return false;
    }
    if job.queues.is_empty() {
        return true;
    }
    let of_queue = |name: &String| {
        node.queues.contains(name)
            || scene.queues.iter().any(|queue| queue.name == *name && queue.nodes.contains(&node.name))
    };
    let is_said = !node.queues.is_empty() || scene.queues.iter().any(|queue| !queue.nodes.is_empty());
    !is_said || job.queues.iter().any(of_queue)
}

/// Returns whether a node has cards of a kind, or does not say its kinds.
fn has_kind(node: &ClusterNode, kind: Option<&str>) -> bool {
    let Some(kind) = kind else {
        return true;
    };
    let kinds = &node.has.card_kinds;
    if kinds.is_empty() {
        // A node without cards has none of any kind.
        return node.has.cards != Reading::Known(0);
    }
    kinds.contains_key(kind)
}

/// Returns whether a node has all features that a job must have; what is more than a list of them is not judged.
fn has_features(node: &ClusterNode, job: &Job) -> bool {
    let Some(constraint) = job.constraint.known() else {
        return true;
    };
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.&,|".contains(sign);
    if node.features.is_empty() || !constraint.chars().all(is_plain) {
        return true;
    }
    let has = |feature: &str| node.features.iter().any(|own| own == feature);
    if constraint.contains('|') {
        return constraint.split(['|', '&', ',']).any(has);
    }
    constraint.split(['&', ',']).all(has)
}

/// Returns the cards of a node that no job has.
pub(crate) fn free_cards(node: &ClusterNode) -> Option<u64> {
    let has = *node.has.cards.known()?;
    if node.activity == Reading::Known(NodeActivity::Idle) && !node.given.cards.is_known() {
        return Some(has);
    }
    node.given.cards.known().map(|given| has.saturating_sub(*given))
}

fn room(node: &ClusterNode, need: &Need) -> Room {
    let activity = node.activity.known().copied();
    let is_waking = node.conditions.known().is_some_and(|conditions| {
        conditions.iter().any(|condition| {
            matches!(
                condition,
                NodeCondition::Planned | NodeCondition::Completing | NodeCondition::PoweringUp
            )
        })
    });
    if is_waking {
        // It is kept for a job before this one, or about to change.
        return Room::Unknown;
    }
    if activity == Some(NodeActivity::Allocated) {
        return Room::Taken;
    }
    if need.is_exclusive && activity == Some(NodeActivity::Mixed) {
        return Room::Taken;
    }
    let free = free_cards(node);
    if let Some(wanted) = need.cards {
        match free {
            Some(0) => return Room::Taken,
            Some(free) if free < wanted => return Room::TooFewCards,
            Some(_) => {}
            None if activity == Some(NodeActivity::Idle) => {}
            None => return Room::Unknown,
        }
    }
    if activity == Some(NodeActivity::Idle) {
        return Room::Free;
    }
    let cpus = both(&node.has.cpus.clone().map(|cpus| cpus.0), &node.given.cpus.clone().map(|cpus| cpus.0));
    if let (Some(wanted), Some((has, given))) = (need.cpus, cpus)
        && has - given < wanted
    {
        return Room::NoCpus;
    }
    let memory =
        both(&node.has.memory.clone().map(|bytes| bytes.0), &node.given.memory.clone().map(|bytes| bytes.0));
    if let (Some(wanted), Some((has, given))) = (need.memory, memory)
        && has.saturating_sub(given) < wanted.0
    {
        return Room::NoMemory;
    }
    let is_known = need.cards.is_none_or(|_| free.is_some()) && (need.cpus.is_none() || cpus.is_some());
    let is_known = is_known && (need.cpus.is_some() || need.cards.is_some());
    if is_known { Room::Free } else { Room::Unknown }
}

fn both<T: Copy>(one: &Reading<T>, other: &Reading<T>) -> Option<(T, T)> {
    Some((*one.known()?, *other.known()?))
}
