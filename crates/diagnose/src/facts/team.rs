//! The processes behind a card: those that compute, and those that bring them data.

use std::collections::BTreeSet;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessRole, ProcessState};
use gpuwhy_model::scene::{Process, Scene, Thread};

use super::cards::Holder;
use super::kin::Kin;
use super::names;
use super::waiting::{Places, Waiting};

/// A thread that does less than this does not load data.
const TAKES_PART_SHARE: f64 = 0.1;
/// A child that writes so many bytes a second elsewhere than to storage may hand batches over.
const HANDS_OVER_BYTES_PER_S: f64 = 65_536.0;
/// A named loader that has run for so long tells what it does, in seconds: many programs start theirs anew in each epoch.
const TELLS_AFTER_S: f64 = 5.0;
/// A child with so much shared memory in use may hand batches over in it.
const HANDS_OVER_SHARED_BYTES: u64 = 1 << 20;

/// How a run brings data to its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoaderKind {
    /// Processes below the one that computes.
    Processes,
    /// Threads of the process that computes.
    Threads,
    /// The main thread of the process that computes.
    MainThread,
}

/// One thread that loads data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loader<'scene> {
    pub(crate) process: &'scene Process,
    pub(crate) waiting: Waiting<'scene>,
    /// Cores that the thread or its process used.
    pub(crate) cores: Option<f64>,
    pub(crate) run_delay: Option<f64>,
}

/// The processes behind a card.
pub(crate) struct Team<'scene> {
    pub(crate) computing: Vec<&'scene Process>,
    pub(crate) kind: LoaderKind,
    pub(crate) loaders: Vec<Loader<'scene>>,
    /// Whether something beside their being children says that they load: a name, or what they hand over.
    pub(crate) is_known_to_load: bool,
    /// Whether a child of the same program was active and left out, since nothing says that it feeds the program.
    pub(crate) has_own_background: bool,
}

/// The processes that may load data, and what is known of it.
struct Children<'scene> {
    loading: Vec<&'scene Process>,
    is_known_to_load: bool,
    has_own_background: bool,
}

impl<'scene> Team<'scene> {
    /// Returns the team of the holders of one card; none when none of them has an entry in `/proc`.
    pub(crate) fn of(kin: &Kin<'scene>, holders: &[Holder<'scene>]) -> Option<Self> {
        let mut computing: Vec<&Process> = holders.iter().filter_map(|holder| holder.process).collect();
        // A loader that happens to have a context still loads.
        if computing.iter().any(|process| !names::is_loader(process)) {
            computing.retain(|process| !names::is_loader(process));
        }
        if computing.is_empty() {
            return None;
        }
        let places = Places::default();
        let Children { loading, is_known_to_load, has_own_background } =
            loading_processes(kin, holders, &computing);
        let team = |computing, kind, loaders| {
            Some(Self { computing, kind, loaders, is_known_to_load, has_own_background })
        };
        let by_process =
            taking_part(loading.iter().filter_map(|process| busiest(process, &places)).collect());
        if !by_process.is_empty() {
            return team(computing, LoaderKind::Processes, by_process);
        }
        let by_thread: Vec<Loader<'_>> =
            computing.iter().flat_map(|process| loading_threads(process, &places)).collect();
        if !by_thread.is_empty() {
            return team(computing, LoaderKind::Threads, by_thread);
        }
        let loaders = computing.iter().filter_map(|process| main_thread(process, &places)).collect();
        team(computing, LoaderKind::MainThread, loaders)
    }

    /// Returns how often the loaders were looked at; one that started late was looked at less often.
    pub(crate) fn looks(&self) -> usize {
        self.loaders.iter().map(|loader| loader.waiting.looks).max().unwrap_or(0)
    }

    /// Returns the mean of a share over all loaders; 0 without any.
    pub(crate) fn mean(&self, share: impl Fn(&Loader<'_>) -> f64) -> f64 {
        if self.loaders.is_empty() {
            return 0.0;
        }
        self.loaders.iter().map(share).sum::<f64>() / self.loaders.len() as f64
    }

    /// Returns every process of the team, each once.
    pub(crate) fn processes(&self) -> Vec<&'scene Process> {
        let mut seen: BTreeSet<Pid> = BTreeSet::new();
        self.computing
            .iter()
            .copied()
            .chain(self.loaders.iter().map(|loader| loader.process))
            .filter(|process| seen.insert(process.key.pid))
            .collect()
    }

    /// Returns the cores that the team used, as far as they are known.
    pub(crate) fn cores(&self) -> Option<f64> {
        let known: Vec<f64> = self
            .processes()
            .iter()
            .filter_map(|process| process.cores.known())
            .map(|cores| cores.0)
            .collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }
}

