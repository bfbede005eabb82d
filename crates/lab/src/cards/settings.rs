//! What an administrator can change on a card while the box is up.

use std::sync::atomic::Ordering::Relaxed;

use super::{Machine, advance, release};
use crate::board::{Architecture, Card, FabricManager};
use crate::state::{Clock, Occupancy};

/// Why a card was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The value is outside of what the product can have.
    #[error("the value is out of range")]
    OutOfRange,
    /// The card is lost.
    #[error("the card is lost")]
    Lost,
    /// Somebody uses a card that would be reset.
    #[error("card {card} is in use by another client")]
    InUse {
        /// The card in use.
        card: usize,
    },
    /// Cards that are linked must be reset together.
    #[error("card {card} must be reset too")]
    Together {
        /// A card that is missing in the command.
        card: usize,
    },
}

const OFF: u32 = 1;
const ON: u32 = 2;

impl Machine {
    /// Whether the driver stays loaded without clients.
    pub fn has_persistence(&self) -> bool {
        match self.state().layout().header.set_persistence.load(Relaxed) {
            OFF => false,
            ON => true,
            _ => self.board().driver.persistence,
        }
    }

    /// Sets the persistence mode.
    pub fn set_persistence(&self, is_on: bool) {
        let value = if is_on { ON } else { OFF };
        self.state().layout().header.set_persistence.store(value, Relaxed);
    }

    /// Sets the power limit of a card, in milliwatts.
    ///
    /// # Errors
    /// Fails outside of what the product can have, and for a lost card.
    pub fn set_power_limit(&self, card: &Card, milliwatts: u32) -> Result<(), Refusal> {
        self.refuse_lost(card)?;
        let watts = f64::from(milliwatts) / 1000.0;
        if !(card.profile.power.minimum..=card.profile.power.maximum).contains(&watts) {
            return Err(Refusal::OutOfRange);
        }
        self.work(card, |state, _| {
            state.layout().cards[card.index].set_power_limit_mw.store(u64::from(milliwatts), Relaxed);
        });
        Ok(())
    }

    /// Limits the SM clock of a card in MHz, or lets it free.
    ///
    /// # Errors
    /// Fails for a lost card.
    pub fn set_clock_limit(&self, card: &Card, highest_mhz: Option<u32>) -> Result<(), Refusal> {
        self.refuse_lost(card)?;
        let highest = highest_mhz.unwrap_or(card.profile.clocks.maximum).max(1);
        self.work(card, |state, _| {
            state.layout().cards[card.index].set_clock_limit_mhz.store(highest, Relaxed);
        });
        Ok(())
    }

    /// Sets the compute mode of a card: 0 default, 2 prohibited, 3 exclusive process.
    ///
    /// # Errors
    /// Fails for other modes, and for a lost card.
    pub fn set_compute_mode(&self, card: &Card, mode: u32) -> Result<(), Refusal> {
        self.refuse_lost(card)?;
        if !matches!(mode, 0 | 2 | 3) {
            return Err(Refusal::OutOfRange);
        }
        self.state().layout().cards[card.index].set_compute_mode.store(mode + 1, Relaxed);
        Ok(())
    }

    /// Resets cards: pending repairs are done, errors since the driver was loaded are forgotten, and what dead
    /// clients left is free again.
    ///
    /// # Errors
    /// Fails when a card is lost or in use, or when a card that is linked to one of them is not among them and
    /// the cards cannot be reset one by one.
    pub fn reset(&self, indexes: &[usize]) -> Result<(), Refusal> {
        for &index in indexes {
            let Some(card) = self.card(index) else { return Err(Refusal::OutOfRange) };
            self.refuse_lost(&card)?;
            let clients = self.work(&card, |_, _| {
                self.reap_now(&card);
                self.clients_as_known(&card)
            });
            if clients.iter().any(|client| !client.is_residue) {
                return Err(Refusal::InUse { card: index });
            }
            if let Some(&missing) = self.reset_with(&card).iter().find(|peer| !indexes.contains(peer)) {
                return Err(Refusal::Together { card: missing });
            }
        }
        for &index in indexes {
            let Some(card) = self.card(index) else { continue };
            self.work(&card, |state, now| {
                for slot in advance::slots_on(state, index) {
                    if slot.occupancy() == Occupancy::Residue {
                        release(state, slot, now);
                    }
                }
                state.layout().cards[index].reset_at.store(Clock::now(), Relaxed);
            });
        }
        Ok(())
    }

