//! A scene in few words. What a case does not mention is healthy and was seen; `unseen` takes sights away.

use std::collections::BTreeMap;
use std::error::Error;

use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::process::{BootId, Pid, ProcessKey};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{
    CardMemory, ClientKind, ClockReasons, KernelLine, MountPoint, PciDevice, PowerLimits, ProcessState,
    StuckCall, Viewer,
};
use gpuwhy_model::scene::{
    Card, Cgroup, Client, IoRates, Process, Provenance, ReasonShares, Scene, SourceKind, StateShares, Thread,
    WaitChannel, Window, Workload,
};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Bytes, BytesPerSecond, Cores, Percent, Seconds, Share, Watts};
use serde::Deserialize;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const LOOKS: usize = 11;
const BOOT_NS: u64 = 1_000_000_000_000;
const POWER_LIMIT: f64 = 400.0;

/// A whole scene. Times are seconds, memory is GiB, power and shares are 0 to 1, utilization is percent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SceneFile {
    window: f64,
    source: SourceKind,
    uid: u32,
    card: BTreeMap<u32, CardFile>,
    process: BTreeMap<u32, ProcessFile>,
    /// Children of a process that load data.
    loaders: BTreeMap<u32, LoaderFile>,
    cgroup: BTreeMap<String, CgroupFile>,
    machine: MachineFile,
    log: Reading<Vec<String>>,
    stuck: Vec<StuckCall>,
    mounts: BTreeMap<String, String>,
    io_pressure: f64,
    cpu_pressure: f64,
    cpus: u64,
}

impl Default for SceneFile {
    fn default() -> Self {
        Self {
            window: 5.0,
            source: SourceKind::Live,
            uid: 0,
            card: BTreeMap::new(),
            process: BTreeMap::new(),
            loaders: BTreeMap::new(),
            cgroup: BTreeMap::new(),
            machine: MachineFile::default(),
            log: Reading::Known(Vec::new()),
            stuck: Vec::new(),
            mounts: BTreeMap::new(),
            io_pressure: 0.0,
            cpu_pressure: 0.0,
            cpus: 16,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CardFile {
    busy: f64,
    busy_is_unsupported: bool,
    n: Option<usize>,
    zeros: f64,
    power: f64,
    memory_busy: f64,
    total: f64,
    used: Option<f64>,
    idle: Option<f64>,
    seen_working: bool,
    error: Option<u32>,
    heat: f64,
    power_cap: f64,
    reasons: u64,
    address: Option<String>,
}

impl Default for CardFile {
    fn default() -> Self {
        Self {
            busy: 0.0,
            busy_is_unsupported: false,
            n: None,
            zeros: 0.0,
            power: 0.15,
            memory_busy: 0.0,
            total: 80.0,
            used: None,
            idle: None,
            seen_working: false,
            error: None,
            heat: 0.0,
            power_cap: 0.0,
            reasons: 0,
            address: None,
        }
    }
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, default)]
struct ProcessFile {
    name: String,
    command: String,
    user: String,
    parent: u32,
    group: Option<u32>,
    session: Option<u32>,
    state: Option<ProcessState>,
    /// Cards on which it has a context.
    gpu: Vec<u32>,
    vram: f64,
    graphics: bool,
    sm: f64,
    idle: Option<f64>,
    seen_working: bool,
    age: f64,
    cpu: f64,
    cores: f64,
    running: f64,
    blocked: f64,
    wait: Option<String>,
    waits: f64,
    block_delay: Option<f64>,
    run_delay: f64,
    writes: f64,
    reads: f64,
    env: BTreeMap<String, String>,
    cgroup: Option<String>,
    mount: Option<String>,
    threads: Vec<ThreadFile>,
    /// What may not be seen of it: `environment`, `io`, `threads`, `process`.
    unseen: Vec<String>,
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
            graphics: false,
            sm: 0.0,
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
            threads: Vec::new(),
            unseen: Vec::new(),
        }
    }
}