/// Returns the processes that may load data for those that compute.
fn loading_processes<'scene>(
    kin: &Kin<'scene>,
    holders: &[Holder<'scene>],
    computing: &[&'scene Process],
) -> Children<'scene> {
    let scene = kin.scene;
    let holds_a_card: BTreeSet<Pid> =
        scene.workloads.iter().flat_map(|workload| workload.gpu_processes.iter().copied()).collect();
    let computes: BTreeSet<Pid> = computing.iter().map(|process| process.key.pid).collect();
    let may_load = |process: &&'scene Process| {
        (!holds_a_card.contains(&process.key.pid) || names::is_loader(process))
            && !computes.contains(&process.key.pid)
            && !names::is_helper(process)
            && process.state != Reading::Known(ProcessState::Zombie)
    };
    let mut below: Vec<&Process> = Vec::new();
    for process in computing {
        let members = kin.tree(process).into_iter();
        below.extend(members.filter(may_load).filter(|member| is_part_of_program(member, process)));
    }
    if below.is_empty() {
        below = shared_loaders(kin, holders).filter(may_load).collect();
    }
    below.retain(|process| was_there_long_enough(scene, process));
    below.sort_by_key(|process| process.key.pid);
    below.dedup_by_key(|process| process.key.pid);
    children(below)
}

/// Chooses the loaders among the children of a program: those that are named so, else those that hand something over,
/// else several that are active.
///
/// One active child of which nothing more is known may as well do the program's own background work.
fn children(below: Vec<&Process>) -> Children<'_> {
    let only = |wanted: fn(&Process) -> bool| -> Vec<&Process> {
        below.iter().copied().filter(|process| wanted(process)).collect()
    };
    for known in [only(is_named_loader), only(hands_over)] {
        if !known.is_empty() {
            return Children { loading: known, is_known_to_load: true, has_own_background: false };
        }
    }
    let is_background = only(is_active).len() == 1;
    let loading = if is_background { Vec::new() } else { below };
    Children { loading, is_known_to_load: false, has_own_background: is_background }
}

/// Returns whether a child seems to hand batches over: through a pipe, or in shared memory.
fn hands_over(process: &Process) -> bool {
    let writes = process
        .io
        .known()
        .is_some_and(|io| io.written_chars.0 - io.written_bytes.0 >= HANDS_OVER_BYTES_PER_S);
    let shares = process.shared_resident.known().is_some_and(|bytes| bytes.0 >= HANDS_OVER_SHARED_BYTES);
    (writes || shares) && is_active(process)
}

/// Returns whether a process did something, or waited for storage, in a notable part of the window.
fn is_active(process: &Process) -> bool {
    let ran = process.cores.known().map_or(0.0, |cores| cores.0);
    process.states.running + process.states.blocked >= TAKES_PART_SHARE || ran >= TAKES_PART_SHARE
}

/// Returns whether a process below a computing one runs the same program: a fork of it, or a worker that it spawned.
///
/// What else runs below a program (a shell command, a compiler, a monitor) does not feed its card.
fn is_part_of_program(member: &Process, computing: &Process) -> bool {
    if is_named_loader(member) {
        return true;
    }
    if member.role == Some(ProcessRole::SpawnedWorker) {
        return true;
    }
    if let (Some(own), Some(above)) = (member.command.known(), computing.command.known()) {
        return own == above;
    }
    if let (Some(own), Some(above)) = (member.executable.known(), computing.executable.known()) {
        return own == above;
    }
    // Neither may be read: a fork keeps its name.
    member.name == computing.name
}

/// Returns whether a process was there for the whole window, as far as its age is known; one that is named a loader, for
/// some seconds of it.
fn was_there_long_enough(scene: &Scene, process: &Process) -> bool {
    let span_s = scene.window.span_s;
    let enough_s = if is_named_loader(process) { span_s.min(TELLS_AFTER_S) } else { span_s };
    process.age.known().is_none_or(|age| age.0 >= enough_s)
}

/// Returns the share of time in which the main thread of a process really ran; none when that is not known.
pub(crate) fn main_thread_ran(process: &Process) -> Option<f64> {
    let mut threads = process.threads.known().into_iter().flatten();
    let by_thread = threads
        .find(|thread| thread.tid == process.key.pid)
        .and_then(|thread| thread.cores.known())
        .map(|cores| cores.0);
    if by_thread.is_some() {
        return by_thread;
    }
    let of_process = process.cores.known().map(|cores| cores.0);
    if process.thread_count <= 1 && of_process.is_some() {
        return of_process;
    }
    if process.states.n == 0 {
        return None;
    }
    // Wanting to run looks like running.
    let delay = process.run_delay.known().map_or(0.0, |delay| delay.0);
    let ran = (process.states.running - delay).max(0.0);
    Some(of_process.map_or(ran, |cores| ran.min(cores)))
}

