//! Cards that look busy while they wait: whoever has its data first waits for the other members of its job in a kernel.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};

use super::partly_busy::{PartlyBusyCard, cards_at_work};
use crate::facts::effort::{is_kept_slow, lost_share};
use crate::facts::exchange::{nvlink, pcie};
use crate::facts::members::{Member, exchanging};
use crate::findings::Findings;

/// Returns the cards of members whose kernels are there most of the time and only wait for other members, as little power
/// and quiet links show. What holds their job back may be the data of every one of them.
pub(super) fn spinning_cards<'scene>(
    scene: &'scene Scene,
    limits: &Limits,
    findings: &mut Findings,
) -> Vec<PartlyBusyCard<'scene>> {
    let jobs = exchanging(scene, limits);
    let with_others = jobs.iter().filter(|job| job.members.len() > 1 || job.job.spans_nodes() == Some(true));
    let spinning: Vec<&Member<'_>> =
        with_others.flat_map(|job| &job.members).filter(|member| spins(member, limits)).collect();
    if spinning.is_empty() {
        return Vec::new();
    }
    let mut cards = cards_at_work(scene, limits, findings);
    for work in &mut cards {
        let member = spinning.iter().find(|member| member.card.index == work.card.index);
        work.spins = member.map(|member| lost_share(&member.effort, limits));
    }
    cards.retain(|work| work.spins.is_some());
    cards
}

fn spins(member: &Member<'_>, limits: &Limits) -> bool {
    member.busy > limits.starved_busy_percent_max
        && member.effort.for_work < limits.false_busy_power_share_max
        && !is_kept_slow(member.card, limits)
        && !exchanges_much(member.card, limits)
}

/// Returns whether a card's links are used so much that the exchange itself may take the time.
fn exchanges_much(card: &Card, limits: &Limits) -> bool {
    let ways = [nvlink(card), pcie(card)].into_iter().flatten();
    ways.filter_map(|way| way.share).any(|share| share >= limits.exchange_link_share_notice)
}
