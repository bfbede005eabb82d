//! A node as an object.

use gpuwhy_model::scene::{ClusterNode, Resources, Scheduler};

use crate::text::kubernetes::node::NodeState;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::resources::resources;
use crate::tree::Tree;

/// Reads a node, or a part of one.
pub(super) fn read(object: &Tree, picture: &mut Picture) {
    let spec = object.get("spec");
    let status = if object.get("status").entries().is_empty() { object } else { object.get("status") };
    let metadata = object.get("metadata");
    let mut state = NodeState::default();
    for (name, value) in metadata.get("labels").entries() {
        state.label(name, value.text().unwrap_or_default());
    }
    for condition in status.get("conditions").list() {
        let text = |name: &str| condition.get(name).text();
        state.condition(
            text("type").unwrap_or_default(),
            text("status").unwrap_or_default(),
            text("message"),
        );
    }
    if spec.get("unschedulable").flag() == Some(true) {
        state.close();
    }
    for taint in spec.get("taints").list() {
        state.taint(&taint_in_words(taint));
    }
    let mut node = ClusterNode {
        name: metadata.get("name").owned().or_else(|| hostname(status)).unwrap_or_default(),
        scheduler: Scheduler::Kubernetes,
        has: amounts(status.get("allocatable")),
        built_in: amounts(status.get("capacity")),
        ..ClusterNode::default()
    };
    state.fill(&mut node);
    picture.nodes.push(node);
}

/// Returns whether a map holds nothing but the labels of a node with cards.
pub(super) fn are_labels(part: &Tree) -> bool {
    let is_label =
        |(name, _): &(String, Tree)| name.starts_with("nvidia.com/gpu.") || name == "kubernetes.io/hostname";
    part.entries().len() >= 2 && part.entries().iter().any(is_label)
}

/// Reads the labels of a node that stand alone.
pub(super) fn read_labels(labels: &Tree, picture: &mut Picture) {
    let mut state = NodeState::default();
    for (name, value) in labels.entries() {
        state.label(name, value.text().unwrap_or_default());
    }
    let mut node = ClusterNode {
        name: labels.get("kubernetes.io/hostname").owned().unwrap_or_default(),
        scheduler: Scheduler::Kubernetes,
        ..ClusterNode::default()
    };
    state.fill(&mut node);
    picture.nodes.push(node);
}

fn hostname(status: &Tree) -> Option<String> {
    let addresses = status.get("addresses").list().iter();
    let mut hosts = addresses.filter(|address| address.get("type").text() == Some("Hostname"));
    hosts.next()?.get("address").owned()
}

fn amounts(amounts: &Tree) -> Resources {
    resources(amounts.entries().iter().filter_map(|(name, amount)| Some((name.as_str(), amount.text()?))))
}

fn taint_in_words(taint: &Tree) -> String {
    let key = taint.get("key").text().unwrap_or_default();
    let effect = taint.get("effect").text().unwrap_or_default();
    match taint.get("value").text() {
        Some(value) => format!("{key}={value}:{effect}"),
        None => format!("{key}:{effect}"),
    }
}