    /// Cards that must be reset with `card`: all that are linked to it, unless the product is reset alone.
    fn reset_with(&self, card: &Card) -> Vec<usize> {
        let board = self.board();
        let architecture = card.profile.architecture;
        let needs_manager = board.is_switched() && architecture < Architecture::Hopper;
        let is_alone = architecture >= Architecture::Ampere
            && (!needs_manager || board.fabric.manager == FabricManager::Running);
        if is_alone || board.links_up(card) == 0 {
            return Vec::new();
        }
        board.cards.iter().filter(|other| board.links_up(other) > 0).map(|other| other.index).collect()
    }

    fn refuse_lost(&self, card: &Card) -> Result<(), Refusal> {
        if self.is_lost(card) { Err(Refusal::Lost) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{BoardFile, BoxDirectory};
    use crate::client::Client;
    use crate::state::State;

    struct UpBox {
        directory: BoxDirectory,
        _temporary: tempfile::TempDir,
    }

    impl UpBox {
        fn up(board: &str) -> Self {
            let temporary = tempfile::tempdir().unwrap();
            let directory = BoxDirectory::new(temporary.path());
            let file: BoardFile = toml::from_str(board).unwrap();
            std::fs::write(directory.board_file(), file.to_toml().unwrap()).unwrap();
            State::create(&directory).unwrap();
            Self { directory, _temporary: temporary }
        }

        fn machine(&self) -> Machine {
            Machine::open(&self.directory).unwrap()
        }
    }

    impl Drop for UpBox {
        fn drop(&mut self) {
            State::remove(&self.directory).unwrap();
        }
    }

    #[test]
    fn what_was_set_is_seen_by_everybody() {
        let up = UpBox::up("[[card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 2\n");
        let (one, other) = (up.machine(), up.machine());
        let card = one.card(1).unwrap();
        one.set_power_limit(&card, 250_000).unwrap();
        one.set_clock_limit(&card, Some(900)).unwrap();
        one.set_compute_mode(&card, 3).unwrap();
        one.set_persistence(false);
        let seen = other.card(1).unwrap();
        assert!((seen.enforced_power_limit_w - 250.0).abs() < 1e-9);
        assert_eq!((seen.clock_limit_mhz, seen.setting.compute_mode), (900, 3));
        assert!(!other.has_persistence());
        assert_eq!(other.card(0).unwrap().clock_limit_mhz, 1410);
        assert_eq!(one.set_power_limit(&card, 900_000), Err(Refusal::OutOfRange));
        other.set_clock_limit(&seen, None).unwrap();
        assert_eq!(one.card(1).unwrap().clock_limit_mhz, 1410);
    }

    #[test]
    fn a_reset_does_the_repair_and_needs_a_free_card() {
        let up = UpBox::up(
            "[[card]]\nprofile = \"a100-sxm4-80gb\"\n\
             repair = { uncorrected = 1, pending = true }\necc = { uncorrected = { dram = 2 } }\n",
        );
        let machine = up.machine();
        let card = machine.card(0).unwrap().into_owned();
        let client = Client::attach(&up.directory, 0).unwrap();
        assert_eq!(machine.reset(&[0]), Err(Refusal::InUse { card: 0 }));
        drop(client);
        assert!(machine.memory_health(&card).is_repair_pending);
        machine.reset(&[0]).unwrap();
        let health = machine.memory_health(&card);
        assert!(!health.is_repair_pending);
        assert_eq!((health.uncorrected.dram, health.uncorrected_ever.dram), (0, 2));
    }

    #[test]
    fn older_linked_cards_are_reset_together() {
        let up = UpBox::up("[[card]]\nprofile = \"v100-sxm2-32gb\"\ncount = 2\n");
        let machine = up.machine();
        assert_eq!(machine.reset(&[0]), Err(Refusal::Together { card: 1 }));
        machine.reset(&[0, 1]).unwrap();
        let lost = UpBox::up("[[card]]\nprofile = \"t4\"\nlost = true\n");
        assert_eq!(lost.machine().reset(&[0]), Err(Refusal::Lost));
    }
}
