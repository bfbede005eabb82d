//! Rows of tables with the columns that `kubectl get` has by itself.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, Job, JobPhase, NodeCounts, Queue, Quota, QuotaHolder, Scheduler};
use gpuwhy_model::units::Seconds;

use crate::text::kubernetes::columns::Columns;
use crate::text::kubernetes::event::{Event, is_known};
use crate::text::kubernetes::node::NodeState;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::pod::phase;
use crate::text::kubernetes::quantity::seconds;
use crate::text::kubernetes::resources::resources;

/// What a table lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pods,
    Nodes,
    Events,
    Workloads,
    ClusterQueues,
    LocalQueues,
    Quotas,
}

impl Kind {
    /// Tells what a table lists by its columns.
    pub(super) fn of_columns(columns: &Columns) -> Option<Self> {
        let has = |name: &str| columns.has(name);
        let is_pods = has("NAME") && has("READY") && has("STATUS") && (has("RESTARTS") || has("AGE"));
        let is_events =
            has("REASON") && has("MESSAGE") && (has("TYPE") || has("LAST SEEN") || has("LASTSEEN"));
        Some(match () {
            () if is_pods => Self::Pods,
            () if has("NAME") && has("STATUS") && has("ROLES") && has("AGE") => Self::Nodes,
            () if is_events => Self::Events,
            () if has("NAME")
                && has("QUEUE")
                && (has("ADMITTED") || has("ADMITTED BY") || has("RESERVED IN")) =>
            {
                Self::Workloads
            }
            () if has("NAME") && has("COHORT") && has("PENDING WORKLOADS") => Self::ClusterQueues,
            () if has("NAME") && has("CLUSTERQUEUE") && has("PENDING WORKLOADS") => Self::LocalQueues,
            () if has("NAME") && has("REQUEST") && has("AGE") => Self::Quotas,
            () => return None,
        })
    }

    /// Adds a row; returns whether it is one of this table.
    pub(super) fn add(self, columns: &Columns, cells: &[&str], picture: &mut Picture) -> bool {
        let cell = |name: &str| columns.cell(cells, name);
        let name = cell("NAME").filter(|name| is_name(name));
        match self {
            Self::Pods => {
                let (Some(name), Some(status)) = (name, cell("STATUS")) else {
                    return false;
                };
                let is_pod = cell("READY").is_none_or(is_ready_count) && is_word(status);
                if is_pod {
                    picture.add_job(pod(cell("NAMESPACE"), name, status, cell("AGE"), cell("NODE")));
                }
                is_pod
            }
            Self::Nodes => {
                let (Some(name), Some(status)) = (name, cell("STATUS")) else {
                    return false;
                };
                node(name, status).map(|node| picture.nodes.push(node)).is_some()
            }
            Self::Events => event(columns, cells).map(|event| picture.events.push(event)).is_some(),
            Self::Workloads => {
                let Some(name) = name else {
                    return false;
                };
                picture.add_job(workload(columns, cells, name));
                true
            }
            Self::ClusterQueues | Self::LocalQueues => {
                let Some(name) = name else {
                    return false;
                };
                picture.queues.push(queue(columns, cells, name));
                true
            }
            Self::Quotas => {
                let Some(name) = name else {
                    return false;
                };
                picture.quotas.extend(quota(&identity(cell("NAMESPACE"), name), cell("REQUEST")));
                true
            }
        }
    }

    /// Takes a line that is no row as the rest of the last one's sentence, where a narrow window broke it.
    pub(super) fn continues(self, text: &str, picture: &mut Picture) -> bool {
        let Some(last) = picture.events.last_mut().filter(|_| self == Self::Events) else {
            return false;
        };
        let is_open = !last.message.ends_with('.') && last.message.len() >= 20 && last.message.len() < 4000;
        if is_open {
            last.message.push(' ');
            last.message.push_str(text.trim());
        }
        is_open
    }
}

/// Returns namespace and name as one.
pub(super) fn identity(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// Returns whether a word can be the name of an object.
pub(super) fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 253
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte))
}

