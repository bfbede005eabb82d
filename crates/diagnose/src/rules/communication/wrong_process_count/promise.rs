//! Which cards a job was given, by the variables of its processes.

use std::collections::BTreeSet;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Process, Scene};

use crate::facts::cards::whole_cards;
use crate::facts::peers::Job;

/// The cards that a job was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Promise {
    /// Their indices.
    pub(super) cards: BTreeSet<u32>,
    /// The variable that says so.
    pub(super) variable: &'static str,
    /// Whether a scheduler gave them: then nobody else may use them.
    pub(super) is_allocation: bool,
}

/// Variables in which Slurm names cards by the number of their device file.
const ALLOCATIONS: &[&str] = &["SLURM_STEP_GPUS", "SLURM_JOB_GPUS"];

/// Returns the cards that a job was given; none where nothing says so, or where it cannot be told which they are.
pub(super) fn promise(scene: &Scene, job: &Job<'_>) -> Option<Promise> {
    let processes = job.processes();
    for variable in ALLOCATIONS {
        let Some(list) = same_value(&processes, variable) else {
            continue;
        };
        let numbers: Option<Vec<u32>> = list.split(',').map(|item| item.trim().parse().ok()).collect();
        let by_minor = |number: u32| {
            whole_cards(scene).find(|card| card.minor == Reading::Known(number)).map(|card| card.index)
        };
        let cards: Option<BTreeSet<u32>> = numbers?.into_iter().map(by_minor).collect();
        return cards.map(|cards| Promise { cards, variable, is_allocation: true });
    }
    let variable = "CUDA_VISIBLE_DEVICES";
    // Inside a container numbers count the container's own cards.
    if processes.iter().any(|process| process.owner.container.is_some()) {
        return None;
    }
    let list = same_value(&processes, variable)?;
    let counts_as_the_driver = counts_as_the_driver(scene, &processes);
    let by_item = |item: &str| match item.parse::<u32>() {
        Ok(place) => counts_as_the_driver.then(|| scene.card(place)).flatten().map(|card| card.index),
        Err(_) => by_uuid(scene, item),
    };
    let cards: Option<BTreeSet<u32>> = list.split(',').map(|item| by_item(item.trim())).collect();
    cards.map(|cards| Promise { cards, variable, is_allocation: false })
}

/// Returns the value that a variable has in every process of a job.
fn same_value<'scene>(processes: &[&'scene Process], variable: &str) -> Option<&'scene str> {
    let value = |process: &&'scene Process| process.environment.known()?.get(variable).map(String::as_str);
    let first = value(processes.first()?)?;
    processes.iter().all(|process| value(process) == Some(first)).then_some(first)
}

/// Returns whether CUDA numbers the cards as the driver does: it puts the fastest first, unless told to go by the bus.
fn counts_as_the_driver(scene: &Scene, processes: &[&Process]) -> bool {
    let by_bus = processes.iter().all(|process| {
        let variables = process.environment.known();
        variables
            .and_then(|variables| variables.get("CUDA_DEVICE_ORDER"))
            .is_some_and(|order| order == "PCI_BUS_ID")
    });
    let mut names = whole_cards(scene).map(|card| &card.name);
    let first = names.next();
    by_bus || names.all(|name| Some(name) == first && name.is_known())
}

fn by_uuid(scene: &Scene, item: &str) -> Option<u32> {
    let is_named = |card: &&Card| card.uuid.known().is_some_and(|uuid| uuid.starts_with(item));
    (item.len() >= 8).then(|| whole_cards(scene).find(is_named)).flatten().map(|card| card.index)
}
