//! Tables with columns that somebody chose: `-o custom-columns`, lists that a person or script made.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, Job, JobPhase, Resources, Scheduler};
use gpuwhy_model::units::{Bytes, Percent, Seconds};

use super::rows::{identity, is_name};
use crate::text::kubernetes::columns::Columns;
use crate::text::kubernetes::node::NodeState;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::pod::phase;
use crate::text::kubernetes::quantity::{count, seconds};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Namespace,
    Name,
    Status,
    Node,
    /// Cards that a pod asks for, or that a node has.
    Cards,
    Allocatable,
    Capacity,
    Allocated,
    Age,
    Unschedulable,
    Taints,
    MemoryUsed,
    Busy,
    Processes,
}

/// The columns of such a table, and what it lists.
pub(super) struct Custom {
    fields: Vec<Option<Field>>,
    lists_nodes: bool,
}

impl Custom {
    /// Knows a table by the names of its columns; a command may say what it lists.
    pub(super) fn of_columns(columns: &Columns, is_comma: bool, command: Option<&str>) -> Option<Self> {
        let names: Vec<String> = columns.names().iter().map(|name| comparable(name)).collect();
        // Memory, load and counts are those of cards only where the table is about cards.
        let is_about_cards = has_gpu_word(&names);
        let fields: Vec<Option<Field>> =
            names.iter().map(|name| field(name).filter(|_| is_about_cards || !needs_cards(name))).collect();
        let has = |wanted: Field| fields.contains(&Some(wanted));
        let has_name = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
        let of = command.and_then(listed);
        let is_upper = columns.names().iter().all(|name| !name.bytes().any(|byte| byte.is_ascii_lowercase()));
        let about_cards =
            has(Field::Cards) || has(Field::Allocatable) || has(Field::Capacity) || has(Field::Allocated);
        let names_pods = has_name(&["pod", "podname", "pods"]);
        let names_nodes = has_name(&["node", "nodename"]) && !has(Field::Name);
        // Each source of such tables has its own words: only what surely is one counts.
        let lists_nodes = match of {
            Some(of) => of == "nodes",
            None if names_pods || has(Field::Namespace) || has(Field::Status) && has(Field::Node) => false,
            None => true,
        };
        let is_ours = match of {
            Some(_) => has(Field::Name) || names_nodes,
            None if is_comma || !is_upper => {
                names_pods && (has(Field::Status) || about_cards || has(Field::Busy))
                    || names_nodes && about_cards
            }
            None => {
                let is_of_nodes = has(Field::Allocatable)
                    || has(Field::Capacity)
                    || has(Field::Unschedulable)
                    || has(Field::Taints);
                (has(Field::Name)
                    && (is_of_nodes
                        || has(Field::Namespace) && (about_cards || has(Field::Status))
                        || has_gpu_word(&names)))
                    || names_nodes && (about_cards || is_of_nodes)
            }
        };
        is_ours.then_some(Self { fields, lists_nodes })
    }

    /// Adds a row; returns whether it is one.
    pub(super) fn add(&self, cells: &[&str], picture: &mut Picture) -> bool {
        if cells.len() > self.fields.len() || cells.len() < 2 {
            return false;
        }
        let cell = |wanted: Field| {
            let place = self.fields.iter().position(|field| *field == Some(wanted))?;
            cells.get(place).copied().map(str::trim).filter(|cell| !cell.is_empty())
        };
        let said = |wanted: Field| cell(wanted).filter(|cell| *cell != "<none>");
        let name = said(Field::Name).or_else(|| said(Field::Node).filter(|_| self.lists_nodes));
        let Some(name) = name.filter(|name| is_name(name)) else {
            return false;
        };
        // Figures that are none show that this is no row.
        let figures = [Field::Cards, Field::Allocatable, Field::Capacity, Field::Allocated];
        if figures.iter().any(|field| said(*field).is_some_and(|cell| figure(cell).is_none())) {
            return false;
        }
        if self.lists_nodes {
            picture.nodes.push(self.node(name, &cell));
        } else {
            picture.add_job(pod(said(Field::Namespace), name, &cell));
        }
        true
    }

    fn node<'row>(&self, name: &str, cell: &impl Fn(Field) -> Option<&'row str>) -> ClusterNode {
        let mut state = NodeState::default();
        if let Some(status) = cell(Field::Status) {
            state.words(status);
        }
        if cell(Field::Unschedulable) == Some("true") {
            state.close();
        }
        if let Some(taints) = cell(Field::Taints) {
            taints
                .split(',')
                .filter(|taint| taint.contains(':'))
                .for_each(|taint| state.taint(taint.trim_matches(['[', ']'])));
        }
        let has_both =
            self.fields.contains(&Some(Field::Allocatable)) || self.fields.contains(&Some(Field::Capacity));
        let allocatable = cell(Field::Allocatable).or_else(|| cell(Field::Cards).filter(|_| !has_both));
        let mut node = ClusterNode {
            name: name.to_owned(),
            scheduler: Scheduler::Kubernetes,
            has: cards(allocatable),
            built_in: cards(cell(Field::Capacity)),
            given: cards(cell(Field::Allocated)),
            ..ClusterNode::default()
        };
        state.fill(&mut node);
        node
    }
}

