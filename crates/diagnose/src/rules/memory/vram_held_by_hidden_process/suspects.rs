//! What is held by somebody who cannot be seen, told apart by how one knows of it.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::DeviceHolder;
use gpuwhy_model::scene::{Card, Process, Scene};
use gpuwhy_model::units::Bytes;

use crate::facts::cards::{Holder, holders, is_worth_naming, whole_cards};
use crate::facts::unexplained::{having_open, is_much, strangers, unexplained};

/// A process that the driver names and that this view does not show.
pub(super) struct NotHere<'scene> {
    pub(super) card: &'scene Card,
    pub(super) holder: Holder<'scene>,
    /// What it holds at least.
    pub(super) bytes: Bytes,
}

/// A card with much memory for which the driver names nobody.
pub(super) struct Ownerless<'scene> {
    pub(super) card: &'scene Card,
    pub(super) bytes: Bytes,
    /// Processes that have the card open and that the driver does not name.
    pub(super) strangers: Vec<&'scene Process>,
    /// Whether all descriptors were seen, and nobody has the card open.
    pub(super) nobody_has_it_open: bool,
}

/// Returns the processes that the driver names and that a `/proc` which counts as the driver does has not.
pub(super) fn not_here<'scene>(scene: &'scene Scene, limits: &Limits) -> Vec<NotHere<'scene>> {
    let mut clients = scene.cards.iter().flat_map(Card::known_clients);
    let all_are_here = clients.all(|client| scene.process(client.pid).is_some());
    if all_are_here || !scene.machine.viewer.initial_pid_namespace.is_known() {
        return Vec::new();
    }
    whole_cards(scene)
        .flat_map(|card| holders(scene, card).into_iter().map(move |holder| (card, holder)))
        .filter(|(_, holder)| holder.process.is_none())
        .filter(|(card, holder)| is_worth_naming(holder.bytes(), card, limits))
        .map(|(card, holder)| NotHere { card, bytes: holder.bytes(), holder })
        .collect()
}

/// Returns the processes that the driver names beyond those of our own pid namespace that have the card open.
///
/// Which of the named ones are ours cannot be told: so many of the smallest are taken for the others.
pub(super) fn listed_elsewhere<'scene>(scene: &'scene Scene, limits: &Limits) -> Vec<NotHere<'scene>> {
    let mut outside = Vec::new();
    for card in whole_cards(scene) {
        let named = holders(scene, card);
        let ours = having_open(scene, card).count();
        // The largest holders come first.
        let others =
            named.into_iter().skip(ours).filter(|holder| is_worth_naming(holder.bytes(), card, limits));
        outside.extend(others.map(|holder| NotHere { card, bytes: holder.bytes(), holder }));
    }
    outside
}

/// Returns the cards of which much memory is held by nobody whom the driver names.
pub(super) fn ownerless<'scene>(scene: &'scene Scene, limits: &Limits) -> Vec<Ownerless<'scene>> {
    let mut cards = Vec::new();
    for card in whole_cards(scene) {
        let Some(bytes) = unexplained(scene, card).filter(|bytes| is_much(*bytes, card, limits)) else {
            continue;
        };
        let others: Vec<&DeviceHolder> = strangers(scene, card).collect();
        let seen: Vec<&Process> = others.iter().filter_map(|holder| scene.process(holder.pid)).collect();
        let all_seen = scene.device_holders.is_known() && card.minor.is_known();
        cards.push(Ownerless {
            card,
            bytes,
            strangers: seen,
            nobody_has_it_open: all_seen && others.is_empty(),
        });
    }
    cards
}
