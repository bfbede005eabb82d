//! A paste of cards that let one program in each: one of them is at rest, and somebody is in all the same.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Bytes;
use gpuwhy_model::verdict::Impact;

use super::{advise, begun, is_exclusive, text};
use crate::draft::Draft;
use crate::evidence::{holds, memory_used};
use crate::facts::cards::{Activity, Holder, activity, whole_cards};
use crate::facts::culprit;

/// A context takes at least this much more than a card without one.
const CONTEXT_MIN: Bytes = Bytes::from_mebibytes(200);

/// Who holds a larger share is seen to hold the card; that is another trouble.
const LITTLE_SHARE_MAX: f64 = 0.25;

/// Judges a card that is at rest in a mode for one program, by the memory in use on it.
///
/// Only a paste is judged so: on the machine itself it is seen who is in and who wants to get in.
pub(super) fn judge(scene: &Scene, card: &Card, inside: &[Holder<'_>], limits: &Limits) -> Option<Draft> {
    let is_paste = scene.provenance.source == SourceKind::Text;
    let memory = card.memory.known().filter(|_| is_paste)?;
    // A list that was shown and names nobody is another trouble.
    let is_list_shown = card.clients.is_known() && inside.is_empty();
    let share = memory.used.0 as f64 / memory.total.0.max(1) as f64;
    if is_list_shown || activity(card, limits) != Activity::Rests || share > LITTLE_SHARE_MAX {
        return None;
    }
    let least = least_used_of_the_same(scene, card)?;
    if memory.used.0 < least.0.saturating_add(CONTEXT_MIN.0) {
        return None;
    }
    let mut draft = begun(scene, card, "taken", text::summary_taken());
    draft.agree_by(2.0, 0.6, memory_used(scene, memory.used, memory.total));
    match (inside.first(), card.clients.absence()) {
        (Some(first), _) => draft.agree(1.0, holds(scene, first)),
        (None, Some(absence)) => draft.unseen(1.5, Signal::VramByProcess, absence),
        (None, None) => draft.silent(1.5),
    }
    // Nobody was seen who wants to get in.
    draft.silent(2.0);
    draft.balance.past_decides = true;
    draft.finding.impact = Impact { blocked: 1, ..Impact::default() };
    match inside.first() {
        Some(first) => {
            draft.advise(Action::AskOwner, vec![culprit::target(first.client.pid)], text::fix_ask());
        }
        None => draft.advise(Action::LookAgain, Vec::new(), text::fix_find(card.shown())),
    }
    advise(card, &mut draft);
    Some(draft.culprits(culprit::culprits(scene, inside), culprit::pids(inside)))
}

/// Returns how little is in use on another card of the same size and mode: so much the driver takes for itself.
fn least_used_of_the_same(scene: &Scene, card: &Card) -> Option<Bytes> {
    let total = card.memory.known()?.total;
    whole_cards(scene)
        .filter(|other| other.index != card.index && is_exclusive(other))
        .filter_map(|other| other.memory.known())
        .filter(|memory| memory.total == total)
        .map(|memory| memory.used)
        .min()
}