/// Leaves out loaders that did nothing while others did something: those of another phase of the run.
fn taking_part(loaders: Vec<Loader<'_>>) -> Vec<Loader<'_>> {
    let takes_part =
        |loader: &Loader<'_>| loader.waiting.occupied() + loader.waiting.network >= TAKES_PART_SHARE;
    if loaders.iter().any(takes_part) {
        return loaders.into_iter().filter(takes_part).collect();
    }
    loaders
}

/// Returns the processes of the holders' runs that stand below no process with a card: loaders for all of them.
fn shared_loaders<'scene>(
    kin: &Kin<'scene>,
    holders: &[Holder<'scene>],
) -> impl Iterator<Item = &'scene Process> {
    let scene = kin.scene;
    let workloads = holders.iter().filter_map(|holder| holder.workload);
    workloads.flat_map(|workload| {
        let below_others: BTreeSet<Pid> = workload
            .gpu_processes
            .iter()
            .filter_map(|pid| scene.process(*pid))
            .flat_map(|process| kin.tree(process))
            .map(|process| process.key.pid)
            .collect();
        scene
            .processes_of(workload)
            .filter(move |process| !below_others.contains(&process.key.pid) && is_named_loader(process))
    })
}

fn is_named_loader(process: &Process) -> bool {
    // Threads that bear the same name often stand together: each name is looked up once.
    let mut names: Vec<&str> =
        process.threads.known().into_iter().flatten().map(|thread| thread.name.as_str()).collect();
    names.dedup();
    names::is_loader(process) || names.into_iter().any(names::is_loading_thread)
}

/// Returns the thread of a loading process that does most; where none does much, the one that waits most for the network.
fn busiest<'scene>(process: &'scene Process, places: &Places<'scene>) -> Option<Loader<'scene>> {
    let main = main_thread(process, places);
    let threads = process.threads.known().into_iter().flatten();
    let threads = threads.map(|thread| of_thread(process, thread, places));
    main.into_iter()
        .chain(threads)
        .filter(|loader| loader.waiting.looks > 0)
        .max_by(|one, other| weight(&one.waiting).total_cmp(&weight(&other.waiting)))
}

/// Returns by how much a thread tells what its process does.
fn weight(waiting: &Waiting<'_>) -> f64 {
    let occupied = waiting.occupied();
    if occupied >= TAKES_PART_SHARE { 1.0 + occupied } else { waiting.network }
}

/// Returns the threads of a computing process, beside its main one, that take part in loading.
fn loading_threads<'scene>(process: &'scene Process, places: &Places<'scene>) -> Vec<Loader<'scene>> {
    let threads = process.threads.known().into_iter().flatten();
    let others = threads
        .filter(|thread| thread.tid != process.key.pid && !names::is_driving_thread(&thread.name))
        .map(|thread| (names::is_loading_thread(&thread.name), of_thread(process, thread, places)));
    let (named, unnamed): (Vec<_>, Vec<_>) = others.partition(|(is_named, _)| *is_named);
    let active = unnamed.into_iter().filter(|(_, loader)| loader.waiting.occupied() >= TAKES_PART_SHARE);
    let chosen: Vec<_> = if named.is_empty() { active.collect() } else { named };
    // One busy thread without a loader's name is the program itself at work.
    if chosen.len() == 1 && !chosen[0].0 && chosen[0].1.waiting.processor > chosen[0].1.waiting.storage {
        return Vec::new();
    }
    chosen.into_iter().map(|(_, loader)| loader).collect()
}

fn of_thread<'scene>(
    process: &'scene Process,
    thread: &'scene Thread,
    places: &Places<'scene>,
) -> Loader<'scene> {
    Loader {
        process,
        waiting: Waiting::of_thread(thread, places),
        cores: thread.cores.known().map(|cores| cores.0),
        run_delay: thread.run_delay.known().map(|delay| delay.0),
    }
}

/// Returns the main thread of a process, where it was looked at.
fn main_thread<'scene>(process: &'scene Process, places: &Places<'scene>) -> Option<Loader<'scene>> {
    let waiting = Waiting::of_main_thread(process, places);
    let is_alone = process.thread_count <= 1;
    (waiting.looks > 0).then(|| Loader {
        process,
        waiting,
        cores: process.cores.known().filter(|_| is_alone).map(|cores| cores.0),
        run_delay: process.run_delay.known().map(|delay| delay.0),
    })
}
