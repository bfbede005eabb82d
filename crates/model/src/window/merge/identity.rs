//! Which cards, and which jobs of a cluster, of two parts are the same.

use std::collections::BTreeMap;

use crate::reading::Reading;
use crate::sample::CardKind;
use crate::scene::{Card, Job, Scene, Scheduler};

/// Gives the cards of a part the numbers that they have in the scene so far, and new ones to cards that are new.
pub(super) fn one_number_for_each_card(scene: &Scene, part: &mut Scene) {
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
    let renamed = |index: u32| numbers.iter().find(|(from, _)| *from == index).map_or(index, |(_, to)| *to);
    for card in &mut part.cards {
        card.parent = card.parent.map(renamed);
        if card.kind == CardKind::Card {
            card.index = renamed(card.index);
        }
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
    for (one, other) in [(&one.uuid, &other.uuid), (&one.pci_address, &other.pci_address)] {
        if let (Reading::Known(one), Reading::Known(other)) = (one, other) {
            return one.eq_ignore_ascii_case(other);
        }
    }
    one.index == other.index
}
