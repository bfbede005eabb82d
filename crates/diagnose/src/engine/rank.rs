//! The order of findings, as design §6 fixes it.

use std::cmp::Ordering;

use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::{Explained, Finding, Severity};

use super::explain::Pair;
use super::merge::Merged;
use crate::registry;

/// Returns the findings in rank order, and which explains which by their new positions.
///
/// Explained findings come last; then faults come first; then the larger share of what its cards could do or hold,
/// times confidence; ties in registry order, then by card.
pub(super) fn ranked(scene: &Scene, findings: Vec<Merged>, pairs: &[Pair]) -> (Vec<Finding>, Vec<Explained>) {
    let mut order: Vec<(usize, Finding)> =
        findings.into_iter().map(|merged| merged.finding).enumerate().collect();
    let is_explained = |place: usize| pairs.iter().any(|(_, explained)| *explained == place);
    order.sort_by(|(place, finding), (other_place, other)| {
        is_explained(*place)
            .cmp(&is_explained(*other_place))
            .then_with(|| compared(scene, finding, other))
            .then_with(|| place.cmp(other_place))
    });
    let new_place = |old: usize| order.iter().position(|(place, _)| *place == old).unwrap_or(old);
    let mut explained: Vec<Explained> = pairs
        .iter()
        .map(|(by, finding)| Explained { by: new_place(*by), finding: new_place(*finding) })
        .collect();
    explained.sort_by_key(|pair| (pair.finding, pair.by));
    (order.into_iter().map(|(_, finding)| finding).collect(), explained)
}

fn compared(scene: &Scene, one: &Finding, other: &Finding) -> Ordering {
    let is_fault = |finding: &Finding| finding.severity == Severity::Fault;
    let weight = |finding: &Finding| share(scene, finding) * finding.confidence;
    is_fault(other)
        .cmp(&is_fault(one))
        .then_with(|| weight(other).total_cmp(&weight(one)))
        .then_with(|| registry::place(one.cause).cmp(&registry::place(other.cause)))
        .then_with(|| one.cards.cmp(&other.cards))
        .then_with(|| one.subject.cmp(&other.subject))
}

/// Returns which part of its cards' time or memory a finding costs, 0 to 1; 1 without a window.
fn share(scene: &Scene, finding: &Finding) -> f64 {
    let window_s = scene.window.span_s;
    if window_s <= 0.0 || finding.impact.blocked > 0 {
        return 1.0;
    }
    let number = finding.cards.len().max(1) as f64;
    let time = finding.impact.gpu_seconds / (window_s * number);
    let cards = finding.cards.iter().filter_map(|index| scene.card(*index));
    let memory: u64 = cards.filter_map(|card| card.memory.known()).map(|memory| memory.total.0).sum();
    let held = if memory > 0 { finding.impact.bytes_held as f64 / memory as f64 } else { 0.0 };
    time.max(held).clamp(0.0, 1.0)
}
