//! What can be wrong with a PCIe link, and which of it is.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::BytesPerSecond;

use super::text;
use crate::facts::cards::{Activity, activity};

/// A card with this much kernel time keeps its link up.
const LOADED_PERCENT: f64 = 50.0;
/// A link that carries this share of what its slot allows is up.
const LOADED_TRAFFIC_SHARE: f64 = 0.05;
/// The P-state from which on a card rests, and its link with it.
const RESTING_STATE: u32 = 5;
/// Deviations of a rare, random event that are no chance any more, and events that always may come together.
const DEVIATIONS: f64 = 4.0;
const TOGETHER: f64 = 3.0;

/// Against what a link is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    /// What card and slot can do.
    Slot,
    /// What the product can do.
    Product,
    /// The other cards of the same product.
    Peers,
}

impl Against {
    pub(super) fn text(self) -> Text {
        match self {
            Self::Slot => text::against_slot(),
            Self::Product => text::against_product(),
            Self::Peers => text::against_peers(),
        }
    }
}

/// One thing that is wrong with a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Trouble {
    /// Fewer lanes than there should be.
    Narrow { width: u32, expected: u32, against: Against, all_alike: bool, is_alone: bool },
    /// A lower generation than it can have, under load.
    Slow { generation: u32, expected: u32, against: Against, is_one_look: bool },
    /// A slot of a lower generation than the card.
    SlowSlot { generation: u32, expected: u32, against: Against, all_alike: bool },
    /// Errors that lost something.
    Uncorrected { count: u64 },
    /// Packets that had to be sent again, many more than a healthy link has.
    Replays { count: u64, allowed: f64 },
    /// Corrected errors, many more than a healthy link has.
    Corrected { count: u64, allowed: f64 },
}

impl Trouble {
    /// Returns whether it is how somebody built the machine, and not a fault of one card's link.
    pub(super) const fn is_choice(self) -> bool {
        matches!(self, Self::Narrow { all_alike: true, .. } | Self::SlowSlot { all_alike: true, .. })
    }

    /// Returns whether it hurts only work that moves much over the link.
    ///
    /// Half of the lanes, on a card without its like beside it, is how many machines are built and how clouds hand out
    /// their cards.
    const fn hurts_only_traffic(self) -> bool {
        match self {
            Self::Narrow { width, expected, is_alone: true, .. } => width * 2 >= expected,
            other => other.is_choice(),
        }
    }

    pub(super) const fn is_error(self) -> bool {
        matches!(self, Self::Uncorrected { .. } | Self::Replays { .. } | Self::Corrected { .. })
    }

    /// Returns how much it proves, 0 to 1.
    pub(super) const fn strength(self) -> f64 {
        match self {
            Self::Narrow { all_alike: true, .. }
            | Self::SlowSlot { all_alike: true, .. }
            | Self::Narrow { against: Against::Product, .. } => 0.7,
            Self::Narrow { .. } | Self::Slow { against: Against::Peers, .. } | Self::Uncorrected { .. } => {
                0.95
            }
            Self::Slow { is_one_look: true, .. } => 0.4,
            Self::Slow { .. } | Self::Replays { .. } | Self::Corrected { .. } => 0.85,
            Self::SlowSlot { .. } => 0.8,
        }
    }

    /// Returns what the link should carry.
    pub(super) fn capacity_expected(self, card: &Card) -> Option<BytesPerSecond> {
        let (generation, width) = (*best_generation(card)?, *card.pcie.width.known()?);
        match self {
            Self::Narrow { expected, .. } => gpuwhy_knowledge::pcie_bandwidth(generation, expected),
            Self::Slow { expected, .. } | Self::SlowSlot { expected, .. } => {
                gpuwhy_knowledge::pcie_bandwidth(expected, width)
            }
            Self::Uncorrected { .. } | Self::Replays { .. } | Self::Corrected { .. } => capacity(card),
        }
    }
}

