//! Makes one scene of several parts: each was read from another text, or from another tool's output in the same text.
//!
//! The parts are joined by their form alone: what one part does not say, another may; entities are told by their names
//! and numbers; where two parts say different things, the later one counts, and values that cannot change are named.

mod identity;
mod join;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::reading::Reading;
use crate::scene::{Card, Scene, Window};
use crate::units::Bytes;
use identity::one_number_for_each_card;

/// Two parts that say different things of what cannot change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// Which value, as a path of names: `machine.driver.version`.
    pub value: String,
    /// What the earlier part says.
    pub earlier: String,
    /// What the later part says.
    pub later: String,
}

/// Several parts as one.
#[derive(Debug, Default)]
pub struct Merged {
    /// The scene.
    pub scene: Scene,
    /// Where the parts disagree.
    pub disagreements: Vec<Disagreement>,
}

/// Makes one scene of its parts, which stand in the order in which they were read.
pub fn merge(parts: impl IntoIterator<Item = Scene>) -> Merged {
    let mut parts = parts.into_iter();
    let Some(mut scene) = parts.next() else {
        return Merged::default();
    };
    let mut disagreements = Vec::new();
    for mut part in parts {
        one_number_for_each_card(&scene, &mut part);
        let window = joined_window(&scene.window, &part.window);
        scene.window = window.clone();
        part.window = window;
        let Some(joined) = join::joined(&scene, &part, &mut disagreements) else {
            continue;
        };
        scene = joined;
    }
    settle(&mut scene);
    Merged { scene, disagreements }
}

/// Returns the window of two parts: the time of the later, the length of the longer.
fn joined_window(earlier: &Window, later: &Window) -> Window {
    let longer =
        if later.span_s > earlier.span_s || later.samples > earlier.samples { later } else { earlier };
    Window {
        taken_at: earlier.taken_at.max(later.taken_at),
        span_s: longer.span_s,
        samples: longer.samples,
        end_boot_ns: later.end_boot_ns.or(earlier.end_boot_ns),
    }
}

/// Puts entities in order, and makes anew what follows from others.
fn settle(scene: &mut Scene) {
    scene.cards.sort_by_key(|card| (card.parent.unwrap_or(card.index), card.parent, card.index));
    scene.processes.sort_by(|one, other| one.key.pid.cmp(&other.key.pid));
    if let Reading::Known(events) = &mut scene.events {
        events.sort_by_key(|line| line.boot_us);
    }
    for card in &mut scene.cards {
        if !card.unexplained.is_known() {
            card.unexplained = unexplained(card);
        }
    }
    scene.workloads = super::workloads::workloads(
        &scene.cards,
        &scene.processes,
        &scene.device_holders,
        &scene.machine.viewer,
    );
}

/// Returns the used memory of a card that no listed client holds.
fn unexplained(card: &Card) -> Reading<Bytes> {
    let held = super::cards::explained_bytes(&card.clients);
    card.memory.as_ref().and_then(|memory| held.map(|held| Bytes(memory.used.0.saturating_sub(held.0))))
}

/// The fields of an object, by name.
type Fields = BTreeMap<String, Value>;

#[cfg(test)]
mod tests;
