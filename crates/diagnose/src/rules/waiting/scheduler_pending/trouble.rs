//! What of a job's request, limits, rights or place keeps it from starting.

use gpuwhy_knowledge::WaitClass;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, QuotaHolder, QuotaReach, Scene};
use gpuwhy_model::units::{Bytes, Seconds};

use crate::facts::cluster::{Fit, Group, Reckoning, Room, fit, folded, is_beyond_every_node, reckoning};

/// What keeps a job from starting.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Trouble<'scene> {
    /// The scheduler's reason says it all.
    Reason(WaitClass),
    /// A limit, with what counts against it where that is known.
    Limit { reckoning: Option<Reckoning> },
    /// No node that it may use could ever hold it.
    NeverFits(Misfit<'scene>),
    /// Cards are free, and what it asks for does not fit beside what runs there.
    Beside(Squeeze),
    /// It would fit now on so many nodes, and others are before it.
    Place { nodes: u64 },
    /// No node could hold it even if it were empty, by the word of the scheduler.
    BeyondEveryNode { cards: Option<u64> },
    /// It asks for these nodes by name, and they are in use.
    WantedNodes { nodes: String },
}

/// What no node has.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Misfit<'scene> {
    Cards { need: u64, have: u64 },
    Kind { kind: &'scene str },
    Features { constraint: &'scene str },
    Cpus { need: f64, have: f64 },
    Memory { need: Bytes, have: Bytes },
    Nodes { need: u64, have: u64 },
    Time { need: Seconds, have: Seconds },
}

/// What is not free beside the free cards.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Squeeze {
    Cpus {
        cards: u64,
    },
    Memory {
        cards: u64,
    },
    /// The free cards stand on different nodes.
    Scattered {
        cards: u64,
        need: u64,
    },
}

impl Misfit<'_> {
    /// Returns what is asked for and what there is, as the report gives them.
    pub(super) fn numbers(&self) -> (String, String) {
        match self {
            Self::Cards { need, have } | Self::Nodes { need, have } => (need.to_string(), have.to_string()),
            Self::Kind { kind } => ((*kind).to_owned(), "0".to_owned()),
            Self::Features { constraint } => ((*constraint).to_owned(), "0".to_owned()),
            Self::Cpus { need, have } => (need.to_string(), have.to_string()),
            Self::Memory { need, have } => (need.0.to_string(), have.0.to_string()),
            Self::Time { need, have } => (need.0.to_string(), have.0.to_string()),
        }
    }
}

impl Squeeze {
    pub(super) const fn free(&self) -> u64 {
        match self {
            Self::Cpus { cards } | Self::Memory { cards } | Self::Scattered { cards, .. } => *cards,
        }
    }
}

/// No more jobs of one group are compared with the nodes: the others are like them.
const COMPARED_MAX: usize = 300;

/// A group of jobs, taken apart: those in the same trouble of their own, and those that nothing but room is in the way of.
#[derive(Debug)]
pub(in super::super) struct Apart<'scene> {
    pub(in super::super) troubled: Vec<(Group<'scene>, Trouble<'scene>)>,
    pub(in super::super) others: Option<Group<'scene>>,
}

/// Takes a group of jobs apart. Jobs that wait for room or their turn may differ in what they ask for.
pub(in super::super) fn apart<'scene>(scene: &'scene Scene, group: &Group<'scene>) -> Apart<'scene> {
    let mut apart = Apart { troubled: Vec::new(), others: None };
    if !group.why.is_demand() {
        match trouble(scene, group, group.example()) {
            Some(trouble) => apart.troubled.push((group.clone(), trouble)),
            None => apart.others = Some(group.clone()),
        }
        return apart;
    }
    let mut others: Vec<&Job> = Vec::new();
    for (place, job) in group.jobs.iter().enumerate() {
        let found = if place < COMPARED_MAX { trouble(scene, group, job) } else { None };
        let Some(found) = found else {
            others.push(job);
            continue;
        };
        match apart.troubled.iter_mut().find(|(_, known)| *known == found) {
            Some((same, _)) => same.add(job),
            None => apart.troubled.push((group.with(vec![*job]), found)),
        }
    }
    apart.others = (!others.is_empty()).then(|| group.with(others));
    apart
}

/// Returns what keeps a job of a group from starting, beside a full cluster; none where nothing does.
fn trouble<'scene>(scene: &'scene Scene, group: &Group<'scene>, job: &'scene Job) -> Option<Trouble<'scene>> {
    match group.why.class {
        WaitClass::Request | WaitClass::TooLarge if group.why.resource.is_none() || group.is_refused => {
            // The nodes may show what of the request it is; a script says what was asked for.
            let job = script_of(scene, job).unwrap_or(job);
            let misfit = misfit(scene, job, &fit(scene, job));
            Some(misfit.map_or_else(|| by_reason(scene, job, group), Trouble::NeverFits))
        }
        WaitClass::Quota | WaitClass::TooLarge | WaitClass::TooSmall => Some(by_reason(scene, job, group)),
        WaitClass::Capacity | WaitClass::Turn | WaitClass::Unknown => of_demand(scene, job, group),
        WaitClass::Nodes => wanted_nodes(job, &fit(scene, job)),
        WaitClass::Ended => None,
        class => Some(Trouble::Reason(class)),
    }
}

/// Returns what the scheduler's reason says: a limit, or all there is to say.
fn by_reason<'scene>(scene: &Scene, job: &Job, group: &Group<'_>) -> Trouble<'scene> {
    match group.why.class {
        WaitClass::Quota | WaitClass::TooLarge | WaitClass::TooSmall => {
            Trouble::Limit { reckoning: reckoning(scene, job, &group.why) }
        }
        class => Trouble::Reason(class),
    }
}

