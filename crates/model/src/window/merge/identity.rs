//! Which cards, and which jobs of a cluster, of two parts are the same.

use std::collections::BTreeMap;

use crate::reading::Reading;
use crate::sample::CardKind;
use crate::scene::{Card, Job, Scene, Scheduler};

/// Gives the cards of a part the numbers that they have in the scene so far, and new ones to cards that are new.
pub(super) fn one_number_for_each_card(scene: &mut Scene, part: &mut Scene) {
    settle_unnumbered(scene, part);
    let mut free = scene.cards.iter().map(|card| card.index + 1).max().unwrap_or(0);
    let mut numbers: Vec<(u32, u32)> = Vec::new();
    for card in part.cards.iter().filter(|card| card.kind == CardKind::Card) {
        let number = match scene.cards.iter().find(|known| is_same(known, card)) {
            Some(known) => known.index,
            None if scene.cards.iter().any(|known| known.index == card.index) => {
                free += 1;
                free - 1
            }
            None => card.index,
        };
        numbers.push((card.index, number));
    }
    renumber(part, &numbers);
}

/// Sees to it that a number which no input gives stands in the way of none that one gives: cards without a number take
/// that of the same card in the other part, else one that neither part has.
fn settle_unnumbered(scene: &mut Scene, part: &mut Scene) {
    if ![&*scene, &*part].iter().any(|one| whole(one).any(|card| card.is_unnumbered)) {
        return;
    }
    let of_part = same_as_in(scene, part);
    let mut free =
        whole(scene).chain(whole(part)).map(|card| card.index.saturating_add(1)).max().unwrap_or(0);
    let mut of_scene: Vec<(u32, u32)> = Vec::new();
    let mut of_new: Vec<(u32, u32)> = Vec::new();
    for card in whole(scene).filter(|card| card.is_unnumbered) {
        let same = of_part.iter().find(|(_, known)| *known == card.index);
        let given = same.and_then(|(own, _)| number_given(part, *own));
        let is_taken =
            |number: &u32| whole(scene).any(|other| !other.is_unnumbered && other.index == *number);
        let number = given.filter(|number| !is_taken(number)).unwrap_or(free);
        free = free.max(number.saturating_add(1));
        of_scene.push((card.index, number));
        if let Some((own, _)) = same {
            of_new.push((*own, number));
        }
    }
    for card in whole(part).filter(|card| card.is_unnumbered) {
        if of_new.iter().any(|(own, _)| *own == card.index) {
            continue;
        }
        let same = of_part.iter().find(|(own, _)| *own == card.index);
        let number = same.map_or(free, |(_, known)| *known);
        free = free.max(number.saturating_add(1));
        of_new.push((card.index, number));
    }
    let given: Vec<u32> =
        whole(scene).chain(whole(part)).filter(|card| !card.is_unnumbered).map(|card| card.index).collect();
    renumber(scene, &of_scene);
    renumber(part, &of_new);
    for card in scene.cards.iter_mut().chain(&mut part.cards) {
        card.is_unnumbered &= !given.contains(&card.index);
    }
}

/// Returns the number of a card of the part where an input gives it.
fn number_given(part: &Scene, index: u32) -> Option<u32> {
    whole(part).find(|card| card.index == index && !card.is_unnumbered).map(|card| card.index)
}

/// Returns which card of the part is which of the scene, by their present numbers, where one of both has no number.
fn same_as_in(scene: &Scene, part: &Scene) -> Vec<(u32, u32)> {
    let counts = [&scene.machine.driver.card_count, &part.machine.driver.card_count];
    let is_only = counts.contains(&&Reading::Known(1));
    let mut same: Vec<(u32, u32)> = Vec::new();
    for card in whole(part) {
        let is_it = |known: &&Card| {
            (known.is_unnumbered || card.is_unnumbered)
                && known.vendor == card.vendor
                && !same.iter().any(|(_, taken)| *taken == known.index)
                && by_unique_names(known, card).unwrap_or(
                    is_only || known.is_nameless() && card.is_nameless() && has_no_other_name(known, card),
                )
        };
        if let Some(known) = whole(scene).find(is_it) {
            same.push((card.index, known.index));
        }
    }
    same
}

fn has_no_other_name(one: &Card, other: &Card) -> bool {
    !matches!((&one.name, &other.name), (Reading::Known(one), Reading::Known(other)) if one != other)
}

fn whole(scene: &Scene) -> impl Iterator<Item = &Card> {
    scene.cards.iter().filter(|card| card.kind == CardKind::Card)
}

fn renumber(part: &mut Scene, numbers: &[(u32, u32)]) {
    let renamed = |index: u32| numbers.iter().find(|(from, _)| *from == index).map_or(index, |(_, to)| *to);
    for card in &mut part.cards {
        card.parent = card.parent.map(renamed);
        if card.kind == CardKind::Card {
            card.index = renamed(card.index);
        }
    }
    if let Reading::Known(events) = &mut part.machine.driver.xid_events {
        for event in events {
            event.card = renamed(event.card);
        }
    }
}

/// Gives the only card of a machine that has one its number.
pub(super) fn number_the_only_card(scene: &mut Scene) {
    let is_only = scene.machine.driver.card_count == Reading::Known(1) && whole(scene).count() == 1;
    if is_only && whole(scene).all(|card| card.is_unnumbered) {
        let from = whole(scene).map(|card| card.index).collect::<Vec<u32>>();
        renumber(scene, &from.into_iter().map(|from| (from, 0)).collect::<Vec<(u32, u32)>>());
        scene.cards.iter_mut().for_each(|card| card.is_unnumbered = false);
    }
}

/// Gives jobs of Kubernetes one id, where one part says their namespace and the other does not.
pub(super) fn one_id_for_each_job(scene: &mut Scene, part: &mut Scene) {
    let by_name = |jobs: &[Job]| -> BTreeMap<String, Vec<String>> {
        let mut full: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for job in jobs.iter().filter(|job| job.scheduler == Scheduler::Kubernetes) {
            if let Some((_, name)) = job.id.split_once('/') {
                full.entry(name.to_owned()).or_default().push(job.id.clone());
            }
        }
        full
    };
    // Only where one job alone has the name.
    let complete = |jobs: &mut [Job], full: &BTreeMap<String, Vec<String>>| {
        for job in jobs.iter_mut().filter(|job| job.scheduler == Scheduler::Kubernetes) {
            if let Some([only]) = full.get(&job.id).map(Vec::as_slice) {
                job.id.clone_from(only);
            }
        }
    };
    let (known, new) = (by_name(&scene.jobs), by_name(&part.jobs));
    complete(&mut part.jobs, &known);
    complete(&mut scene.jobs, &new);
}

/// Returns whether two whole cards are the same: by what is unique, else by their number.
fn is_same(one: &Card, other: &Card) -> bool {
    if one.kind != CardKind::Card || one.vendor != other.vendor {
        return false;
    }
    by_unique_names(one, other).unwrap_or(one.index == other.index)
}

/// Returns whether what is unique says that two cards are the same; none where both have nothing of one kind.
fn by_unique_names(one: &Card, other: &Card) -> Option<bool> {
    for (one, other) in [(&one.uuid, &other.uuid), (&one.pci_address, &other.pci_address)] {
        if let (Reading::Known(one), Reading::Known(other)) = (one, other) {
            return Some(one.eq_ignore_ascii_case(other));
        }
    }
    None
}
