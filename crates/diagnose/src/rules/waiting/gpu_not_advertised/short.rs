//! Nodes that offer fewer cards than they have.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, Resources, Scene, Scheduler};

use crate::facts::cards::whole_cards;

/// By what it is known how many cards a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The kubelet counts more than it offers: the others are unhealthy.
    Kubelet,
    /// The driver of the only node shows more.
    Driver,
    /// A label counts them.
    Label,
    /// A label says that there are some.
    Presence,
}

/// A node that offers fewer cards than it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short<'scene> {
    pub(super) node: &'scene ClusterNode,
    pub(super) offered: u64,
    pub(super) has: Option<u64>,
    pub(super) known: Known,
}

/// Returns the nodes that offer fewer cards than they have, those that offer none first.
pub(super) fn short_nodes(scene: &Scene) -> Vec<Short<'_>> {
    let nodes: Vec<&ClusterNode> =
        scene.cluster.iter().filter(|node| node.scheduler == Scheduler::Kubernetes).collect();
    let is_same = |node: &&ClusterNode| {
        scene
            .machine
            .hostname
            .known()
            .is_none_or(|name| name.split('.').next() == node.name.split('.').next())
    };
    let seen = cards_that_answer(scene).filter(|_| nodes.len() == 1 && nodes.first().is_some_and(is_same));
    let mut short: Vec<Short<'_>> = nodes.into_iter().filter_map(|node| short_node(node, seen)).collect();
    short.sort_by_key(|short| short.offered);
    short
}

/// Returns how many whole cards the driver shows, where all of them answer and none is divided.
fn cards_that_answer(scene: &Scene) -> Option<u64> {
    let all_answer = whole_cards(scene).all(|card| card.handle.is_known());
    let is_divided =
        scene.cards.iter().any(|card| card.parent.is_some() || card.mig_enabled == Reading::Known(true));
    let count = whole_cards(scene).count() as u64;
    (count > 0 && all_answer && !is_divided).then_some(count)
}

fn short_node(node: &ClusterNode, seen: Option<u64>) -> Option<Short<'_>> {
    let offered = offered(node)?;
    let short = |has: Option<u64>, known: Known| Some(Short { node, offered, has, known });
    // A card that is divided is counted by its parts; what it was offered as before stays in the kubelet's count.
    let is_divided = node.has.card_kinds.iter().any(|(kind, parts)| kind.starts_with("mig-") && *parts > 0);
    let built_in = if is_divided { parts(&node.built_in) } else { node.built_in.cards.known().copied() };
    if let Some(has) = built_in.filter(|has| *has > offered) {
        return short(Some(has), Known::Kubelet);
    }
    if is_divided {
        return None;
    }
    if let Some(has) = seen.filter(|has| *has > offered) {
        return short(Some(has), Known::Driver);
    }
    if let Some(has) = node.counted_cards.known().copied().filter(|has| *has > offered) {
        return short(Some(has), Known::Label);
    }
    let is_without = offered == 0 && node.has_cards == Reading::Known(true);
    is_without.then(|| short(None, Known::Presence)).flatten()
}

/// Returns how many parts of divided cards there are.
fn parts(resources: &Resources) -> Option<u64> {
    let parts = resources.card_kinds.iter().filter(|(kind, _)| kind.starts_with("mig-"));
    (!resources.card_kinds.is_empty()).then(|| parts.map(|(_, number)| number).sum())
}

/// Returns how many cards a node offers: none where it says all that it offers, and cards are not among it.
fn offered(node: &ClusterNode) -> Option<u64> {
    match &node.has.cards {
        Reading::Known(cards) => Some(*cards),
        Reading::Unsupported => Some(0),
        _ => {
            let says_all = node.has.cpus.is_known() || node.has.memory.is_known();
            // Cards that only the kubelet's other list has are not offered either.
            says_all.then_some(0)
        }
    }
}
