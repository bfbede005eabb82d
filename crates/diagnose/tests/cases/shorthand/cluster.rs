//! Jobs, nodes, queues and limits of a scheduler in few words.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    ClusterNode, Job, JobPhase, JobUsage, NodeActivity, NodeCondition, NodeCounts, Queue, Quota, QuotaHolder,
    QuotaReach, Resources, Scheduler, WaitReason,
};
use gpuwhy_model::units::{Cores, Percent, Seconds, Share};
use serde::Deserialize;

use super::values::gibibytes;

/// A job; times are hours, memory is GiB. `on` says on which nodes it runs.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, default)]
pub(super) struct JobFile {
    scheduler: Scheduler,
    phase: Option<JobPhase>,
    /// A script: nothing is known of how far it has come.
    script: bool,
    reason: Option<String>,
    /// Further reasons, as Kubernetes gives them.
    reasons: Vec<String>,
    names: Vec<String>,
    alike: u64,
    user: Option<String>,
    account: Option<String>,
    qos: Option<String>,
    queue: Option<String>,
    priority: Option<f64>,
    cards: Option<u64>,
    each: Option<u64>,
    kind: Option<String>,
    cpus: Option<f64>,
    memory: Option<f64>,
    nodes: Option<u64>,
    time: Option<f64>,
    exclusive: Option<bool>,
    constraint: Option<String>,
    dependency: Option<String>,
    wants: Vec<String>,
    on: Vec<String>,
    command: Option<String>,
    /// What it used: per cent of its cards, share of its processors and memory, over hours.
    gpu: Option<f64>,
    cpu_share: Option<f64>,
    memory_share: Option<f64>,
    ran: Option<f64>,
}

impl Default for JobFile {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::Slurm,
            phase: None,
            script: false,
            reason: None,
            reasons: Vec::new(),
            names: Vec::new(),
            alike: 0,
            user: None,
            account: None,
            qos: None,
            queue: None,
            priority: None,
            cards: None,
            each: None,
            kind: None,
            cpus: None,
            memory: None,
            nodes: None,
            time: None,
            exclusive: None,
            constraint: None,
            dependency: None,
            wants: Vec::new(),
            on: Vec::new(),
            command: None,
            gpu: None,
            cpu_share: None,
            memory_share: None,
            ran: None,
        }
    }
}

/// A node, or several alike: `number`.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NodeFile {
    scheduler: Scheduler,
    activity: Option<NodeActivity>,
    is: Vec<NodeCondition>,
    state_is_unseen: bool,
    reason: Option<String>,
    queues: Vec<String>,
    features: Vec<String>,
    cards: Option<u64>,
    kind: Option<String>,
    given: Option<u64>,
    cpus: Option<f64>,
    cpus_given: Option<f64>,
    memory: Option<f64>,
    memory_given: Option<f64>,
    number: u64,
    /// Cards that its kubelet counts.
    capacity: Option<u64>,
    /// Cards that a label counts.
    counted: Option<u64>,
    /// Whether a label says that it has cards.
    has_cards: Option<bool>,
}

impl Default for NodeFile {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::Slurm,
            activity: None,
            is: Vec::new(),
            state_is_unseen: false,
            reason: None,
            queues: Vec::new(),
            features: Vec::new(),
            cards: None,
            kind: None,
            given: None,
            cpus: None,
            cpus_given: None,
            memory: None,
            memory_given: None,
            number: 1,
            capacity: None,
            counted: None,
            has_cards: None,
        }
    }
}

/// A queue: `[allocated, idle, other]` nodes.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct QueueFile {
    open: Option<bool>,
    counts: Option<[u64; 3]>,
    nodes: Vec<String>,
    /// Longest time of a job, in hours.
    time: Option<f64>,
}

/// A limit.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitFile {
    holder: QuotaHolder,
    name: String,
    reach: QuotaReach,
    cards: Option<u64>,
    cpus: Option<f64>,
    jobs: Option<u64>,
    time: Option<f64>,
    used_cards: Option<u64>,
}

fn kinds(kind: Option<&String>, number: Option<u64>) -> BTreeMap<String, u64> {
    kind.cloned().zip(number).into_iter().collect()
}

fn hours(number: f64) -> Seconds {
    Seconds(number * 3600.0)
}