/// Returns everything that is wrong with a card's link, what weighs most first.
pub(super) fn troubles(scene: &Scene, card: &Card, peers: &[&Card], limits: &Limits) -> Vec<Trouble> {
    let others: Vec<&Card> = peers.iter().copied().filter(|peer| peer.index != card.index).collect();
    let mut troubles: Vec<Trouble> = [
        uncorrected(card),
        narrow(card, &others),
        slow(scene, card, &others, limits),
        slow_slot(card, &others),
        replays(scene, card),
        corrected(scene, card),
    ]
    .into_iter()
    .flatten()
    .collect();
    let moves_much = activity(card, limits) == Activity::Works
        && traffic_share(card).is_some_and(|share| share >= limits.pcie_traffic_share_notice);
    troubles.retain(|trouble| !trouble.hurts_only_traffic() || moves_much);
    troubles.sort_by_key(|trouble| trouble.is_choice());
    troubles
}

fn narrow(card: &Card, others: &[&Card]) -> Option<Trouble> {
    let width = *card.pcie.width.known().filter(|width| **width > 0)?;
    let of_others: Vec<u32> = others.iter().filter_map(|other| other.pcie.width.known().copied()).collect();
    let all_alike = !of_others.is_empty() && of_others.iter().all(|other| *other == width);
    let is_alone = of_others.is_empty();
    let trouble = |expected: u32, against: Against| {
        (width < expected).then_some(Trouble::Narrow { width, expected, against, all_alike, is_alone })
    };
    let by_peers = of_others.iter().max().and_then(|most| trouble(*most, Against::Peers));
    let by_slot = || card.pcie.width_max.known().and_then(|most| trouble(*most, Against::Slot));
    let by_product = || product_width(card).and_then(|most| trouble(most, Against::Product));
    by_slot().or(by_peers).or_else(by_product)
}

/// Returns the lanes of the product; some have eight by design.
fn product_width(card: &Card) -> Option<u32> {
    gpuwhy_knowledge::card(card.name.known()?)?.pcie_width
}

fn slow(scene: &Scene, card: &Card, others: &[&Card], limits: &Limits) -> Option<Trouble> {
    if !is_link_up(card, limits) {
        return None;
    }
    let generation = *card.pcie.generation.known()?;
    let expected = *card.pcie.generation_max.known()?;
    if generation == 0 || generation >= expected {
        return None;
    }
    let of_others: Vec<u32> = others
        .iter()
        .filter(|other| is_link_up(other, limits))
        .filter_map(|other| other.pcie.generation.known().copied())
        .collect();
    let others_are_faster = !of_others.is_empty() && of_others.iter().all(|other| *other > generation);
    let against = if others_are_faster { Against::Peers } else { Against::Slot };
    Some(Trouble::Slow { generation, expected, against, is_one_look: scene.window.samples < 2 })
}

/// Returns whether a card is at work, so that its link is not asleep.
fn is_link_up(card: &Card, limits: &Limits) -> bool {
    let is_resting = card.performance_state.known().is_some_and(|state| *state >= RESTING_STATE);
    let computes = activity(card, limits) == Activity::Works
        && card.busy.known().is_some_and(|busy| busy.mean.0 >= LOADED_PERCENT && busy.last.0 > 0.0);
    let moves = traffic(card)
        .zip(slot_capacity(card))
        .is_some_and(|(traffic, capacity)| traffic.0 >= capacity.0 * LOADED_TRAFFIC_SHARE);
    !is_resting && (computes || moves)
}

fn slow_slot(card: &Card, others: &[&Card]) -> Option<Trouble> {
    let generation = *card.pcie.generation_max.known().filter(|generation| **generation > 0)?;
    let of_others: Vec<u32> =
        others.iter().filter_map(|other| other.pcie.generation_max.known().copied()).collect();
    if let Some(expected) = of_others.iter().max().copied().filter(|most| *most > generation) {
        return Some(Trouble::SlowSlot { generation, expected, against: Against::Peers, all_alike: false });
    }
    let own = card.pcie.card_generation_max.known().copied();
    let expected = own.or_else(|| gpuwhy_knowledge::card(card.name.known()?)?.pcie_gen)?;
    (generation < expected).then_some(Trouble::SlowSlot {
        generation,
        expected,
        against: Against::Product,
        all_alike: true,
    })
}