/// Returns the script of a job that says nothing of its request itself, where there is just one.
fn script_of<'scene>(scene: &'scene Scene, job: &Job) -> Option<&'scene Job> {
    let is_script = |other: &&Job| {
        other.id.is_empty()
            && !other.phase.is_known()
            && other.scheduler == job.scheduler
            && !other.asked.is_unknown()
    };
    let mut scripts = scene.jobs.iter().filter(is_script);
    let only = scripts.next()?;
    (job.asked.is_unknown() && scripts.next().is_none()).then_some(only)
}

/// Returns what is wrong with a job that is told to wait for room or its turn.
fn of_demand<'scene>(
    scene: &'scene Scene,
    job: &'scene Job,
    group: &Group<'scene>,
) -> Option<Trouble<'scene>> {
    if is_in_closed_queues(scene, job) {
        return Some(Trouble::Reason(WaitClass::QueueClosed));
    }
    let fit = fit(scene, job);
    if let Some(misfit) = misfit(scene, job, &fit) {
        return Some(Trouble::NeverFits(misfit));
    }
    if let Some(trouble) = wanted_nodes(job, &fit) {
        return Some(trouble);
    }
    if is_beyond_every_node(job) {
        return Some(Trouble::BeyondEveryNode { cards: job.asked.cards.known().copied() });
    }
    if fit.has_room() {
        let nodes = fit.open_with(Room::Free);
        return (group.why.class == WaitClass::Turn && fit.need.is_known())
            .then_some(Trouble::Place { nodes });
    }
    if fit.is_surely_full() { squeeze(&fit).map(Trouble::Beside) } else { None }
}

fn is_in_closed_queues(scene: &Scene, job: &Job) -> bool {
    let is_closed = |name: &String| {
        scene.queues.iter().any(|queue| queue.name == *name && queue.is_open == Reading::Known(false))
    };
    !job.queues.is_empty() && job.queues.iter().all(is_closed)
}

/// Returns what no candidate has.
fn misfit<'scene>(scene: &'scene Scene, job: &'scene Job, fit: &Fit<'scene>) -> Option<Misfit<'scene>> {
    if let Some(time) = time_misfit(scene, job) {
        return Some(time);
    }
    if fit.candidates.is_empty() {
        return None;
    }
    let need = &fit.need;
    if let (Some(need), Some(have)) = (need.cards, fit.cards_most)
        && need > have
    {
        return Some(Misfit::Cards { need, have });
    }
    if !fit.has_kind {
        let kinds = job.asked.card_kinds.keys().chain(job.asked_per_node.card_kinds.keys());
        return kinds.into_iter().next().map(|kind| Misfit::Kind { kind });
    }
    if !fit.has_features {
        return job.constraint.known().map(|constraint| Misfit::Features { constraint });
    }
    if fit.suitable.is_empty() {
        if let (Some(need), Some(have)) = (need.cpus, fit.cpus_most)
            && need > have
        {
            return Some(Misfit::Cpus { need, have });
        }
        if let (Some(need), Some(have)) = (need.memory, fit.memory_most)
            && need > have
        {
            return Some(Misfit::Memory { need, have });
        }
    }
    let have = fit.number_suitable();
    // A list of nodes may be cut; a queue that says its number is not.
    let is_whole = job.queues.iter().any(|name| {
        scene
            .queues
            .iter()
            .any(|queue| queue.name == *name && (queue.node_counts.is_known() || !queue.nodes.is_empty()))
    });
    (is_whole && need.nodes > have).then_some(Misfit::Nodes { need: need.nodes, have })
}

/// Returns the time limit of a job's queues where it asks for more.
fn time_misfit<'scene>(scene: &Scene, job: &Job) -> Option<Misfit<'scene>> {
    let need = *job.asked.time.known()?;
    let of_queue = |name: &String| {
        scene.quotas.iter().find(|quota| {
            quota.holder == QuotaHolder::Queue && quota.reach == QuotaReach::Job && quota.name == *name
        })
    };
    let limits: Vec<Seconds> =
        job.queues.iter().map(|name| of_queue(name)?.most.time.known().copied()).collect::<Option<_>>()?;
    let have = limits.into_iter().reduce(|most, next| if next.0 > most.0 { next } else { most })?;
    (need.0 > have.0).then_some(Misfit::Time { need, have })
}

/// Returns the nodes that a job names where they take jobs and are in use.
fn wanted_nodes<'scene>(job: &Job, fit: &Fit<'scene>) -> Option<Trouble<'scene>> {
    let is_in_use = !fit.open.is_empty()
        && fit.closed.is_empty()
        && fit.open.iter().all(|(_, room)| !matches!(room, Room::Free | Room::Unknown));
    (!job.wanted_nodes.is_empty() && is_in_use)
        .then(|| Trouble::WantedNodes { nodes: folded(job.wanted_nodes.iter().map(String::as_str)) })
}

fn squeeze(fit: &Fit<'_>) -> Option<Squeeze> {
    let need = fit.need.cards?;
    let cards = fit.cards_free;
    let enough = |room: Room| fit.open_with(room).saturating_add(fit.open_with(Room::Free)) >= fit.need.nodes;
    if enough(Room::NoCpus) {
        return Some(Squeeze::Cpus { cards });
    }
    if enough(Room::NoMemory) {
        return Some(Squeeze::Memory { cards });
    }
    let wanted = need.saturating_mul(fit.need.nodes);
    (fit.open_with(Room::TooFewCards) > 1 && cards >= wanted).then_some(Squeeze::Scattered { cards, need })
}
