//! Processes, threads and control groups in few words.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::process::{BootId, Pid, ProcessKey};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{Owner, ProcessState};
use gpuwhy_model::scene::{Cgroup, IoRates, Process, Thread, Workload};
use gpuwhy_model::units::{BytesPerSecond, Cores, Seconds, Share};
use serde::Deserialize;

use super::SceneFile;
use super::values::{channels, gibibytes, states};

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProcessFile {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) user: String,
    pub(super) parent: u32,
    pub(super) group: Option<u32>,
    pub(super) session: Option<u32>,
    pub(super) state: Option<ProcessState>,
    /// Cards on which it has a context.
    pub(super) gpu: Vec<u32>,
    pub(super) vram: f64,
    /// Cards on which it has a context beside, with the GiB that it takes.
    pub(super) beside: BTreeMap<u32, f64>,
    pub(super) graphics: bool,
    /// Works through an MPS server.
    pub(super) mps: bool,
    pub(super) sm: f64,
    /// The only one of its cards on which it works; on all of them without it.
    pub(super) works_on: Option<u32>,
    pub(super) idle: Option<f64>,
    pub(super) seen_working: bool,
    pub(super) age: f64,
    pub(super) cpu: f64,
    pub(super) cores: f64,
    pub(super) running: f64,
    pub(super) blocked: f64,
    pub(super) wait: Option<String>,
    pub(super) waits: f64,
    pub(super) block_delay: Option<f64>,
    pub(super) run_delay: f64,
    pub(super) writes: f64,
    pub(super) reads: f64,
    pub(super) env: BTreeMap<String, String>,
    pub(super) cgroup: Option<String>,
    pub(super) mount: Option<String>,
    /// Network connections that it has open.
    pub(super) sockets: Option<u64>,
    /// Resident and shared memory.
    pub(super) resident: Option<f64>,
    pub(super) shared: Option<f64>,
    /// Page faults a second that wait for a disk.
    pub(super) faults: f64,
    /// On how many processors it may run.
    pub(super) allowed: Option<u32>,
    pub(super) threads: Vec<ThreadFile>,
    /// Files of CUDA and of frameworks that it has loaded.
    pub(super) libraries: Vec<String>,
    /// What it held over the window, in equal steps of time.
    pub(super) grows: Vec<f64>,
    /// What may not be seen of it: `environment`, `io`, `threads`, `process`, `sm`.
    pub(super) unseen: Vec<String>,
}

impl Default for ProcessFile {
    fn default() -> Self {
        Self {
            name: "python3".to_owned(),
            command: "python3 train.py".to_owned(),
            user: "alice".to_owned(),
            parent: 2,
            group: None,
            session: None,
            state: None,
            gpu: Vec::new(),
            vram: 0.0,
            beside: BTreeMap::new(),
            graphics: false,
            mps: false,
            sm: 0.0,
            works_on: None,
            idle: None,
            seen_working: false,
            age: 7200.0,
            cpu: 3600.0,
            cores: 0.0,
            running: 0.0,
            blocked: 0.0,
            wait: None,
            waits: 0.0,
            block_delay: None,
            run_delay: 0.0,
            writes: 0.0,
            reads: 0.0,
            env: BTreeMap::new(),
            cgroup: None,
            mount: None,
            sockets: None,
            resident: None,
            shared: None,
            faults: 0.0,
            allowed: None,
            threads: Vec::new(),
            libraries: Vec::new(),
            grows: Vec::new(),
            unseen: Vec::new(),
        }
    }
}

impl ProcessFile {
    /// Returns whether it has a context on a card, of whatever size.
    pub(super) fn has_context_on(&self, card: u32) -> bool {
        self.gpu.contains(&card) || self.beside.contains_key(&card)
    }

    /// Returns how many GiB of a card it holds.
    pub(super) fn held_on(&self, card: u32) -> f64 {
        self.beside.get(&card).copied().unwrap_or(self.vram)
    }
}

