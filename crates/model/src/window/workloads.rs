//! Groups GPU processes with their trees into workloads: the unit a person thinks in.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::Pid;
use crate::reading::Reading;
use crate::sample::{DeviceHolder, ProcessRole, Viewer};
use crate::scene::{Card, Process, Workload};

/// Returns the workloads of the GPU processes, by the pid of their root.
pub(super) fn workloads(
    cards: &[Card],
    processes: &[Process],
    device_holders: &Reading<Vec<DeviceHolder>>,
    viewer: &Viewer,
) -> Vec<Workload> {
    let table: BTreeMap<Pid, &Process> = processes.iter().map(|process| (process.key.pid, process)).collect();
    let mut roots: BTreeMap<Pid, Workload> = BTreeMap::new();
    for (pid, card) in gpu_processes(cards, device_holders, viewer) {
        let Some(process) = table.get(&pid) else {
            continue;
        };
        let root = root_of(process, &table);
        let workload = roots.entry(root).or_insert_with(|| Workload { root, ..Workload::default() });
        insert(&mut workload.gpu_processes, pid);
        insert(&mut workload.cards, card);
    }
    for process in processes {
        if let Some(workload) = ancestors(process, &table).find(|pid| roots.contains_key(pid))
            && let Some(workload) = roots.get_mut(&workload)
        {
            insert(&mut workload.processes, process.key.pid);
        }
    }
    roots.into_values().collect()
}

/// Inserts into a sorted list, once.
fn insert<T: Ord>(list: &mut Vec<T>, value: T) {
    if let Err(place) = list.binary_search(&value) {
        list.insert(place, value);
    }
}

/// Returns the processes that have a context on a card, with the card's index.
fn gpu_processes(
    cards: &[Card],
    device_holders: &Reading<Vec<DeviceHolder>>,
    viewer: &Viewer,
) -> BTreeSet<(Pid, u32)> {
    let mut found = BTreeSet::new();
    // The driver counts in the initial pid namespace: inside another one its numbers mean other processes.
    let numbers_agree = viewer.initial_pid_namespace != Reading::Known(false);
    for card in cards {
        let index = card.parent.unwrap_or(card.index);
        if numbers_agree {
            found.extend(card.known_clients().iter().map(|client| (client.pid, index)));
        }
        let Some(minor) = card.minor.known() else {
            continue;
        };
        let device = format!("/dev/nvidia{minor}");
        for holder in device_holders.known().into_iter().flatten() {
            // A context needs the unified-memory device too; a monitor opens the card alone.
            let has_context = holder.devices.contains(&device)
                && holder.devices.iter().any(|name| name == "/dev/nvidia-uvm");
            if has_context {
                found.insert((holder.pid, index));
            }
        }
    }
    found
}

/// Returns a process and its ancestors, nearest first; a loop in a torn table ends it.
fn ancestors<'table>(
    process: &'table Process,
    table: &'table BTreeMap<Pid, &'table Process>,
) -> impl Iterator<Item = Pid> + 'table {
    std::iter::successors(Some(process), |process| {
        table.get(&process.parent).copied().filter(|parent| parent.key.pid != process.key.pid)
    })
    .take(table.len() + 1)
    .map(|process| process.key.pid)
}

/// Returns the top of the tree that a person would call the program.
fn root_of(process: &Process, table: &BTreeMap<Pid, &Process>) -> Pid {
    let mut root = process;
    for _ in 0..table.len() {
        let Some(parent) = table.get(&root.parent) else {
            break;
        };
        if !belongs_to_the_run(root, parent) {
            break;
        }
        root = parent;
    }
    root.key.pid
}

/// Returns whether a parent is part of the same run as its child.
fn belongs_to_the_run(child: &Process, parent: &Process) -> bool {
    let is_session = parent.key.pid.0 <= 1 || parent.role.is_some_and(hosts_runs);
    let same_owner = match (child.uid.known(), parent.uid.known()) {
        (Some(child), Some(parent)) => child == parent,
        _ => true,
    };
    let same_session = child.session == parent.session;
    !is_session && same_owner && (same_session || parent.role.is_some_and(starts_parts_of_itself))
}

/// Returns whether a person's or service's work begins below a program: climbing a tree stops there.
const fn hosts_runs(role: ProcessRole) -> bool {
    match role {
        ProcessRole::Shell
        | ProcessRole::Multiplexer
        | ProcessRole::Notebook
        | ProcessRole::SessionManager
        | ProcessRole::Init
        | ProcessRole::ContainerInit
        | ProcessRole::ContainerShim
        | ProcessRole::Display
        | ProcessRole::NodeService => true,
        ProcessRole::Loader
        | ProcessRole::Main
        | ProcessRole::Driving
        | ProcessRole::Communication
        | ProcessRole::Launcher
        | ProcessRole::SpawnedWorker
        | ProcessRole::Server
        | ProcessRole::ServerWorker
        | ProcessRole::NotebookKernel
        | ProcessRole::Interpreter
        | ProcessRole::Helper
        | ProcessRole::CardService => false,
    }
}

/// Returns whether a program starts parts of its own run, often in sessions of their own.
const fn starts_parts_of_itself(role: ProcessRole) -> bool {
    matches!(
        role,
        ProcessRole::Launcher
            | ProcessRole::Main
            | ProcessRole::Interpreter
            | ProcessRole::SpawnedWorker
            | ProcessRole::Server
            | ProcessRole::ServerWorker
            | ProcessRole::NotebookKernel
    )
}
