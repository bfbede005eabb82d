//! Puts together what an output tells of a card in different places: its rows, the panel, and what is said around.

use std::collections::BTreeSet;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, NvmlSample};

use super::message::Message;
use super::table::Table;

impl Table {
    /// Takes a message about a card; a tool that says more of them than there can be cards is not believed.
    pub(super) fn keep(&mut self, message: Message) {
        if self.told.len() < NvmlSample::CARDS_MAX as usize {
            self.told.push(message);
        }
    }

    /// Gives every card what was told of it, in the order of their numbers.
    pub(super) fn put_together(&mut self) {
        let listed: BTreeSet<u32> = self.panel.processes.iter().map(|process| process.card).collect();
        for index in listed.into_iter().take(NvmlSample::CARDS_MAX as usize) {
            self.card_of(Some(index), None);
        }
        for message in std::mem::take(&mut self.told) {
            self.told_of_a_card(message);
        }
        self.give_processes();
        self.cards.sort_by_key(|card| card.index);
        self.cards.dedup_by_key(|card| card.index);
        self.cards.truncate(NvmlSample::CARDS_MAX as usize);
    }

    fn told_of_a_card(&mut self, message: Message) {
        match message {
            Message::Handle { index, address, failure } => {
                self.card_of(index, address).handle = Reading::Failed(failure);
            }
            Message::Lost(failure) => self.card_of(None, None).handle = Reading::Failed(failure),
            Message::Inforom { address, failure } => {
                let card = self.card_of(None, Some(address));
                card.inforom = Reading::Failed(failure);
                if card.handle.is_not_in_source() {
                    card.handle = Reading::Known(());
                }
            }
            _ => {}
        }
    }

    /// Returns the card with this number or address; a new one where the table has none.
    fn card_of(&mut self, index: Option<u32>, address: Option<String>) -> &mut CardSample {
        let cards = &mut self.cards;
        let has_address = |card: &CardSample| {
            address.as_ref().is_some_and(|address| card.pci_address.known() == Some(address))
        };
        let place = cards.iter().position(has_address).or_else(|| {
            let index = index?;
            cards.iter().position(|card| card.index == index)
        });
        let place = place.unwrap_or_else(|| {
            let taken: BTreeSet<u32> = cards.iter().map(|card| card.index).collect();
            // The lowest number that no row has.
            let lowest = (0..=NvmlSample::PARTS_MAX).find(|number| !taken.contains(number));
            let number = index.or(lowest).unwrap_or_default();
            if index.is_none() {
                self.unnumbered.push(number);
            }
            cards.push(CardSample { index: number, ..CardSample::default() });
            cards.len() - 1
        });
        let card = &mut cards[place];
        if let Some(address) = address {
            card.pci_address = Reading::Known(address);
        }
        card
    }

    fn give_processes(&mut self) {
        let Self { cards, instances, panel, .. } = self;
        for card in &mut *cards {
            card.clients = panel.clients(card.index);
            // Whoever has a process answers.
            if card.handle.is_not_in_source() && card.clients.is_known() {
                card.handle = Reading::Known(());
            }
        }
        for instance in instances {
            let card = instance.sample.parent.unwrap_or_default();
            instance.sample.clients = panel.clients_of_instance(card, instance.ids);
        }
    }
}