fn uncorrected(card: &Card) -> Option<Trouble> {
    let grown = |reading: &Reading<u64>| reading.known().copied().unwrap_or(0);
    let count = grown(&card.pcie_errors.fatal).saturating_add(grown(&card.pcie_errors.non_fatal));
    (count > 0).then_some(Trouble::Uncorrected { count })
}

fn replays(scene: &Scene, card: &Card) -> Option<Trouble> {
    let count = *card.pcie_replays.known()?;
    let allowed = allowed(scene, card)?;
    is_more_than_chance(count, allowed).then_some(Trouble::Replays { count, allowed })
}

fn corrected(scene: &Scene, card: &Card) -> Option<Trouble> {
    let count = *card.pcie_errors.corrected.known()?;
    let allowed = allowed(scene, card)?;
    is_more_than_chance(count, allowed).then_some(Trouble::Corrected { count, allowed })
}

/// Returns how many errors a healthy link of this kind has in a window, on the mean.
fn allowed(scene: &Scene, card: &Card) -> Option<f64> {
    let width = *card.pcie.width.known().or(card.pcie.width_max.known())?;
    let per_minute = gpuwhy_knowledge::pcie_replays_per_minute(*best_generation(card)?, width)?;
    (scene.window.span_s > 0.0).then_some(per_minute * scene.window.span_s / 60.0)
}

/// Returns the generation that the link may have had in the window.
fn best_generation(card: &Card) -> Option<&u32> {
    card.pcie.generation_max.known().or(card.pcie.generation.known())
}

/// Returns whether rare errors came more often than a healthy link explains.
fn is_more_than_chance(count: u64, allowed: f64) -> bool {
    count as f64 > allowed + DEVIATIONS * allowed.sqrt() + TOGETHER
}

/// Returns what the link carries now, one way.
pub(super) fn capacity(card: &Card) -> Option<BytesPerSecond> {
    gpuwhy_knowledge::pcie_bandwidth(*card.pcie.generation.known()?, *card.pcie.width.known()?)
}

/// Returns what the link carries at the highest generation of its slot.
fn slot_capacity(card: &Card) -> Option<BytesPerSecond> {
    gpuwhy_knowledge::pcie_bandwidth(*best_generation(card)?, *card.pcie.width.known()?)
}

/// Returns what goes over the link, in the direction in which more does.
pub(super) fn traffic(card: &Card) -> Option<BytesPerSecond> {
    let (to_card, to_host) = (card.pcie_traffic.to_card.known(), card.pcie_traffic.to_host.known());
    let most = to_card
        .into_iter()
        .chain(to_host)
        .map(|rate| rate.0)
        .fold(None, |most: Option<f64>, rate| Some(most.map_or(rate, |most| most.max(rate))));
    most.map(BytesPerSecond)
}

/// Returns what goes over the link as a share of what it carries.
pub(super) fn traffic_share(card: &Card) -> Option<f64> {
    Some((traffic(card)?.0 / capacity(card)?.0).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::is_more_than_chance;

    #[test]
    fn a_few_replays_are_chance_and_a_stream_is_not() {
        // Sixteen lanes of generation 4 may have 16 a minute: 1.3 in five seconds.
        let allowed = 16.0 * 5.0 / 60.0;
        for (count, wanted) in [(0, false), (1, false), (8, false), (10, true), (200, true)] {
            assert_eq!(is_more_than_chance(count, allowed), wanted, "{count}");
        }
        assert!(!is_more_than_chance(20, 16.0) && is_more_than_chance(40, 16.0));
    }
}
