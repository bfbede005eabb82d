//! Which finding explains which: the explained one is no second trouble.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::Finding;

use super::merge::Merged;

/// Positions of a finding that explains and of one that it explains.
pub(super) type Pair = (usize, usize);

/// Returns which findings others explain; each is explained by one at most, and none that explains is explained.
pub(super) fn explained(scene: &Scene, findings: &[Merged]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (place, finding) in findings.iter().enumerate() {
        let by = findings.iter().position(|other| {
            other.finding.cause != finding.finding.cause && explains(scene, other, finding)
        });
        if let Some(by) = by
            && !pairs.iter().any(|(earlier, late)| *late == by || *earlier == place)
        {
            pairs.push((by, place));
        }
    }
    pairs
}

fn explains(scene: &Scene, one: &Merged, other: &Merged) -> bool {
    let same_process = one.processes.iter().any(|process| other.processes.contains(process));
    match (one.finding.cause, other.finding.cause) {
        // Whatever else shows on a card that is gone comes of its being gone.
        (Cause::GpuLost, _) => {
            !other.finding.cards.is_empty() && is_within(&other.finding.cards, &one.finding.cards)
        }
        (Cause::VramHeldByDeadProcess, Cause::IdleReserved) => same_process,
        (Cause::VramHeldByDeadProcess | Cause::IdleReserved, Cause::VramFull) => {
            share_a_card(&one.finding, &other.finding) && holds_half_of(scene, &one.finding, &other.finding)
        }
        _ => false,
    }
}

fn is_within(cards: &[u32], others: &[u32]) -> bool {
    cards.iter().all(|card| others.contains(card))
}

fn share_a_card(one: &Finding, other: &Finding) -> bool {
    one.cards.iter().any(|card| other.cards.contains(card))
}

/// Returns whether what one finding holds for nothing is at least half of the full cards' memory.
fn holds_half_of(scene: &Scene, holding: &Finding, full: &Finding) -> bool {
    let cards = full.cards.iter().filter_map(|index| scene.card(*index));
    let total: u64 = cards.filter_map(|card| card.memory.known()).map(|memory| memory.total.0).sum();
    holding.impact.bytes_held.saturating_mul(2) >= total
}
