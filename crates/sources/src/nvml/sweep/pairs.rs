//! The ways between cards, which do not change while the machine runs.

use gpuwhy_model::reading::{Absence, Reading};
use gpuwhy_model::sample::CardPair;

use crate::nvml::answers::reading_of;
use crate::nvml::call::Call;
use crate::nvml::caller::Caller;
use crate::nvml::plausible;
use crate::nvml::raw::Device;
use crate::nvml::remembered::Remembered;

/// Machines with more cards are not asked for each pair: it would take thousands of calls.
const CARDS_MAX: usize = 16;

/// Asks for the way between every two cards that answer.
pub(super) fn between(caller: &mut Caller, cards: &[Remembered]) -> Reading<Vec<CardPair>> {
    if cards.len() > CARDS_MAX {
        return Reading::default();
    }
    let devices: Vec<(u32, Device)> =
        (0..).zip(cards).filter_map(|(index, card)| Some((index, card.device?))).collect();
    let mut pairs = Vec::new();
    let mut refused: Option<Absence> = None;
    for (place, (one, one_device)) in devices.iter().enumerate() {
        for (other, other_device) in &devices[place + 1..] {
            let way = caller.try_ask(Call::CommonAncestor, Some(*one), |library| {
                library.common_ancestor(*one_device, *other_device)
            });
            let way = plausible::path(reading_of(Call::CommonAncestor, way));
            let Reading::Known(path) = way else {
                refused = refused.or(way.absence());
                continue;
            };
            let reach = caller.try_ask(Call::PeerToPeer, Some(*one), |library| {
                library.peer_to_peer(*one_device, *other_device)
            });
            let peer_to_peer = plausible::peer_to_peer(&reading_of(Call::PeerToPeer, reach));
            pairs.push(CardPair { one: *one, other: *other, path, peer_to_peer });
        }
    }
    match refused {
        Some(absence) if pairs.is_empty() => absence.reading(),
        _ => Reading::Known(pairs),
    }
}