#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
struct ThreadFile {
    name: String,
    cores: f64,
    running: f64,
    blocked: f64,
    wait: Option<String>,
    waits: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoaderFile {
    number: u32,
    each: ProcessFile,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct CgroupFile {
    quota: Option<f64>,
    throttled: Option<f64>,
    io_some: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct MachineFile {
    /// Kernel drivers of the NVIDIA cards on the bus, by address; empty: none is bound.
    nvidia: BTreeMap<String, String>,
    /// Vendor ids of other cards on the bus.
    others: Vec<u32>,
    /// Addresses on the bus that answer with all ones.
    dead: Vec<String>,
    bus_is_unseen: bool,
    /// What the library says instead of starting: a code, or `missing`.
    library_code: Option<u32>,
    library_is_missing: bool,
    module: Option<String>,
    modules: Vec<String>,
    container: Option<String>,
    promised: Option<String>,
    card_count: Option<u32>,
    init_ms: u64,
    persistence: Option<bool>,
    other_pid_namespace: bool,
}

impl SceneFile {
    /// Makes the scene.
    pub(crate) fn scene(self) -> Result<Scene> {
        let processes = self.processes()?;
        let samples = if self.window > 0.0 { LOOKS } else { 1 };
        let mut scene = Scene {
            window: Window { span_s: self.window, samples, end_boot_ns: Some(BOOT_NS), ..Window::default() },
            provenance: Provenance { source: self.source, inputs: Vec::new() },
            ..Scene::default()
        };
        self.fill_machine(&mut scene);
        scene.cards = self.card.iter().map(|(index, card)| self.card(*index, card, &processes)).collect();
        let is_seen = |file: &ProcessFile| !file.unseen.iter().any(|what| what == "process");
        scene.workloads = workloads(&processes);
        scene.processes = processes
            .iter()
            .filter(|(_, file)| is_seen(file))
            .map(|(pid, file)| self.process(*pid, file, samples))
            .collect();
        scene.cgroups = self.cgroup.iter().map(|(path, file)| cgroup(path, file)).collect();
        if self.source == SourceKind::Text {
            scene.processes = Vec::new();
            scene.workloads = Vec::new();
            scene.machine.viewer = Viewer::default();
            scene.machine.pci_cards = Reading::default();
            return Ok(scene);
        }
        scene.host.cpus = Reading::Known(self.cpus);
        scene.host.pressure.io_some = Reading::Known(Share(self.io_pressure));
        scene.host.pressure.cpu_some = Reading::Known(Share(self.cpu_pressure));
        scene.events = self.log.as_ref().map(|lines| {
            let boot_us = BOOT_NS / 1000 - 5_000_000;
            lines
                .iter()
                .map(|text| KernelLine { boot_us, level: Reading::Known(3), text: text.clone() })
                .collect()
        });
        scene.mounts = Reading::Known(
            self.mounts
                .iter()
                .map(|(target, kind)| MountPoint {
                    target: target.clone(),
                    file_system: kind.clone(),
                    ..MountPoint::default()
                })
                .collect(),
        );
        Ok(scene)
    }

    /// Returns every process with its loaders, and a shell and the init above them.
    fn processes(&self) -> Result<BTreeMap<u32, ProcessFile>> {
        let plain = |name: &str, parent: u32| ProcessFile {
            name: name.to_owned(),
            command: name.to_owned(),
            parent,
            ..ProcessFile::default()
        };
        let mut all = BTreeMap::from([(1, plain("systemd", 0)), (2, plain("bash", 1))]);
        all.extend(self.process.iter().map(|(pid, file)| (*pid, file.clone())));
        for (parent, file) in &self.loaders {
            let above = self.process.get(parent).ok_or("loaders of no process")?;
            for number in 1..=file.number {
                let mut loader = file.each.clone();
                loader.parent = *parent;
                loader.command.clone_from(&above.command);
                loader.user.clone_from(&above.user);
                loader.group = loader.group.or(Some(above.group.unwrap_or(*parent)));
                if loader.name == "python3" {
                    "pt_data_worker".clone_into(&mut loader.name);
                }
                all.insert(parent * 100 + number, loader);
            }
        }
        Ok(all)
    }

    fn fill_machine(&self, scene: &mut Scene) {
        let file = &self.machine;
        let machine = &mut scene.machine;
        machine.hostname = Reading::Known("box".to_owned());
        machine.viewer.uid = Reading::Known(self.uid);
        machine.viewer.initial_pid_namespace = Reading::Known(!file.other_pid_namespace);
        machine.viewer.hidden_processes = Reading::Known(false);
        machine.container = file.container.clone().map_or(Reading::Unsupported, Reading::Known);
        machine.promised_cards = file.promised.clone().map_or(Reading::Unsupported, Reading::Known);
        machine.device_files = Reading::Known(Vec::new());
        let device = |address: &str, vendor: u32, driver: &str| PciDevice {
            address: address.to_owned(),
            vendor,
            device: 1,
            class: 0x03_0200,
            driver: if driver.is_empty() { Reading::Unsupported } else { Reading::Known(driver.to_owned()) },
            answers: Reading::Known(!file.dead.iter().any(|dead| dead == address)),
        };
        let nvidia = file.nvidia.iter().map(|(address, driver)| device(address, PciDevice::NVIDIA, driver));
        let others = file.others.iter().map(|vendor| device("0000:01:00.0", *vendor, "other"));
        machine.pci_cards = if file.bus_is_unseen {
            Reading::Denied(Access::MountedSys)
        } else {
            Reading::Known(nvidia.chain(others).collect())
        };
        let driver = &mut machine.driver;
        driver.library = match (file.library_code, file.library_is_missing) {
            (Some(code), _) => Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code }),
            (None, true) => Reading::Failed(Failure::LibraryNotLoaded { error: "not found".to_owned() }),
            (None, false) => Reading::Known(()),
        };
        driver.module = file.module.clone().map_or(Reading::Unsupported, Reading::Known);
        driver.modules = Reading::Known(file.modules.clone());
        driver.init_ms = Reading::Known(file.init_ms);
        driver.card_count = file.card_count.map_or(Reading::Unsupported, Reading::Known);
        driver.stuck_calls.clone_from(&self.stuck);
    }

    fn card(&self, index: u32, file: &CardFile, processes: &BTreeMap<u32, ProcessFile>) -> Card {
        let on_card = || processes.iter().filter(|(_, process)| process.gpu.contains(&index));
        let held: f64 = on_card().map(|(_, process)| process.vram).sum();
        let (total, used) = (gibibytes(file.total), gibibytes(file.used.unwrap_or(held)));
        let address = file.address.clone().unwrap_or_else(|| format!("0000:{:02x}:00.0", 0x10 + index));
        if let Some(code) = file.error {
            return Card {
                index,
                handle: Reading::Failed(Failure::Nvml {
                    call: "nvmlDeviceGetHandleByIndex_v2".to_owned(),
                    code,
                }),
                pci_address: Reading::Known(address),
                ..Card::default()
            };
        }
        let n = file.n.unwrap_or(if self.window > 0.0 { 30 } else { 1 });
        let busy = trend(file.busy, file.zeros, n, self.window, Percent);
        let past_s = file.idle.unwrap_or(if file.busy > 2.0 { 0.0 } else { self.window });
        Card {
            index,
            handle: Reading::Known(()),
            uuid: Reading::Known(format!("GPU-{index}")),
            name: Reading::Known("NVIDIA A100".to_owned()),
            pci_address: Reading::Known(address),
            minor: Reading::Known(index),
            memory: Reading::Known(CardMemory {
                total,
                reserved: Reading::Known(Bytes(0)),
                used,
                free: Bytes(total.0 - used.0),
            }),
            unexplained: Reading::Known(Bytes(used.0.saturating_sub(gibibytes(held).0))),
            busy: if file.busy_is_unsupported { Reading::Unsupported } else { Reading::Known(busy) },
            memory_busy: Reading::Known(trend(file.memory_busy, 0.0, n, self.window, Percent)),
            idle_for: if self.source == SourceKind::Text {
                Reading::default()
            } else {
                Reading::Known(Seconds(past_s))
            },
            seen_working: file.seen_working || file.busy > 2.0,
            power: Reading::Known(trend(file.power * POWER_LIMIT, 0.0, LOOKS, self.window, Watts)),
            power_limits: PowerLimits {
                enforced: Reading::Known(Watts(POWER_LIMIT)),
                ..PowerLimits::default()
            },
            clock_reasons: Reading::Known(ClockReasons(file.reasons)),
            reason_shares: if self.window > 0.0 {
                ReasonShares {
                    hardware_thermal: Reading::Known(Share(file.heat)),
                    software_power_cap: Reading::Known(Share(file.power_cap)),
                    ..ReasonShares::default()
                }
            } else {
                ReasonShares::default()
            },
            persistence: self.machine.persistence.map_or(Reading::Unsupported, Reading::Known),
            clients: Reading::Known(
                on_card().map(|(pid, process)| self.client(*pid, process, past_s)).collect(),
            ),
            ..Card::default()
        }
    }

    fn client(&self, pid: u32, file: &ProcessFile, card_past_s: f64) -> Client {
        let is_text = self.source == SourceKind::Text;
        let worked = file.sm > 0.0;
        Client {
            pid: Pid(pid),
            kind: if file.graphics { ClientKind::Graphics } else { ClientKind::Compute },
            memory: Reading::Known(gibibytes(file.vram)),
            name: Reading::Known(file.name.clone()),
            sm: if is_text {
                Reading::default()
            } else {
                Reading::Known(trend(file.sm, 0.0, LOOKS, self.window, Percent))
            },
            idle_for: if is_text {
                Reading::default()
            } else {
                Reading::Known(Seconds(file.idle.unwrap_or(if worked {
                    0.0
                } else {
                    card_past_s.max(self.window)
                })))
            },
            seen_working: file.seen_working || worked,
        }
    }

    fn process(&self, pid: u32, file: &ProcessFile, looks: usize) -> Process {
        let may_see = |what: &str| !file.unseen.iter().any(|unseen| unseen == what);
        let has_rates = self.window > 0.0;
        let rate = |value: f64| {
            if has_rates { Reading::Known(value) } else { Reading::Failed(Failure::TooFewSamples) }
        };
        let uid = if file.user == "root" { 0 } else { 2001 };
        let environment = Reading::Known(file.env.clone());
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
            name: file.name.clone(),
            uid: Reading::Known(uid),
            user: Reading::Known(file.user.clone()),
            command: Reading::Known(CommandLine::masked(file.command.split(' '))),
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
            ..Process::default()
        }
    }
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

fn states(running: f64, blocked: f64, looks: usize) -> StateShares {
    StateShares { n: looks, running, blocked, sleeping: (1.0 - running - blocked).max(0.0) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of a few looks")]
fn channels(name: Option<&str>, share: f64, looks: usize) -> Vec<WaitChannel> {
    let seen = (share * looks as f64).round() as usize;
    name.map(|name| WaitChannel { name: name.to_owned(), seen }).into_iter().collect()
}

fn cgroup(path: &str, file: &CgroupFile) -> Cgroup {
    let share = |value: Option<f64>| value.map_or(Reading::Unsupported, |share| Reading::Known(Share(share)));
    Cgroup {
        path: path.to_owned(),
        cpu_quota: file.quota.map_or(Reading::Unsupported, |cores| Reading::Known(Cores(cores))),
        cpu_throttled: share(file.throttled),
        io_some: share(file.io_some),
        cpu_some: Reading::Unsupported,
    }
}

fn gibibytes(number: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive numbers")]
    Bytes((number * f64::from(1_u32 << 30)) as u64)
}

fn trend<T: Copy + Default>(mean: f64, zeros: f64, n: usize, span_s: f64, unit: fn(f64) -> T) -> Trend<T> {
    let value = unit(mean);
    let max = if zeros > 0.0 { unit((mean / (1.0 - zeros)).min(100.0)) } else { value };
    Trend {
        last: value,
        mean: value,
        min: value,
        max,
        p10: value,
        p90: max,
        zeros,
        n,
        span_s,
        ..Trend::default()
    }
}

/// Groups the processes with a card under the topmost parent that is no shell.
fn workloads(processes: &BTreeMap<u32, ProcessFile>) -> Vec<Workload> {
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
        workload.cards.extend(&file.gpu);
    }
    for workload in found.values_mut() {
        let members = processes.keys().filter(|pid| Pid(root_of(**pid)) == workload.root);
        workload.processes = members.map(|pid| Pid(*pid)).collect();
        workload.cards.sort_unstable();
        workload.cards.dedup();
    }
    found.into_values().collect()
}
