//! Memory of a card that no process holds that the driver names.

use std::collections::BTreeMap;

use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::{DeviceHolder, ProcessRole};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::units::Bytes;

/// Returns the used memory of a card that no listed process holds, those of its instances included; none where some
/// process's share is not known, or the system itself may keep pages there.
pub(crate) fn unexplained(scene: &Scene, card: &Card) -> Option<Bytes> {
    let used = card.memory.known()?.used;
    if is_part_of_host_memory(card) {
        return None;
    }
    let mut instances = scene.cards.iter().filter(|part| part.parent == Some(card.index)).peekable();
    if instances.peek().is_none() {
        return card.unexplained.known().copied();
    }
    let mut held: BTreeMap<Pid, u64> = BTreeMap::new();
    for part in std::iter::once(card).chain(instances) {
        for client in part.clients.known()? {
            let bytes = held.entry(client.pid).or_default();
            *bytes = (*bytes).max(client.memory.known()?.0);
        }
    }
    Some(Bytes(used.0.saturating_sub(held.values().sum())))
}

/// Returns the processes that have a card open for computing, services left out; none where that was not seen.
pub(crate) fn having_open<'scene>(
    scene: &'scene Scene,
    card: &'scene Card,
) -> impl Iterator<Item = &'scene DeviceHolder> {
    let device = card.minor.known().map(|minor| format!("nvidia{minor}"));
    scene.device_holders.known().into_iter().flatten().filter(move |holder| {
        let names: Vec<&str> =
            holder.devices.iter().map(|device| device.rsplit('/').next().unwrap_or(device)).collect();
        let has_it = device.as_deref().is_some_and(|device| names.contains(&device));
        // A context needs the unified-memory device too; a monitor opens the card alone.
        has_it && names.contains(&"nvidia-uvm") && !is_a_service(scene, holder)
    })
}

/// Returns those of them whom the driver names on no card.
///
/// A program opens every card that it may use, also those on which it makes no context.
pub(crate) fn strangers<'scene>(
    scene: &'scene Scene,
    card: &'scene Card,
) -> impl Iterator<Item = &'scene DeviceHolder> {
    having_open(scene, card).filter(|holder| {
        let mut clients = scene.cards.iter().flat_map(Card::known_clients);
        !clients.any(|client| client.pid == holder.pid)
    })
}

fn is_a_service(scene: &Scene, holder: &DeviceHolder) -> bool {
    scene.process(holder.pid).is_some_and(|process| process.role == Some(ProcessRole::CardService))
}

/// Returns whether so much memory has no owner that it is more than the driver's own.
pub(crate) fn is_much(bytes: Bytes, card: &Card, limits: &Limits) -> bool {
    let total = card.memory.known().map_or(0, |memory| memory.total.0) as f64;
    bytes.0 >= limits.held_bytes_worth_naming
        && bytes.0 as f64 >= total * limits.unexplained_share_worth_naming
}

/// Returns whether the operating system uses the card's memory as a memory node of its own: pages of anybody may lie
/// there.
fn is_part_of_host_memory(card: &Card) -> bool {
    let fact = card.name.known().and_then(|name| gpuwhy_knowledge::card(name));
    fact.is_some_and(gpuwhy_knowledge::CardFact::is_joined_to_its_processor)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{CardMemory, ClientKind};
    use gpuwhy_model::scene::{Card, Client, Scene};
    use gpuwhy_model::units::Bytes;

    use super::{Pid, unexplained};

    fn card(index: u32, parent: Option<u32>, used: u64, held: u64) -> Card {
        let client = Client {
            pid: Pid(7 + index),
            kind: ClientKind::Compute,
            memory: Reading::Known(Bytes(held)),
            memory_trend: Reading::default(),
            name: Reading::default(),
            sm: Reading::default(),
            idle_for: Reading::default(),
            seen_working: false,
        };
        Card {
            index,
            parent,
            memory: Reading::Known(CardMemory { used: Bytes(used), ..CardMemory::default() }),
            clients: Reading::Known(if held > 0 { vec![client] } else { Vec::new() }),
            unexplained: Reading::Known(Bytes(used - held)),
            ..Card::default()
        }
    }

    #[test]
    fn what_instances_hold_is_explained() {
        let scene = Scene {
            cards: vec![card(0, None, 90, 0), card(1, Some(0), 60, 60), card(2, Some(0), 20, 20)],
            ..Scene::default()
        };
        assert_eq!(unexplained(&scene, &scene.cards[0]), Some(Bytes(10)));
    }

    #[test]
    fn memory_that_the_system_uses_too_is_not_counted() {
        let mut grace = card(0, None, 90, 10);
        assert_eq!(unexplained(&Scene::default(), &grace), Some(Bytes(80)));
        grace.name = Reading::Known("NVIDIA GH200 480GB".to_owned());
        assert_eq!(unexplained(&Scene::default(), &grace), None);
    }
}