#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ThreadFile {
    pub(super) name: String,
    pub(super) cores: f64,
    pub(super) running: f64,
    pub(super) blocked: f64,
    pub(super) wait: Option<String>,
    pub(super) waits: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoaderFile {
    pub(super) number: u32,
    pub(super) each: ProcessFile,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CgroupFile {
    pub(super) quota: Option<f64>,
    pub(super) throttled: Option<f64>,
    pub(super) io_some: Option<f64>,
    pub(super) memory_some: Option<f64>,
    pub(super) memory_limit: Option<f64>,
    pub(super) memory_used: Option<f64>,
    /// How often it came up against its memory limit.
    pub(super) hits: Option<u64>,
    pub(super) tasks_limit: Option<u64>,
    pub(super) tasks: Option<u64>,
    /// How often it was refused a task.
    pub(super) refused: Option<u64>,
}

impl SceneFile {
    pub(super) fn process(&self, pid: u32, file: &ProcessFile, looks: usize) -> Process {
        let may_see = |what: &str| !file.unseen.iter().any(|unseen| unseen == what);
        let has_rates = self.window > 0.0;
        let rate = |value: f64| {
            if has_rates { Reading::Known(value) } else { Reading::Failed(Failure::TooFewSamples) }
        };
        let uid = if file.user == "root" { 0 } else { 2001 };
        let environment = Reading::Known(file.env.clone());
        let command = CommandLine::masked(file.command.split(' '));
        Process {
            key: ProcessKey {
                boot_id: BootId("boot".to_owned()),
                pid: Pid(pid),
                start_ticks: u64::from(pid),
            },
            parent: Pid(file.parent),
            group: Pid(file.group.unwrap_or(pid)),
            session: Pid(file.session.or(file.group).unwrap_or(pid)),
            state: Reading::Known(file.state.unwrap_or(ProcessState::Sleeping)),
            role: gpuwhy_knowledge::role_of(&file.name, command.arguments()),
            name: file.name.clone(),
            uid: Reading::Known(uid),
            user: Reading::Known(file.user.clone()),
            command: Reading::Known(command),
            cgroups: Reading::Known(
                file.cgroup.iter().map(|path| (String::new(), path.clone())).collect::<BTreeMap<_, _>>(),
            ),
            environment: if may_see("environment") {
                environment
            } else {
                Reading::Denied(Access::RootOrOwner)
            },
            namespace_pids: Reading::Known(vec![pid]),
            age: Reading::Known(Seconds(file.age)),
            cpu_time: Reading::Known(Seconds(file.cpu)),
            cores: rate(file.cores).map(Cores),
            thread_count: 1 + file.threads.len() as u64,
            block_delay: file.block_delay.map_or(Reading::Unsupported, |share| rate(share).map(Share)),
            run_delay: rate(file.run_delay).map(Share),
            io: if may_see("io") {
                rate(0.0).map(|_| io(file))
            } else {
                Reading::Denied(Access::RootOrOwner)
            },
            states: states(file.running, file.blocked, looks),
            wait_channels: channels(file.wait.as_deref(), file.waits, looks),
            file_mounts: Reading::Known(file.mount.iter().map(|mount| (mount.clone(), 3)).collect()),
            threads: if may_see("threads") {
                Reading::Known(
                    file.threads.iter().zip(1..).map(|(one, n)| thread(pid + n, one, looks)).collect(),
                )
            } else {
                Reading::default()
            },
            owner: owner(file),
            open_sockets: file.sockets.map_or_else(Reading::default, Reading::Known),
            resident: file.resident.map_or_else(Reading::default, |size| Reading::Known(gibibytes(size))),
            shared_resident: file
                .shared
                .map_or_else(Reading::default, |size| Reading::Known(gibibytes(size))),
            major_faults_per_s: rate(file.faults),
            cpus_allowed: file.allowed.map_or_else(Reading::default, Reading::Known),
            libraries: Reading::Known(file.libraries.clone()),
            ..Process::default()
        }
    }
}

fn owner(file: &ProcessFile) -> Owner {
    let by_path = file.cgroup.as_ref().map_or_else(Owner::default, |path| gpuwhy_knowledge::owner(path));
    let mut by_variable = gpuwhy_knowledge::job_variables().iter().filter_map(|name| file.env.get(name));
    by_path.or(Owner { job: by_variable.next().cloned(), ..Owner::default() })
}

fn io(file: &ProcessFile) -> IoRates {
    IoRates {
        read_chars: BytesPerSecond(file.reads),
        written_chars: BytesPerSecond(file.writes),
        read_bytes: BytesPerSecond(file.reads),
        written_bytes: BytesPerSecond(file.writes),
    }
}

fn thread(tid: u32, file: &ThreadFile, looks: usize) -> Thread {
    Thread {
        tid: Pid(tid),
        name: file.name.clone(),
        cores: Reading::Known(Cores(file.cores)),
        run_delay: Reading::Known(Share(0.0)),
        states: states(file.running, file.blocked, looks),
        wait_channels: channels(file.wait.as_deref(), file.waits, looks),
    }
}

pub(super) fn cgroup(path: &str, file: &CgroupFile) -> Cgroup {
    let share = |value: Option<f64>| value.map_or(Reading::Unsupported, |share| Reading::Known(Share(share)));
    let size = |size: Option<f64>| size.map_or(Reading::Unsupported, |size| Reading::Known(gibibytes(size)));
    Cgroup {
        path: path.to_owned(),
        cpu_quota: file.quota.map_or(Reading::Unsupported, |cores| Reading::Known(Cores(cores))),
        cpu_throttled: share(file.throttled),
        io_some: share(file.io_some),
        cpu_some: Reading::Unsupported,
        memory_some: share(file.memory_some),
        memory_limit: size(file.memory_limit),
        memory_used: size(file.memory_used),
        memory_limit_hits: file.hits.map_or(Reading::Unsupported, Reading::Known),
        tasks_limit: file.tasks_limit.map_or(Reading::Unsupported, Reading::Known),
        tasks: file.tasks.map_or(Reading::Unsupported, Reading::Known),
        tasks_refused: file.refused.map_or(Reading::Unsupported, Reading::Known),
        ..Cgroup::default()
    }
}

/// Groups the processes with a card under the topmost parent that is no shell.
pub(super) fn workloads(processes: &BTreeMap<u32, ProcessFile>) -> Vec<Workload> {
    let root_of = |pid: u32| {
        let mut root = pid;
        while let Some(parent) = processes.get(&root).map(|file| file.parent).filter(|parent| *parent > 2) {
            if !processes.contains_key(&parent) {
                break;
            }
            root = parent;
        }
        root
    };
    let mut found: BTreeMap<u32, Workload> = BTreeMap::new();
    for (pid, file) in processes.iter().filter(|(_, file)| !file.gpu.is_empty()) {
        let root = root_of(*pid);
        let workload =
            found.entry(root).or_insert_with(|| Workload { root: Pid(root), ..Workload::default() });
        workload.gpu_processes.push(Pid(*pid));
        workload.cards.extend(file.gpu.iter().chain(file.beside.keys()));
    }
    for workload in found.values_mut() {
        let members = processes.keys().filter(|pid| Pid(root_of(**pid)) == workload.root);
        workload.processes = members.map(|pid| Pid(*pid)).collect();
        workload.cards.sort_unstable();
        workload.cards.dedup();
    }
    found.into_values().collect()
}
