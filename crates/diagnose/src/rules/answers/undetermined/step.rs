//! What to run next on a machine that perhaps has no gpuwhy, where the figures of a text do not decide.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::{ClientKind, Vendor};
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::text::Text;

use super::text;
use crate::facts::apparent_heat::apparent_heat;
use crate::facts::cards::{Activity, activity, is_free};

/// A busy card that takes less than this share of its power limit may be slowed.
const FAR_FROM_LIMIT: f64 = 0.6;

/// No more processes are asked about in one command.
const PIDS_MAX: usize = 8;

/// Returns the step; the card whose figures say most is asked first.
pub(super) fn of_text(scene: &Scene, open: &[&Card], limits: &Limits) -> Option<Text> {
    if scene.provenance.source != SourceKind::Text {
        return None;
    }
    let cards = || open.iter().copied().filter(|card| card.vendor == Vendor::Nvidia);
    let is_hot = |card: &&Card| apparent_heat(scene, card, limits).is_some();
    if let Some(card) = cards().find(is_hot) {
        return Some(text::fix_heat(card.shown()));
    }
    let rests = |card: &&Card| activity(card, limits) == Activity::Rests && !is_free(card, limits);
    if let Some(card) = cards().find(rests) {
        return Some(whose(card));
    }
    if let Some(card) = cards().find(|card| takes_little(card, limits)) {
        return Some(text::fix_clocks(card.shown()));
    }
    let works = |card: &&Card| activity(card, limits) == Activity::Works;
    cards().find(works).map(|card| text::fix_over_time(card.shown()))
}

/// Returns whether a card is busy nearly all the time and takes little power.
fn takes_little(card: &Card, limits: &Limits) -> bool {
    let is_busy = card.busy.known().is_some_and(|busy| busy.mean.0 >= limits.busy_percent_min);
    is_busy && card.power_ratio().into_known().is_some_and(|ratio| ratio < FAR_FROM_LIMIT)
}

/// Asks whose memory it is, by the numbers of the processes where the text lists them.
fn whose(card: &Card) -> Text {
    let computing = card.known_clients().iter().filter(|client| client.kind != ClientKind::Graphics);
    let pids: Vec<String> = computing.take(PIDS_MAX).map(|client| client.pid.0.to_string()).collect();
    if pids.is_empty() { text::fix_whose_on(card.shown()) } else { text::fix_whose(pids.join(",")) }
}