pub(super) fn job(id: &str, file: &JobFile) -> Job {
    let reasons = file.reason.iter().chain(&file.reasons).enumerate().map(|(place, word)| WaitReason {
        word: word.clone(),
        named_nodes: if place == 0 { file.names.clone() } else { Vec::new() },
        ..WaitReason::default()
    });
    let reasons: Vec<WaitReason> = reasons.collect();
    let phase = file.phase.unwrap_or(if reasons.is_empty() { JobPhase::Running } else { JobPhase::Waiting });
    let cards = file.cards.or(file.each.zip(file.nodes).map(|(each, nodes)| each * nodes));
    let asked = Resources {
        nodes: file.nodes.into(),
        cards: cards.into(),
        card_kinds: kinds(file.kind.as_ref(), cards),
        cpus: file.cpus.map(Cores).into(),
        memory: file.memory.map(gibibytes).into(),
        time: file.time.map(hours).into(),
        jobs: Reading::default(),
    };
    let each = file.each.or(if file.nodes == Some(1) { cards } else { None });
    Job {
        id: if id.starts_with('-') { String::new() } else { id.to_owned() },
        alike: file.alike,
        scheduler: file.scheduler,
        user: file.user.clone().into(),
        account: file.account.clone().into(),
        queues: file.queue.clone().into_iter().collect(),
        qos: file.qos.clone().into(),
        phase: if file.script { Reading::default() } else { Reading::Known(phase) },
        reason: reasons.first().map(|reason| reason.word.clone()).into(),
        reasons,
        priority: file.priority.into(),
        asked_per_node: Resources {
            cards: each.into(),
            card_kinds: kinds(file.kind.as_ref(), each),
            ..Resources::default()
        },
        given: if phase == JobPhase::Running {
            Resources { nodes: Reading::default(), ..asked.clone() }
        } else {
            Resources::default()
        },
        asked,
        exclusive: file.exclusive.into(),
        constraint: file.constraint.clone().into(),
        dependency: file.dependency.clone().into(),
        wanted_nodes: file.wants.clone(),
        nodes: file.on.clone(),
        command: file.command.as_ref().map(|line| CommandLine::masked(line.split_whitespace())).into(),
        elapsed: file.ran.map(hours).into(),
        usage: JobUsage {
            gpu_busy: file.gpu.map(Percent).into(),
            cpu_share: file.cpu_share.map(Share).into(),
            memory_share: file.memory_share.map(Share).into(),
            ..JobUsage::default()
        },
        ..Job::default()
    }
}

pub(super) fn node(name: &str, file: &NodeFile) -> ClusterNode {
    let conditions = if file.state_is_unseen { Reading::default() } else { Reading::Known(file.is.clone()) };
    ClusterNode {
        name: if name.starts_with('-') { String::new() } else { name.to_owned() },
        alike: file.number - 1,
        scheduler: file.scheduler,
        activity: file.activity.into(),
        conditions,
        reason: file.reason.clone().into(),
        queues: file.queues.clone(),
        features: file.features.clone(),
        has: Resources {
            cards: file.cards.into(),
            card_kinds: kinds(file.kind.as_ref(), file.cards),
            cpus: file.cpus.map(Cores).into(),
            memory: file.memory.map(gibibytes).into(),
            ..Resources::default()
        },
        given: Resources {
            cards: file.given.into(),
            cpus: file.cpus_given.map(Cores).into(),
            memory: file.memory_given.map(gibibytes).into(),
            ..Resources::default()
        },
        built_in: Resources { cards: file.capacity.into(), ..Resources::default() },
        counted_cards: file.counted.into(),
        has_cards: file.has_cards.into(),
        ..ClusterNode::default()
    }
}

pub(super) fn queue(name: &str, file: &QueueFile) -> Queue {
    let counts = file.counts.map(|[allocated, idle, other]| NodeCounts {
        allocated,
        idle,
        other,
        total: allocated + idle + other,
    });
    Queue {
        name: name.to_owned(),
        is_open: file.open.into(),
        nodes: file.nodes.clone(),
        node_counts: counts.into(),
        ..Queue::default()
    }
}

/// Returns the limit that a queue sets each job.
pub(super) fn limit_of_queue(name: &str, file: &QueueFile) -> Option<Quota> {
    file.time.map(|time| Quota {
        holder: QuotaHolder::Queue,
        name: name.to_owned(),
        reach: QuotaReach::Job,
        most: Resources { time: Reading::Known(hours(time)), ..Resources::default() },
        ..Quota::default()
    })
}

pub(super) fn quota(file: &LimitFile) -> Quota {
    Quota {
        holder: file.holder,
        name: file.name.clone(),
        reach: file.reach,
        most: Resources {
            cards: file.cards.into(),
            cpus: file.cpus.map(Cores).into(),
            jobs: file.jobs.into(),
            time: file.time.map(hours).into(),
            ..Resources::default()
        },
        used: Resources { cards: file.used_cards.into(), ..Resources::default() },
        ..Quota::default()
    }
}
