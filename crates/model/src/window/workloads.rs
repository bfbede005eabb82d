//! Groups GPU processes with their trees into workloads: the unit a person thinks in.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::Pid;
use crate::reading::Reading;
use crate::sample::{DeviceHolder, Viewer};
use crate::scene::{Card, Process, Workload};

/// Programs in which a person's or service's work begins: climbing a tree stops below them.
const SESSION_PROGRAMS: &[&str] = &[
    "bash",
    "sh",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "tcsh",
    "csh",
    "tmux",
    "tmux: server",
    "screen",
    "sshd",
    "login",
    "su",
    "sudo",
    "systemd",
    "init",
    "cron",
    "crond",
    "atd",
    "slurmstepd",
    "slurmd",
    "pbs_mom",
    "containerd-shim",
    "conmon",
    "dockerd",
    "docker-init",
    "tini",
    "dumb-init",
    "supervisord",
    "s6-svscan",
    "runit",
    "raylet",
    "jupyter-lab",
    "jupyter-noteboo",
    "jupyterhub-sing",
    "code",
    "node",
    "gnome-shell",
    "gnome-terminal-",
    "kubelet",
];

/// Programs that start the ranks of one run, often in sessions of their own.
const LAUNCHERS: &[&str] = &[
    "python",
    "python3",
    "torchrun",
    "accelerate",
    "deepspeed",
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "prted",
    "orted",
    "hydra_pmi_proxy",
    "srun",
    "horovodrun",
    "pt_main_thread",
];

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
    let is_session = parent.key.pid.0 <= 1 || SESSION_PROGRAMS.contains(&parent.name.as_str());
    let same_owner = match (child.uid.known(), parent.uid.known()) {
        (Some(child), Some(parent)) => child == parent,
        _ => true,
    };
    let same_session = child.session == parent.session;
    !is_session && same_owner && (same_session || is_launcher(&parent.name))
}

/// Returns whether a program starts ranks; versions of the interpreter count (`python3.11`).
fn is_launcher(name: &str) -> bool {
    LAUNCHERS
        .iter()
        .any(|launcher| name == *launcher || (launcher.starts_with("python") && name.starts_with("python")))
}
