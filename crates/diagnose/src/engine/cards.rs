//! The state of every card in a word.

use std::collections::BTreeSet;

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::verdict::{CardState, CardVerdict, Culprit, Finding, Severity, Unnumbered};

use crate::facts::cards::{self, Activity};
use crate::facts::culprit;

/// Findings of work in progress: a card that waits for its next batch is not free.
const AT_WORK: &[Cause] = &[
    Cause::StarvedByStorage,
    Cause::StarvedByCpu,
    Cause::StarvedByHostCode,
    Cause::StarvedByNetworkInput,
    Cause::TransferBound,
    Cause::CheckpointPause,
    Cause::BatchTooSmall,
    Cause::ComputeSaturated,
];

/// Returns every card with its state and its findings; cards that only the bus lists too.
pub(super) fn verdicts(
    scene: &Scene,
    limits: &Limits,
    answers: &[Finding],
    undecided: &BTreeSet<u32>,
) -> Vec<CardVerdict> {
    let positions = |index: u32| {
        answers
            .iter()
            .enumerate()
            .filter(|(_, finding)| finding.cards.contains(&index))
            .map(|(place, _)| place)
            .collect::<Vec<usize>>()
    };
    let mut verdicts: Vec<CardVerdict> = cards::whole_cards(scene)
        .map(|card| CardVerdict {
            index: card.index,
            unnumbered: unnumbered(card),
            uuid: card.uuid.known().cloned(),
            name: card.name.known().cloned(),
            state: state(scene, card, limits, answers),
            holders: named_holders(scene, card, limits),
            findings: positions(card.index),
            is_undecided: undecided.contains(&card.index),
        })
        .collect();
    for index in cards::only_on_the_bus(scene) {
        let findings_about = positions(index);
        let is_faulty = findings_about.iter().any(|place| answers[*place].severity == Severity::Fault);
        let state = if is_faulty { CardState::Faulty } else { CardState::Unknown };
        verdicts.push(CardVerdict {
            index,
            unnumbered: None,
            uuid: None,
            name: None,
            state,
            holders: Vec::new(),
            is_undecided: findings_about.is_empty(),
            findings: findings_about,
        });
    }
    verdicts.sort_by_key(|verdict| verdict.index);
    verdicts
}

fn unnumbered(card: &Card) -> Option<Unnumbered> {
    card.is_unnumbered
        .then(|| if card.is_nameless() { Unnumbered::Nameless } else { Unnumbered::Called(card.called()) })
}

fn state(scene: &Scene, card: &Card, limits: &Limits, answers: &[Finding]) -> CardState {
    let about = |finding: &&Finding| finding.cards.contains(&card.index);
    if answers.iter().filter(about).any(|finding| finding.severity == Severity::Fault) {
        return CardState::Faulty;
    }
    if answers.iter().filter(about).any(|finding| AT_WORK.contains(&finding.cause)) {
        return CardState::Busy;
    }
    let holders = cards::holders(scene, card);
    match cards::activity(card, limits) {
        Activity::Works => CardState::Busy,
        Activity::Rests if holds_something(card, &holders, limits) => CardState::Held,
        Activity::Rests => CardState::Free,
        Activity::Unknown if holders.iter().any(|holder| holder.worked(limits) == Some(true)) => {
            CardState::Busy
        }
        Activity::Unknown if holds_something(card, &holders, limits) => CardState::Held,
        Activity::Unknown if card.clients.is_known() && card.memory.is_known() => CardState::Free,
        Activity::Unknown => CardState::Unknown,
    }
}

/// Returns who holds a card: those whose memory is worth naming or unknown, and those that worked.
fn named_holders(scene: &Scene, card: &Card, limits: &Limits) -> Vec<Culprit> {
    let mut holders = cards::holders(scene, card);
    holders.retain(|holder| {
        let memory_is_known = holder.client.memory.is_known();
        let is_small = memory_is_known && !cards::is_worth_naming(holder.bytes(), card, limits);
        !is_small || holder.worked(limits) == Some(true)
    });
    culprit::culprits(scene, &holders)
}

fn holds_something(card: &Card, holders: &[cards::Holder<'_>], limits: &Limits) -> bool {
    let used = cards::used_for_computing(card);
    holders.iter().any(|holder| cards::is_worth_naming(holder.bytes(), card, limits))
        || used.is_some_and(|used| cards::is_worth_naming(used, card, limits))
}
