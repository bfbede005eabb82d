//! Switches between cards, and who is at the other end of a link.

use serde::{Deserialize, Serialize};

use super::{Board, Card, FabricState};

/// PCI bus of the first switch; the cards' buses lie behind.
const FIRST_SWITCH_BUS: u8 = 0x04;
/// A board with so many cards of a product made for switches has them.
const CARDS_OF_A_SWITCHED_BOARD: usize = 8;

/// The `NVSwitch` fabric of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fabric {
    /// Number of switches (as on the product's own board when absent: none below eight cards).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<u8>,
    /// The program that sets the fabric up.
    #[serde(skip_serializing_if = "FabricManager::is_running")]
    pub manager: FabricManager,
}

/// State of the fabric manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FabricManager {
    /// It has set the fabric up.
    #[default]
    Running,
    /// It never ran: no card is in the fabric, and CUDA does not start.
    Stopped,
}

impl FabricManager {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_running(&self) -> bool {
        *self == Self::Running
    }
}

/// What a link leads to.
#[derive(Debug, Clone, Copy)]
pub enum LinkPeer<'a> {
    /// Another card.
    Card(&'a Card),
    /// The switch on this PCI bus.
    Switch(u8),
}

impl Board {
    /// PCI buses of the switches.
    pub fn switch_buses(&self) -> impl Iterator<Item = u8> {
        let made_for = self.cards.first().and_then(|card| card.profile.nvlink.as_ref());
        let own = made_for.filter(|_| self.cards.len() >= CARDS_OF_A_SWITCHED_BOARD);
        let count = self.fabric.switches.unwrap_or_else(|| own.map_or(0, |nvlink| nvlink.switches));
        (FIRST_SWITCH_BUS..FIRST_SWITCH_BUS.saturating_add(count)).take(usize::from(count))
    }

    /// Whether the cards are joined by switches.
    pub fn is_switched(&self) -> bool {
        self.switch_buses().next().is_some()
    }

    /// Whether CUDA starts: behind switches it needs the fabric manager.
    pub fn is_fabric_ready(&self) -> bool {
        !self.is_switched() || self.fabric.manager == FabricManager::Running
    }

    /// What `link` of `card` leads to, up or down; nothing for a link that the card does not have, or that
    /// nobody connected.
    pub fn link_peer(&self, card: &Card, link: u32) -> Option<LinkPeer<'_>> {
        let nvlink = card.profile.nvlink.as_ref().filter(|nvlink| link < nvlink.links)?;
        if nvlink.needs_bridge {
            let neighbour = self.cards.get(card.index ^ 1)?;
            return card.setting.nvlink.bridged.then_some(LinkPeer::Card(neighbour));
        }
        let switches: Vec<u8> = self.switch_buses().collect();
        if !switches.is_empty() {
            return switches.get(link as usize % switches.len()).copied().map(LinkPeer::Switch);
        }
        let is_linked = |other: &&Card| {
            other.index != card.index && other.profile.nvlink.is_some_and(|nvlink| !nvlink.needs_bridge)
        };
        let others: Vec<&Card> = self.cards.iter().filter(is_linked).collect();
        others.get(link as usize % others.len().max(1)).copied().map(LinkPeer::Card)
    }

    /// Whether `link` of `card` is up.
    pub fn is_link_up(&self, card: &Card, link: u32) -> bool {
        self.link_peer(card, link).is_some() && !card.setting.nvlink.down.contains(&link)
    }

    /// Links of `card` that are up.
    pub fn links_up(&self, card: &Card) -> u32 {
        let links = card.profile.nvlink.as_ref().map_or(0, |nvlink| nvlink.links);
        (0..links).map(|link| u32::from(self.is_link_up(card, link))).sum()
    }

    /// Speed of `link` in megabytes per second and direction.
    pub fn link_speed(&self, card: &Card, link: u32) -> u32 {
        let Some(nvlink) = card.profile.nvlink.as_ref() else { return 0 };
        if !self.is_link_up(card, link) {
            return 0;
        }
        if card.setting.nvlink.slow.contains(&link) { nvlink.mb_per_s / 2 } else { nvlink.mb_per_s }
    }

    /// Bytes per second and direction that a card exchanges with its peers at most: over NVLink where that is
    /// up, else over its link to the host.
    pub fn exchange_bytes_per_s(&self, card: &Card) -> f64 {
        const PAYLOAD: f64 = 0.85;
        let links = card.profile.nvlink.as_ref().map_or(0, |nvlink| nvlink.links);
        let mb_per_s: u64 = (0..links).map(|link| u64::from(self.link_speed(card, link))).sum();
        if mb_per_s == 0 { card.link_bytes_per_s() } else { mb_per_s as f64 * 1e6 * PAYLOAD }
    }

    /// How far a card's registration with the fabric came; nothing for products that do not register.
    pub fn fabric_state(&self, card: &Card) -> Option<FabricState> {
        let registers = card.profile.nvlink.as_ref().is_some_and(|nvlink| nvlink.registers);
        if !registers || !self.is_switched() {
            return None;
        }
        Some(card.setting.fabric.state.unwrap_or(match self.fabric.manager {
            FabricManager::Running => FabricState::Completed,
            FabricManager::Stopped => FabricState::NotStarted,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardFile;

    fn board(text: &str) -> Board {
        toml::from_str::<BoardFile>(text).unwrap().resolve().unwrap()
    }

    #[test]
    fn eight_cards_hang_on_switches_and_two_on_each_other() {
        let eight = board("[[card]]\nprofile = \"h100-sxm5-80gb\"\ncount = 8\n");
        assert_eq!(eight.switch_buses().count(), 4);
        assert_eq!(eight.links_up(&eight.cards[3]), 18);
        assert!(matches!(eight.link_peer(&eight.cards[3], 17), Some(LinkPeer::Switch(5))));
        assert_eq!(eight.fabric_state(&eight.cards[0]), Some(FabricState::Completed));
        let two = board("[[card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 2\n");
        assert!(!two.is_switched());
        assert!(matches!(two.link_peer(&two.cards[0], 4), Some(LinkPeer::Card(card)) if card.index == 1));
        assert_eq!(two.fabric_state(&two.cards[0]), None);
    }

    #[test]
    fn a_link_that_is_down_or_slow_carries_less() {
        let board = board(
            "[[card]]\nprofile = \"a100-sxm4-80gb\"\nnvlink = { down = [1], slow = [2] }\n\n\
             [[card]]\nprofile = \"a100-sxm4-80gb\"\n",
        );
        assert_eq!(board.links_up(&board.cards[0]), 11);
        assert_eq!(board.link_speed(&board.cards[0], 1), 0);
        assert_eq!(board.link_speed(&board.cards[0], 2) * 2, board.link_speed(&board.cards[0], 3));
        assert!(board.exchange_bytes_per_s(&board.cards[0]) < board.exchange_bytes_per_s(&board.cards[1]));
    }

    #[test]
    fn a_bridge_must_be_there_and_other_products_have_no_links() {
        let board = board(
            "[[card]]\nprofile = \"rtx-3090\"\ncount = 2\nnvlink = { bridged = true }\n\n\
             [[card]]\nprofile = \"rtx-3090\"\n\n[[card]]\nprofile = \"t4\"\n",
        );
        let up: Vec<u32> = board.cards.iter().map(|card| board.links_up(card)).collect();
        assert_eq!(up, [4, 4, 0, 0]);
        let over_the_host = board.exchange_bytes_per_s(&board.cards[3]);
        assert!((over_the_host - board.cards[3].link_bytes_per_s()).abs() < 1.0);
    }
}
