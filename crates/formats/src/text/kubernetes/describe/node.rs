//! A node as `kubectl describe` prints it.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, Job, JobPhase, Resources, Scheduler};

use super::section::{Section, entries};
use crate::paste::Line;
use crate::text::kubernetes::columns::Columns;
use crate::text::kubernetes::node::NodeState;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::resources::{card_kind, resources};

/// Reads a node, or what is left of one.
pub(super) fn read(sections: &[Section<'_>], name: &str, picture: &mut Picture) {
    let mut state = NodeState::default();
    let mut node =
        ClusterNode { name: name.to_owned(), scheduler: Scheduler::Kubernetes, ..ClusterNode::default() };
    for section in sections {
        let first = std::iter::once(section.value);
        let all = first.chain(section.lines.iter().map(|line| line.text.trim()));
        match section.key {
            "Labels" => {
                for (name, value) in all.filter_map(|label| label.split_once('=')) {
                    state.label(name, value);
                }
            }
            "Taints" => all.for_each(|taint| state.taint(taint)),
            "Unschedulable" if section.value == "true" => state.close(),
            "Conditions" => conditions(section.lines, &mut state),
            "Capacity" => node.built_in = amounts(section.lines),
            "Allocatable" => node.has = amounts(section.lines),
            "Allocated resources" => node.given = allocated(section.lines),
            "Non-terminated Pods" => pods(section.lines, name, picture),
            _ => {}
        }
    }
    state.fill(&mut node);
    picture.nodes.push(node);
}

fn amounts(lines: &[Line<'_>]) -> Resources {
    resources(entries(lines).map(|(_, name, amount)| (name, amount)))
}

fn conditions(lines: &[Line<'_>], state: &mut NodeState) {
    let Some(columns) = lines.first().and_then(|line| Columns::of_head(&line.text)) else {
        return;
    };
    for line in &lines[1..] {
        let cells = columns.cells(&line.text);
        let cell = |name: &str| columns.cell(&cells, name);
        if let (Some(kind), Some(status)) = (cell("Type"), cell("Status")) {
            state.condition(kind, status, cell("Message"));
        }
    }
}

/// Reads what pods asked for together: `nvidia.com/gpu     1             1`.
fn allocated(lines: &[Line<'_>]) -> Resources {
    let rows = lines.iter().filter_map(|line| {
        let mut words = line.text.split_whitespace();
        let name = words.next()?;
        let is_known = name == "cpu" || name == "memory" || card_kind(name).is_some();
        is_known.then(|| words.next().map(|amount| (name, amount)))?
    });
    resources(rows)
}

/// Reads the pods that the node has: those run there.
fn pods(lines: &[Line<'_>], node: &str, picture: &mut Picture) {
    let Some(columns) = lines.first().and_then(|line| Columns::of_head(&line.text)) else {
        return;
    };
    for line in &lines[1..] {
        let cells = columns.cells(&line.text);
        let cell = |name: &str| columns.cell(&cells, name);
        let (Some(namespace), Some(name)) = (cell("Namespace"), cell("Name")) else {
            continue;
        };
        if name.starts_with("--") || namespace.starts_with("--") {
            continue;
        }
        picture.add_job(Job {
            id: format!("{namespace}/{name}"),
            scheduler: Scheduler::Kubernetes,
            name: Reading::Known(name.to_owned()),
            account: Reading::Known(namespace.to_owned()),
            // What has not ended has its place.
            phase: Reading::Known(JobPhase::Running),
            nodes: Some(node.to_owned()).filter(|node| !node.is_empty()).into_iter().collect(),
            ..Job::default()
        });
    }
}
