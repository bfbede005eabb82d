//! A text that lists no processes, and a card that holds little more than the context of one.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Scene, SourceKind};

use crate::facts::cards::{is_worth_naming, whole_cards};
use crate::facts::effort::hollow;

/// A context takes at least so much; what a driver keeps for itself, or a display, is less.
const CONTEXT_BYTES_MIN: u64 = 200 << 20;

/// Returns whether a text shows that somebody nameless is at work on this card alone, with little more than a context: the
/// members of a job that wait for each other hold their model, and are several.
pub(super) fn is_alone(scene: &Scene, card: &Card, limits: &Limits) -> bool {
    let is_unlisted = scene.provenance.source == SourceKind::Text && card.clients.is_not_in_source();
    let is_context = card.memory.known().is_some_and(|memory| {
        memory.used.0 >= CONTEXT_BYTES_MIN && !is_worth_naming(memory.used, card, limits)
    });
    let (least, low_power) = (limits.saturated_busy_percent_min, limits.false_busy_power_share_max);
    let others_are_too = whole_cards(scene)
        .any(|other| other.index != card.index && hollow(scene, other, least, low_power, limits).is_some());
    is_unlisted && is_context && card.display_active != Reading::Known(true) && !others_are_too
}
