//! A cluster as its scheduler sees it: nodes, queues, limits, reservations, the scheduler itself.

use serde::{Deserialize, Serialize};

use super::{Resources, Scheduler};
use crate::closed_list::closed_list;
use crate::reading::Reading;
use crate::units::Seconds;

closed_list! {
    /// How much of a node is given to jobs.
    pub enum NodeActivity {
        /// Nothing.
        Idle = "idle",
        /// A part.
        Mixed = "mixed",
        /// All of it.
        Allocated = "allocated",
    }
}

closed_list! {
    /// What else is so with a node, beside how much of it is given away.
    pub enum NodeCondition {
        /// Somebody closed it: what runs there may end, nothing new starts.
        Drained = "drained",
        /// It is down.
        Down = "down",
        /// It does not answer its scheduler.
        NotResponding = "not-responding",
        /// It is about to fail, or has failed.
        Failing = "failing",
        /// It is kept for a reservation.
        Reserved = "reserved",
        /// It is in maintenance.
        Maintenance = "maintenance",
        /// It waits for a reboot.
        RebootPending = "reboot-pending",
        /// It is being rebooted.
        Rebooting = "rebooting",
        /// It came back with less than the scheduler was told that it has.
        Unregistered = "unregistered",
        /// A job that is over still leaves it.
        Completing = "completing",
        /// It is kept free for a job of higher priority.
        Planned = "planned",
        /// It is switched off until somebody needs it.
        PoweredDown = "powered-down",
        /// It is being switched on.
        PoweringUp = "powering-up",
        /// It lacks memory, disk or process numbers.
        UnderPressure = "under-pressure",
        /// It takes only jobs that say that they bear it: a taint.
        Tainted = "tainted",
    }
}

impl NodeCondition {
    /// Returns whether nothing new starts on a node of which this is so.
    pub const fn closes(self) -> bool {
        match self {
            Self::Drained
            | Self::Down
            | Self::NotResponding
            | Self::Failing
            | Self::Reserved
            | Self::Maintenance
            | Self::Rebooting
            | Self::Unregistered
            | Self::UnderPressure => true,
            Self::RebootPending
            | Self::Completing
            | Self::Planned
            | Self::PoweredDown
            | Self::PoweringUp
            | Self::Tainted => false,
        }
    }
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterNode {
    /// Its name; empty where the source only counts.
    pub name: String,
    /// Further nodes just like it that the source only counts.
    pub alike: u64,
    /// Whose node it is.
    pub scheduler: Scheduler,
    /// Its state in the scheduler's own word.
    pub state: Reading<String>,
    /// How much of it is given to jobs.
    pub activity: Reading<NodeActivity>,
    /// What else is so with it; none: nothing.
    pub conditions: Reading<Vec<NodeCondition>>,
    /// Why it is in that state, as somebody or some check wrote it; secrets masked.
    pub reason: Reading<String>,
    /// Who wrote that.
    pub reason_by: Reading<String>,
    /// When, as the source writes it.
    pub reason_at: Reading<String>,
    /// Queues that it belongs to.
    pub queues: Vec<String>,
    /// Its features or labels.
    pub features: Vec<String>,
    /// What it has for jobs.
    pub has: Resources,
    /// What of it is given to jobs.
    pub given: Resources,
    /// What is built into it, as far as it was told: part of that may not be for jobs.
    pub built_in: Resources,
    /// Cards that somebody counted on it, beside its scheduler.
    pub counted_cards: Reading<u64>,
    /// Whether it is said to have a card at all, beside its scheduler.
    pub has_cards: Reading<bool>,
}

impl ClusterNode {
    /// Returns how many nodes this entry stands for.
    pub const fn number(&self) -> u64 {
        self.alike.saturating_add(1)
    }

    /// Returns the conditions that keep new jobs away, as far as they are known.
    pub fn closed_by(&self) -> impl Iterator<Item = NodeCondition> {
        let conditions = self.conditions.known().into_iter().flatten().copied();
        conditions.filter(|condition| condition.closes())
    }

