//! The nodes that take no jobs, and why.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, NodeCondition, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;

use super::text;
use super::words;
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::{Fit, folded, number_of, reader_of};

/// Reasons that are shown; the others are like them.
const REASONS_MAX: usize = 3;

/// The nodes that take no jobs, of those that count here.
#[derive(Debug, Clone)]
pub(super) struct Closed<'scene> {
    pub(super) nodes: Vec<&'scene ClusterNode>,
    /// How many nodes count here, open ones too.
    pub(super) of: u64,
    /// Nodes that a reason names as closed, where their state is not in the text.
    named: u64,
}

/// Returns the closed nodes of a whole cluster: those with cards, where it is known which have any.
pub(super) fn closed_of_cluster(scene: &Scene) -> Option<Closed<'_>> {
    let has_cards = |node: &&ClusterNode| node.has.cards.known().is_some_and(|cards| *cards > 0);
    let with_cards: Vec<&ClusterNode> = scene.cluster.iter().filter(has_cards).collect();
    let counting: Vec<&ClusterNode> = if with_cards.iter().any(|node| node.takes_jobs() == Some(false)) {
        with_cards
    } else {
        scene.cluster.iter().collect()
    };
    let nodes: Vec<&ClusterNode> =
        counting.iter().copied().filter(|node| node.takes_jobs() == Some(false)).collect();
    (!nodes.is_empty()).then(|| Closed { of: number_of(counting.iter().copied()), nodes, named: 0 })
}

impl<'scene> Closed<'scene> {
    /// Returns the closed nodes that a job could use, and those that its reason names.
    pub(super) fn of(scene: &'scene Scene, fit: &Fit<'scene>, named: &[&str]) -> Self {
        let mut nodes: Vec<&ClusterNode> = fit.closed.clone();
        for node in &scene.cluster {
            let is_named = named.contains(&node.name.as_str()) && node.takes_jobs() == Some(false);
            if is_named && !nodes.iter().any(|known| known.name == node.name) {
                nodes.push(node);
            }
        }
        if nodes.is_empty() && fit.candidates.is_empty() {
            nodes = scene.cluster.iter().filter(|node| node.takes_jobs() == Some(false)).collect();
        }
        let of = fit.number_suitable().max(number_of(nodes.iter().copied()));
        Self { of, nodes, named: named.len() as u64 }
    }

    pub(super) fn number(&self) -> u64 {
        number_of(self.nodes.iter().copied())
    }

    /// Returns how many nodes are closed, also where only a reason names them.
    pub(super) fn counted(&self) -> u64 {
        self.number().max(self.named)
    }

    /// Returns the cards of the closed nodes.
    pub(super) fn cards(&self) -> u64 {
        let cards =
            self.nodes.iter().filter_map(|node| Some(node.has.cards.known()?.saturating_mul(node.number())));
        cards.fold(0, u64::saturating_add)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'scene str> {
        self.nodes.iter().map(|node| node.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Returns whether this is so of any closed node.
    pub(super) fn any(&self, condition: NodeCondition) -> bool {
        self.nodes.iter().any(|node| has(node, condition))
    }

    /// Returns every reason that is written at the closed nodes, with the nodes, the most frequent first.
    pub(super) fn reasons(&self) -> Vec<(&'scene str, Vec<&'scene str>)> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for node in &self.nodes {
            if let Some(reason) = node.reason.known() {
                reasons.entry(reason).or_default().push(&node.name);
            }
        }
        let mut reasons: Vec<(&str, Vec<&str>)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
        reasons
    }

    /// Weighs in what state the closed nodes are.
    pub(super) fn weigh(&self, weight: f64, strength: f64, draft: &mut Draft) {
        let states = words::states(self);
        let names = folded(self.names());
        let number = self.number();
        let words = if names.is_empty() || names.len() > 300 {
            text::closed(number, states)
        } else {
            text::closed_by_name(names, states)
        };
        let Some(first) = self.nodes.first() else {
            return;
        };
        draft.agree_by(
            weight,
            strength,
            once(Signal::NodeState, number, Unit::Count, reader_of(first.scheduler), words),
        );
    }

    /// Shows what is written at the nodes.
    pub(super) fn mention_reasons(&self, draft: &mut Draft) {
        for (reason, names) in self.reasons().into_iter().take(REASONS_MAX) {
            let reader = reader_of(self.nodes[0].scheduler);
            let names = folded(names.into_iter().filter(|name| !name.is_empty()));
            let words = if names.is_empty() || names.len() > 200 {
                text::written(reason)
            } else {
                text::written_at(names, reason)
            };
            draft.mention(once(Signal::NodeState, reason, Unit::Text, reader, words));
        }
    }
}

pub(super) fn has(node: &ClusterNode, condition: NodeCondition) -> bool {
    matches!(&node.conditions, Reading::Known(conditions) if conditions.contains(&condition))
}