fn pod<'row>(namespace: Option<&str>, name: &str, cell: &impl Fn(Field) -> Option<&'row str>) -> Job {
    let status = cell(Field::Status);
    let phase = status.and_then(phase);
    let runs = phase == Some(JobPhase::Running);
    let asked = cards(cell(Field::Cards));
    let node = cell(Field::Node).filter(|node| is_name(node));
    let mut job = Job {
        id: identity(namespace, name),
        scheduler: Scheduler::Kubernetes,
        name: Reading::Known(name.to_owned()),
        account: namespace.map(str::to_owned).into(),
        state: status.map(str::to_owned).into(),
        phase: phase.into(),
        nodes: node.map(str::to_owned).into_iter().collect(),
        given: if runs { asked.clone() } else { Resources::default() },
        asked,
        elapsed: cell(Field::Age).and_then(seconds).filter(|_| runs).map(Seconds).into(),
        ..Job::default()
    };
    job.usage.gpu_busy = cell(Field::Busy).and_then(percent).into();
    job.usage.gpu_processes = cell(Field::Processes).and_then(count).into();
    job.usage.gpu_memory =
        cell(Field::MemoryUsed).and_then(count).map(|mebibytes| Bytes(mebibytes << 20)).into();
    job
}

fn percent(cell: &str) -> Option<Percent> {
    let number: f64 = cell.trim_end_matches('%').trim().parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(Percent(number))
}

/// Returns cards of a cell; a node or pod without such a resource has or asks for none of them.
fn cards(cell: Option<&str>) -> Resources {
    Resources {
        cards: match cell {
            Some("<none>" | "-" | "") => Reading::Unsupported,
            Some(cell) => figure(cell).into(),
            None => Reading::default(),
        },
        ..Resources::default()
    }
}

fn figure(cell: &str) -> Option<u64> {
    if cell == "-" {
        return Some(0);
    }
    // Several containers: `1,1`.
    cell.split(',').map(|part| count(part.trim())).sum()
}

/// Returns what a command lists, if it says so.
fn listed(command: &str) -> Option<&'static str> {
    let mut words = command.split_whitespace();
    words.by_ref().find(|word| ["kubectl", "oc", "k", "k3s", "microk8s.kubectl"].contains(word))?;
    words.find(|word| *word == "get")?;
    words.find_map(|word| match word.split(['/', '.']).next()? {
        "nodes" | "node" | "no" => Some("nodes"),
        "pods" | "pod" | "po" => Some("pods"),
        _ => None,
    })
}

fn has_gpu_word(names: &[String]) -> bool {
    names.iter().any(|name| name.contains("gpu") || name.contains("nvidia"))
}

/// Returns whether a name may speak of something else than cards.
fn needs_cards(name: &str) -> bool {
    [
        "count",
        "memoryusedmib",
        "memusedmib",
        "utilpct",
        "utilization",
        "utilpercent",
        "util",
        "used",
        "inuse",
        "cap",
        "alloc",
    ]
    .contains(&name)
}

/// Returns a name without case, blanks and marks.
fn comparable(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn field(name: &str) -> Option<Field> {
    Some(match name {
        "namespace" | "ns" => Field::Namespace,
        "name" | "pod" | "podname" | "pods" => Field::Name,
        "status" | "phase" | "state" => Field::Status,
        "node" | "nodename" | "host" => Field::Node,
        "age" | "runningfor" | "runtime" => Field::Age,
        "unschedulable" | "cordoned" => Field::Unschedulable,
        "taints" | "taint" => Field::Taints,
        "count" | "gpus" | "gpu" | "gpucount" | "gpusrequested" | "gpurequests" | "gpurequest" | "gpureq"
        | "gpulimit" | "gpulimits" | "requestedgpus" | "requestedgpu" | "nvidiacomgpu" | "numgpus"
        | "numgpu" => Field::Cards,
        "memoryusedmib" | "gpumemoryusedmib" | "gpumemmib" | "vramusedmib" | "memusedmib"
        | "gpumemusedmib" => Field::MemoryUsed,
        "utilpct" | "gpuutil" | "gpuutilpct" | "gpuutilpercent" | "utilization" | "gpuutilization"
        | "utilpercent" | "util" | "gpubusy" => Field::Busy,
        "gpuprocesses" | "gpuprocs" | "processesongpu" => Field::Processes,
        _ if name.contains("alloc") && name.contains("able") => Field::Allocatable,
        _ if name.contains("capacity") || name == "cap" || name == "gpucap" => Field::Capacity,
        _ if name.contains("allocated")
            || name == "used"
            || name == "gpuused"
            || name == "usedgpus"
            || name == "inuse" =>
        {
            Field::Allocated
        }
        _ if name == "alloc" || name == "gpualloc" => Field::Allocatable,
        _ => return None,
    })
}
