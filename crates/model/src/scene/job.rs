//! A job of a scheduler: a batch job, a pod, a workload that waits for its place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Container, Resources};
use crate::closed_list::closed_list;
use crate::command_line::CommandLine;
use crate::reading::Reading;
use crate::units::{Bytes, Percent, Seconds, Share};

closed_list! {
    /// Who gives cards to jobs.
    #[derive(Default)]
    pub enum Scheduler {
        /// Slurm.
        #[default]
        Slurm = "slurm",
        /// Kubernetes with what schedules for it.
        Kubernetes = "kubernetes",
    }
}

closed_list! {
    /// How far a job has come.
    pub enum JobPhase {
        /// It waits for its place.
        Waiting = "waiting",
        /// It has its place and does not run yet.
        Starting = "starting",
        /// It runs.
        Running = "running",
        /// It was stopped and keeps its place.
        Suspended = "suspended",
        /// It is over, and its place is not free yet.
        Ending = "ending",
        /// It ended by itself, without an error.
        Completed = "completed",
        /// It ended with an error.
        Failed = "failed",
        /// Somebody ended it.
        Cancelled = "cancelled",
        /// Its time was over.
        TimedOut = "timed-out",
        /// It needed more memory of the host than it was given.
        OutOfMemory = "out-of-memory",
        /// One of its nodes failed.
        NodeFailed = "node-failed",
        /// It had to give way to another one.
        Preempted = "preempted",
        /// The scheduler did not take it at all.
        Refused = "refused",
    }
}

/// A job of a scheduler.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Job {
    /// Its id in the scheduler's own form (`8841`, `8841_3`, `namespace/pod`); empty where the source does not say it.
    pub id: String,
    /// Further jobs just like it that the source only counts: tasks of an array, a row of a summary.
    pub alike: u64,
    /// Whose job it is.
    pub scheduler: Scheduler,
    /// What its owner called it, secrets masked.
    pub name: Reading<String>,
    /// Who submitted it.
    pub user: Reading<String>,
    /// On whose account it runs: an account of Slurm, a namespace.
    pub account: Reading<String>,
    /// Queues in which it may start: partitions, a queue of Kueue.
    pub queues: Vec<String>,
    /// Its quality of service or priority class.
    pub qos: Reading<String>,
    /// Its state in the scheduler's own word.
    pub state: Reading<String>,
    /// How far it has come.
    pub phase: Reading<JobPhase>,
    /// Why it waits, in the scheduler's own word: the first of `reasons`.
    pub reason: Reading<String>,
    /// Everything that the scheduler names as a reason why it waits.
    pub reasons: Vec<WaitReason>,
    /// Nodes that the scheduler looked at in vain.
    pub nodes_tried: Reading<u64>,
    /// What it says of making room for it by ending others.
    pub preemption: Vec<WaitReason>,
    /// Its priority as the scheduler counts it: higher starts first.
    pub priority: Reading<f64>,
    /// What its priority is made of, by the scheduler's own names.
    pub priority_parts: BTreeMap<String, f64>,
    /// What it asks for in all, its time limit included.
    pub asked: Resources,
    /// What it asks for on each of its nodes.
    pub asked_per_node: Resources,
    /// What it was given.
    pub given: Resources,
    /// Whether it wants its nodes for itself, so that all of each node counts as its own.
    pub exclusive: Reading<bool>,
    /// Features or labels that its nodes must have, in the scheduler's own form.
    pub constraint: Reading<String>,
    /// The reservation that it asks for.
    pub reservation: Reading<String>,
    /// Jobs that it waits for, in the scheduler's own form.
    pub dependency: Reading<String>,
    /// Nodes that it must have.
    pub wanted_nodes: Vec<String>,
    /// Nodes that it does not want.
    pub excluded_nodes: Vec<String>,
    /// Nodes on which it runs or ran.
    pub nodes: Vec<String>,
    /// When it was submitted, as the source writes it: mostly local time.
    pub submitted: Reading<String>,
    /// Not to be started before this time, as the source writes it.
    pub begins: Reading<String>,
    /// When the scheduler expects to start it, as the source writes it.
    pub expected_start: Reading<String>,
    /// How long it has run.
    pub elapsed: Reading<Seconds>,
    /// What it runs, secrets masked.
    pub command: Reading<CommandLine>,
    /// What it made of what it was given.
    pub usage: JobUsage,
    /// Its containers, where it is a pod.
    pub containers: Vec<Container>,
}

impl Job {
    /// Returns how many jobs this entry stands for.
    pub const fn number(&self) -> u64 {
        self.alike.saturating_add(1)
    }
}

/// One reason why a job waits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WaitReason {
    /// The scheduler's own word for it, or its sentence where it has no word.
    pub word: String,
    /// What else it says about it.
    pub note: Option<String>,
    /// For how many nodes it holds, where it says a number.
    pub nodes: Option<u64>,
    /// Nodes that it names.
    pub named_nodes: Vec<String>,
}

/// What a job made of what it was given, over its whole run so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobUsage {
    /// Mean utilization of its cards.
    pub gpu_busy: Reading<Percent>,
    /// Processes of it on its cards.
    pub gpu_processes: Reading<u64>,
    /// Card memory that it used at most.
    pub gpu_memory: Reading<Bytes>,
    /// The same as a share of what its cards have.
    pub gpu_memory_share: Reading<Share>,
    /// Processor time of all its processes.
    pub cpu_time: Reading<Seconds>,
    /// Processor time as a share of what its processors could have given.
    pub cpu_share: Reading<Share>,
    /// Memory of the host that it used at most.
    pub memory: Reading<Bytes>,
    /// The same as a share of what it was given.
    pub memory_share: Reading<Share>,
}
