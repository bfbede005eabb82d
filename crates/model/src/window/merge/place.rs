//! Which card a process has its context on, where its own text does not say the card's number.

use crate::reading::Reading;
use crate::sample::CardKind;
use crate::scene::{Card, Scene, UnplacedClient};

/// Gives processes to the cards that another part names; one that names no card belongs to the only one.
pub(super) fn clients(scene: &mut Scene) {
    let mut unplaced = std::mem::take(&mut scene.unplaced_clients);
    if scene.cards.is_empty() {
        scene.cards = named_cards(&unplaced);
    }
    let number = scene.cards.iter().filter(|card| card.kind == CardKind::Card).count();
    unplaced.retain(|unplaced| {
        let has_name = unplaced.card_uuid.is_some() || unplaced.card_address.is_some();
        let place = if has_name {
            scene.cards.iter().position(|card| is_card_of(unplaced, card))
        } else {
            scene.cards.iter().position(|card| card.kind == CardKind::Card).filter(|_| number == 1)
        };
        let Some(card) = place.and_then(|place| scene.cards.get_mut(place)) else {
            return true;
        };
        add(card, unplaced);
        false
    });
    scene.unplaced_clients = unplaced;
}

/// Returns the cards that processes name, in the order of their naming.
fn named_cards(unplaced: &[UnplacedClient]) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    for unplaced in unplaced {
        let has_name = unplaced.card_uuid.is_some() || unplaced.card_address.is_some();
        if has_name && !cards.iter().any(|card| is_card_of(unplaced, card)) {
            cards.push(Card {
                index: u32::try_from(cards.len()).unwrap_or(u32::MAX),
                is_unnumbered: true,
                handle: Reading::Known(()),
                uuid: unplaced.card_uuid.clone().into(),
                pci_address: unplaced.card_address.clone().into(),
                ..Card::default()
            });
        }
    }
    cards
}

fn is_card_of(unplaced: &UnplacedClient, card: &Card) -> bool {
    let same = |one: &Option<String>, other: &Reading<String>| match (one, other.known()) {
        (Some(one), Some(other)) => Some(one.eq_ignore_ascii_case(other)),
        _ => None,
    };
    same(&unplaced.card_uuid, &card.uuid)
        .or_else(|| same(&unplaced.card_address, &card.pci_address))
        .unwrap_or(false)
}

fn add(card: &mut Card, unplaced: &UnplacedClient) {
    let mut clients = std::mem::take(&mut card.clients).into_known().unwrap_or_default();
    match clients.iter_mut().find(|client| client.pid == unplaced.client.pid) {
        Some(known) => {
            let new = unplaced.client.clone();
            known.memory = std::mem::take(&mut known.memory).or(new.memory);
            known.memory_trend = std::mem::take(&mut known.memory_trend).or(new.memory_trend);
            known.name = std::mem::take(&mut known.name).or(new.name);
        }
        None => clients.push(unplaced.client.clone()),
    }
    clients.sort_by_key(|client| client.pid);
    card.clients = Reading::Known(clients);
}