    /// Returns whether new jobs may start on it; none when its state is not known.
    pub fn takes_jobs(&self) -> Option<bool> {
        self.conditions.known().map(|_| self.closed_by().next().is_none())
    }
}

/// A queue in which jobs wait: a partition, a cluster queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// Whose queue it is.
    pub scheduler: Scheduler,
    /// Its state in the scheduler's own word.
    pub state: Reading<String>,
    /// Whether jobs of it are started.
    pub is_open: Reading<bool>,
    /// Names of its nodes.
    pub nodes: Vec<String>,
    /// What its nodes have together.
    pub has: Resources,
    /// Nodes of it by what they do.
    pub node_counts: Reading<NodeCounts>,
    /// Whether each job gets its nodes for itself.
    pub exclusive: Reading<bool>,
    /// Its tier or weight against other queues: higher starts first.
    pub priority: Reading<f64>,
    /// Accounts that may use it; empty: any, or not said.
    pub accounts: Vec<String>,
    /// Qualities of service that it takes; empty: any, or not said.
    pub qos: Vec<String>,
}

/// Nodes by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeCounts {
    /// Jobs run there.
    pub allocated: u64,
    /// Free.
    pub idle: u64,
    /// Neither: closed, down.
    pub other: u64,
    /// All.
    pub total: u64,
}

closed_list! {
    /// What sets a limit.
    #[derive(Default)]
    pub enum QuotaHolder {
        /// A quality of service.
        #[default]
        Qos = "qos",
        /// An account, or a user in it.
        Account = "account",
        /// A queue.
        Queue = "queue",
        /// A namespace.
        Namespace = "namespace",
    }
}

closed_list! {
    /// What a limit counts together.
    #[derive(Default)]
    pub enum QuotaReach {
        /// All jobs under it.
        #[default]
        Group = "group",
        /// The jobs of each user.
        User = "user",
        /// The jobs of each account.
        Account = "account",
        /// Each job.
        Job = "job",
        /// Each node of a job.
        Node = "node",
        /// Each job, which must ask for this at least.
        JobAtLeast = "job-at-least",
    }
}

/// A limit of what jobs may use, and what is used of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Whose limit it is.
    pub scheduler: Scheduler,
    /// What sets it.
    pub holder: QuotaHolder,
    /// Name of what sets it; empty where the source does not say it.
    pub name: String,
    /// The one user whom it is set for; empty: everybody.
    pub user: String,
    /// What it counts together.
    pub reach: QuotaReach,
    /// How much is allowed; what is unsupported here is without limit.
    pub most: Resources,
    /// How many jobs may wait and run at a time; unsupported: any number.
    pub submitted_most: Reading<u64>,
    /// What is used of it.
    pub used: Resources,
    /// How small the use of those under it was against their share, 0 to 1: small is used much.
    pub fair_share: Reading<f64>,
}

/// Nodes that are kept for somebody for some time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// Whose reservation it is.
    pub scheduler: Scheduler,
    /// Names of its nodes.
    pub nodes: Vec<String>,
    /// From when, as the source writes it.
    pub start: Reading<String>,
    /// Until when, as the source writes it.
    pub end: Reading<String>,
    /// Whether it holds now.
    pub is_active: Reading<bool>,
    /// Whether it keeps nodes for maintenance.
    pub is_maintenance: bool,
    /// Users and accounts that may use it.
    pub users: Vec<String>,
}

/// How the scheduler itself does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SchedulerState {
    /// Jobs that wait.
    pub waiting: Reading<u64>,
    /// Jobs that run.
    pub running: Reading<u64>,
    /// How long its last round over the queue took.
    pub cycle: Reading<Seconds>,
    /// How long its last round of filling gaps took.
    pub backfill_cycle: Reading<Seconds>,
    /// Requests that it works on.
    pub threads: Reading<u64>,
    /// Messages to nodes that it could not send yet.
    pub unsent: Reading<u64>,
}