/// Returns whether a cell counts containers that are ready: `1/2`.
fn is_ready_count(cell: &str) -> bool {
    cell.split_once('/').is_some_and(|(ready, all)| {
        [ready, all].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Returns whether a cell is one word, as states of pods are.
fn is_word(cell: &str) -> bool {
    !cell.contains(' ') && cell.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Makes a job of a pod's row.
pub(super) fn pod(
    namespace: Option<&str>,
    name: &str,
    status: &str,
    age: Option<&str>,
    node: Option<&str>,
) -> Job {
    let phase = phase(status);
    // A pod that waits for its place does not run for that time.
    let runs = matches!(phase, Some(JobPhase::Running));
    Job {
        id: identity(namespace, name),
        scheduler: Scheduler::Kubernetes,
        name: Reading::Known(name.to_owned()),
        account: namespace.map(str::to_owned).into(),
        state: Reading::Known(status.to_owned()),
        phase: phase.into(),
        nodes: node.map(str::to_owned).into_iter().collect(),
        elapsed: age.and_then(seconds).filter(|_| runs).map(Seconds).into(),
        ..Job::default()
    }
}

/// Makes a node of its row.
pub(super) fn node(name: &str, status: &str) -> Option<ClusterNode> {
    let mut state = NodeState::default();
    state.words(status).then_some(())?;
    let mut node =
        ClusterNode { name: name.to_owned(), scheduler: Scheduler::Kubernetes, ..ClusterNode::default() };
    state.fill(&mut node);
    Some(node)
}

fn event(columns: &Columns, cells: &[&str]) -> Option<Event> {
    let cell = |name: &str| columns.cell(cells, name);
    let reason = cell("REASON").filter(|reason| is_word(reason))?;
    let message = cell("MESSAGE").unwrap_or_default();
    let kind_of_event = cell("TYPE");
    let is_event =
        kind_of_event.is_some_and(|kind| kind == "Normal" || kind == "Warning") || is_known(reason);
    is_event.then_some(())?;
    let (kind, name) = match (cell("OBJECT"), cell("KIND"), cell("NAME")) {
        (Some(object), ..) => object.split_once('/').map_or(("", object), |(kind, name)| (kind, name)),
        // In the oldest form the name is that of the event: the object's, with a number behind.
        (None, Some(kind), Some(name)) => (kind, name.rsplit_once('.').map_or(name, |(name, _)| name)),
        _ => ("", ""),
    };
    let kind = kind.to_ascii_lowercase();
    let namespace = cell("NAMESPACE").filter(|_| kind != "node");
    let age = cell("LAST SEEN").or_else(|| cell("LASTSEEN")).or_else(|| cell("AGE"));
    Some(Event {
        object: if name.is_empty() { String::new() } else { identity(namespace, name) },
        kind,
        reason: reason.to_owned(),
        from: cell("SOURCE").unwrap_or_default().to_owned(),
        message: message.to_owned(),
        age_s: age.and_then(|age| seconds(age.split(" (").next().unwrap_or(age))),
        at: age.filter(|age| age.starts_with("20") && age.contains('T')).map(str::to_owned),
    })
}

fn workload(columns: &Columns, cells: &[&str], name: &str) -> Job {
    let cell = |name: &str| columns.cell(cells, name);
    let is = |name: &str| cell(name).map(|cell| cell.eq_ignore_ascii_case("true"));
    let has_place = cell("RESERVED IN").or_else(|| cell("ADMITTED BY")).is_some();
    let phase = match (is("FINISHED"), is("ADMITTED")) {
        (Some(true), _) => JobPhase::Completed,
        (_, Some(true)) => JobPhase::Running,
        (_, None) if has_place && !columns.has("ADMITTED") => JobPhase::Running,
        _ if has_place => JobPhase::Starting,
        _ => JobPhase::Waiting,
    };
    Job {
        id: identity(cell("NAMESPACE"), name),
        scheduler: Scheduler::Kubernetes,
        name: Reading::Known(name.to_owned()),
        account: cell("NAMESPACE").map(str::to_owned).into(),
        queues: cell("QUEUE").map(str::to_owned).into_iter().collect(),
        priority: cell("PRIORITY").and_then(|number| number.parse().ok()).into(),
        phase: Reading::Known(phase),
        ..Job::default()
    }
}

fn queue(columns: &Columns, cells: &[&str], name: &str) -> Queue {
    let cell = |name: &str| columns.cell(cells, name);
    Queue {
        name: identity(cell("NAMESPACE"), name),
        scheduler: Scheduler::Kubernetes,
        node_counts: Reading::<NodeCounts>::default(),
        ..Queue::default()
    }
}

/// Reads `requests.cpu: 3/10, requests.nvidia.com/gpu: 8/8`.
fn quota(name: &str, amounts: Option<&str>) -> Option<Quota> {
    let entries: Vec<(&str, &str, &str)> = amounts?
        .split(", ")
        .filter_map(|entry| {
            let (resource, amounts) = entry.split_once(": ")?;
            let (used, most) = amounts.trim().split_once('/')?;
            Some((resource.trim(), used, most))
        })
        .collect();
    let most = resources(entries.iter().map(|(name, _, most)| (*name, *most)));
    (!most.is_unknown()).then(|| Quota {
        scheduler: Scheduler::Kubernetes,
        holder: QuotaHolder::Namespace,
        name: masked_text(name),
        most,
        used: resources(entries.iter().map(|(name, used, _)| (*name, *used))),
        ..Quota::default()
    })
}

/// A row that was read without a head.
pub(super) enum Bare {
    Pod(Box<Job>),
    Node(Box<ClusterNode>),
}

impl Bare {
    /// Adds what the row says.
    pub(super) fn to(self, picture: &mut Picture) {
        match self {
            Self::Pod(job) => picture.add_job(*job),
            Self::Node(node) => picture.nodes.push(*node),
        }
    }
}

/// Reads a row without a head, where it can be nothing else: `[NAMESPACE] NAME 0/1 Pending 0 96m …`, `NAME Ready worker 3d v1.31.0`.
pub(super) fn bare_row(text: &str) -> Option<Bare> {
    let words: Vec<&str> = text.split_whitespace().take(9).collect();
    let place = words.iter().take(3).position(|word| is_ready_count(word));
    if let Some(place) = place.filter(|place| (1..=2).contains(place)) {
        let status = *words.get(place + 1)?;
        let restarts = words.get(place + 2)?;
        phase(status)?;
        restarts.parse::<u32>().ok()?;
        let namespace = (place == 2).then(|| words[0]);
        let name = words[place - 1];
        let age = words.get(place + 3).filter(|word| !word.starts_with('(')).or_else(|| words.get(place + 5));
        let is_pod =
            is_name(name) && namespace.is_none_or(is_name) && age.is_some_and(|age| seconds(age).is_some());
        return is_pod.then(|| Bare::Pod(Box::new(pod(namespace, name, status, age.copied(), None))));
    }
    let is_version = |word: &&str| {
        word.starts_with('v')
            && word[1..].starts_with(|first: char| first.is_ascii_digit())
            && word.contains('.')
    };
    let is_node =
        words.len() >= 5 && seconds(words[3]).is_some() && is_version(&words[4]) && is_name(words[0]);
    is_node.then(|| node(words[0], words[1])).flatten().map(|node| Bare::Node(Box::new(node)))
}
