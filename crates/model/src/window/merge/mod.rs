//! Makes one scene of several parts: each was read from another text, or from another tool's output in the same text.
//!
//! The parts are joined by their form alone: what one part does not say, another may; entities are told by their names
//! and numbers; where two parts say different things, the later one counts, and values that cannot change are named.

mod identity;
mod join;
mod place;
mod unlisted;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::reading::{Failure, Reading};
use crate::scene::{Card, Scene, Window};
use crate::units::Bytes;
use identity::{one_id_for_each_job, one_number_for_each_card};

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
    let mut gathering = Gathering::default();
    for part in parts {
        gathering.add(part);
    }
    gathering.finish()
}

/// Parts that come one after the other. Few are kept at one time: equally many are joined with each other, so that of
/// thousands none is joined more often than a few times.
#[derive(Debug, Default)]
pub struct Gathering {
    /// Joined parts with the number of joints, most joints first.
    runs: Vec<(u32, Scene)>,
    disagreements: Vec<Disagreement>,
}

impl Gathering {
    /// Adds the part that was read next.
    pub fn add(&mut self, mut part: Scene) {
        for card in part.cards.iter_mut().filter(|card| card.bar1_most.is_not_in_source()) {
            card.bar1_most.clone_from(&card.bar1);
        }
        let mut newest = (0, part);
        while let Some((joints, _)) = self.runs.last()
            && *joints == newest.0
            && let Some((joints, earlier)) = self.runs.pop()
        {
            newest = (joints + 1, joined(earlier, newest.1, &mut self.disagreements));
        }
        self.runs.push(newest);
    }

    /// Makes one scene of all parts.
    pub fn finish(self) -> Merged {
        let Self { runs, mut disagreements } = self;
        let mut runs = runs.into_iter().map(|(_, scene)| scene);
        let Some(mut scene) = runs.next() else {
            return Merged::default();
        };
        for later in runs {
            scene = joined(scene, later, &mut disagreements);
        }
        settle(&mut scene);
        let mut merged = Merged { scene, disagreements: Vec::new() };
        for disagreement in disagreements {
            if !merged.disagreements.contains(&disagreement) {
                merged.disagreements.push(disagreement);
            }
        }
        merged
    }
}

fn joined(mut earlier: Scene, mut later: Scene, disagreements: &mut Vec<Disagreement>) -> Scene {
    one_number_for_each_card(&mut earlier, &mut later);
    one_id_for_each_job(&mut earlier, &mut later);
    let window = joined_window(&earlier.window, &later.window);
    earlier.window = window.clone();
    later.window = window;
    join::joined(&earlier, &later, disagreements).unwrap_or(earlier)
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
    place::clients(scene);
    identity::number_the_only_card(scene);
    scene.cards.sort_by_key(|card| (card.parent.unwrap_or(card.index), card.parent, card.index));
    scene.processes.sort_by_key(|one| one.key.pid);
    if let Reading::Known(events) = &mut scene.events {
        // What was before the last boot comes first, whatever its clock said.
        events.sort_by_key(|line| (!line.before_boot, line.boot_us));
    }
    unlisted::cards(scene);
    for card in &mut scene.cards {
        // Behind a list that is cut off others may stand.
        let is_list_cut = matches!(card.unexplained, Reading::Failed(Failure::Syntax { .. }));
        let follows = unexplained(card);
        if !is_list_cut && (follows.is_known() || !card.unexplained.is_known()) {
            card.unexplained = follows;
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
