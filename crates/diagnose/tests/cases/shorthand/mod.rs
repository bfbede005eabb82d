//! A scene in few words. What a case does not mention is healthy and was seen; `unseen` takes sights away.

mod card;
mod cluster;
mod health;
mod host;
mod parts;
mod process;
mod values;

use std::collections::BTreeMap;
use std::error::Error;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{
    CardPair, CardPath, DeviceHolder, KernelFact, KernelLine, MountPoint, PciDevice, Service, StuckCall,
    Viewer, XidEvent,
};
use gpuwhy_model::scene::{
    Cgroup, Container, JoinedPair, LogLine, Machine, ModuleBuild, Profile, Provenance, Scene, Serving,
    SourceKind, Stack, Trace, UnplacedClient, Window,
};
use gpuwhy_model::units::Share;
use serde::Deserialize;

use card::CardFile;
use cluster::{JobFile, LimitFile, NodeFile, QueueFile};
use host::HostFile;
use parts::{NetworkFile, interface};
use process::{CgroupFile, LoaderFile, ProcessFile, cgroup, workloads};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const LOOKS: usize = 11;
const BOOT_NS: u64 = 1_000_000_000_000;

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
    /// Pids of processes of which the card is not said.
    unplaced: Vec<u32>,
    /// What a test moved between two cards, by their numbers: `0-1`.
    pair: BTreeMap<String, PairFile>,
    log: Reading<Vec<LineFile>>,
    stuck: Vec<StuckCall>,
    /// Who has which device files open; not looked for without it.
    device_holders: Option<BTreeMap<u32, Vec<String>>>,
    holders_are_unseen: bool,
    mounts: BTreeMap<String, String>,
    io_pressure: f64,
    cpu_pressure: f64,
    cpus: u64,
    host: HostFile,
    /// Network links with hardware behind them, by name.
    network: BTreeMap<String, NetworkFile>,
    /// What programs said.
    program: Vec<LogLine>,
    /// Containers, as the scene has them.
    containers: Vec<Container>,
    /// Which devices control groups may use, by their paths.
    device_rules: BTreeMap<String, Vec<String>>,
    /// Jobs of a scheduler by id; one that begins with `-` has none.
    job: BTreeMap<String, JobFile>,
    /// Nodes of its cluster by name; one that begins with `-` has none.
    node: BTreeMap<String, NodeFile>,
    /// Its queues by name.
    queue: BTreeMap<String, QueueFile>,
    /// Limits of what jobs may use.
    limit: Vec<LimitFile>,
    /// Model servers, as the scene has them.
    serving: Vec<Serving>,
    /// Where threads stood.
    stacks: Vec<Stack>,
    /// Where the time of programs went.
    profiles: Vec<Profile>,
    /// What traces show.
    traces: Vec<Trace>,
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
            unplaced: Vec::new(),
            pair: BTreeMap::new(),
            log: Reading::Known(Vec::new()),
            stuck: Vec::new(),
            device_holders: None,
            holders_are_unseen: false,
            mounts: BTreeMap::new(),
            io_pressure: 0.0,
            cpu_pressure: 0.0,
            cpus: 16,
            host: HostFile::default(),
            network: BTreeMap::new(),
            program: Vec::new(),
            containers: Vec::new(),
            device_rules: BTreeMap::new(),
            job: BTreeMap::new(),
            node: BTreeMap::new(),
            queue: BTreeMap::new(),
            limit: Vec::new(),
            serving: Vec::new(),
            stacks: Vec::new(),
            profiles: Vec::new(),
            traces: Vec::new(),
        }
    }
}

/// Two cards.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairFile {
    #[serde(default)]
    path: Option<CardPath>,
    /// In GB a second.
    rate: f64,
}

/// A line of the kernel log, with what it says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFile {
    text: String,
    /// How long ago it was written, in seconds.
    #[serde(default = "recent_s")]
    age: f64,
    fact: Option<KernelFact>,
}

/// Returns the time of the log at which a line of some age was written; nothing is older than the boot.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ages are positive and small")]
fn written_at_us(age_s: f64) -> u64 {
    (BOOT_NS / 1000).saturating_sub((age_s * 1e6) as u64)
}

fn recent_s() -> f64 {
    5.0
}

#[expect(clippy::struct_excessive_bools, reason = "each is one key of a case")]
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct MachineFile {
    /// Kernel drivers of the NVIDIA cards on the bus, by address; empty: none is bound (a text does not say), `none`: a
    /// text says that none is.
    nvidia: BTreeMap<String, String>,
    /// Vendor ids of other cards on the bus.
    others: Vec<u32>,
    /// Addresses on the bus that answer with all ones.
    dead: Vec<String>,
    bus_is_unseen: bool,
    /// What the library says instead of starting: a code, or `missing`.
    library_code: Option<u32>,
    library_is_missing: bool,
    /// Not even the driver's tool is there; only a text tells.
    tool_is_missing: bool,
    module: Option<String>,
    /// A text says that the module is not loaded.
    module_is_absent: bool,
    /// A text says that there is no file of the module.
    module_file_is_missing: bool,
    /// Release of the running kernel.
    kernel: Option<String>,
    /// Kernels for which the module is built.
    built_for: Vec<String>,
    secure_boot: Option<bool>,
    modules: Vec<String>,
    container: Option<String>,
    promised: Option<String>,
    card_count: Option<u32>,
    init_ms: u64,
    persistence: Option<bool>,
    other_pid_namespace: bool,
    hides_processes: bool,
    /// A text says nothing of container, promise, device files and module unless the case does.
    text_shows_little: bool,
    /// Highest CUDA version of the driver.
    cuda: Option<String>,
    library_version: Option<String>,
    library_files: Vec<String>,
    module_is_unseen: bool,
    /// A number of cards that cannot be.
    card_count_is: Option<String>,
    device_files: Vec<String>,
    device_files_are_unseen: bool,
    nvswitches: Option<u64>,
    services: BTreeMap<String, ServiceFile>,
    xid_events: Vec<XidEvent>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ServiceFile {
    installed: bool,
    running: bool,
    version: Option<String>,
    /// It ended by an error.
    failed: bool,
}

impl MachineFile {
    /// Writes what only texts say of a driver into a machine.
    fn fill_text(&self, machine: &mut Machine) {
        let driver = &mut machine.driver;
        driver.module = if self.module_is_absent { Reading::Unsupported } else { self.module.clone().into() };
        if self.module_file_is_missing {
            driver.module_file = Reading::Unsupported;
        }
        if self.tool_is_missing {
            driver.library = Failure::Missing { path: "nvidia-smi".to_owned() }.into_reading();
        }
        if !self.built_for.is_empty() {
            let build = |kernel: &String| ModuleBuild {
                module: "nvidia".to_owned(),
                version: "535.113.01".to_owned(),
                kernel: Some(kernel.clone()),
                state: "installed".to_owned(),
            };
            driver.module_builds = Reading::Known(self.built_for.iter().map(build).collect());
        }
        if let Reading::Known(devices) = &mut machine.pci_cards {
            let is_untold =
                |device: &&mut PciDevice| self.nvidia.get(&device.address).is_some_and(String::is_empty);
            devices.iter_mut().filter(is_untold).for_each(|device| device.driver = Reading::default());
        }
        machine.kernel = self.kernel.clone().into();
        machine.secure_boot = self.secure_boot.into();
    }
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
        scene.program.clone_from(&self.program);
        scene.serving.clone_from(&self.serving);
        scene.stacks.clone_from(&self.stacks);
        scene.profiles.clone_from(&self.profiles);
        scene.traces.clone_from(&self.traces);
        self.fill_pairs(&mut scene)?;
        scene.unplaced_clients = self
            .unplaced
            .iter()
            .map(|pid| UnplacedClient {
                card_uuid: None,
                card_address: None,
                client: self.unplaced_client(*pid),
            })
            .collect();
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
        scene.cgroups.extend(self.device_rules.iter().map(|(path, rules)| Cgroup {
            path: path.clone(),
            device_rules: Reading::Known(rules.clone()),
            ..Cgroup::default()
        }));
        scene.machine.containers.clone_from(&self.containers);
        scene.jobs = self.job.iter().map(|(id, file)| cluster::job(id, file)).collect();
        scene.cluster = self.node.iter().map(|(name, file)| cluster::node(name, file)).collect();
        scene.queues = self.queue.iter().map(|(name, file)| cluster::queue(name, file)).collect();
        let of_queues = self.queue.iter().filter_map(|(name, file)| cluster::limit_of_queue(name, file));
        scene.quotas = self.limit.iter().map(cluster::quota).chain(of_queues).collect();
        if self.source == SourceKind::Text {
            scene.processes = Vec::new();
            scene.workloads = Vec::new();
            scene.machine.viewer = Viewer::default();
            if self.machine.nvidia.is_empty() {
                scene.machine.pci_cards = Reading::default();
            }
            if self.log.known().is_some_and(|lines| !lines.is_empty()) {
                scene.events = self.events();
            }
            self.machine.fill_text(&mut scene.machine);
            let may_name_cards = scene.events.is_known() || scene.machine.pci_cards.is_known();
            // Joining the parts of a text finds cards that only their address names.
            return Ok(if may_name_cards { gpuwhy_model::window::merge([scene]).scene } else { scene });
        }
        scene.device_holders = self.device_holders();
        scene.network =
            Reading::Known(self.network.iter().map(|(name, file)| interface(name, file)).collect());
        scene.host.cpus = Reading::Known(self.cpus);
        scene.host.pressure.io_some = Reading::Known(Share(self.io_pressure));
        scene.host.pressure.cpu_some = Reading::Known(Share(self.cpu_pressure));
        self.host.fill(&mut scene);
        scene.events = self.events();
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

    fn events(&self) -> Reading<Vec<KernelLine>> {
        let line = |line: &LineFile| KernelLine {
            boot_us: written_at_us(line.age),
            level: Reading::Known(3),
            text: line.text.clone(),
            fact: line.fact.clone(),
            ..KernelLine::default()
        };
        self.log.as_ref().map(|lines| lines.iter().map(line).collect())
    }

    fn device_holders(&self) -> Reading<Vec<DeviceHolder>> {
        if self.holders_are_unseen {
            return Reading::Denied(Access::Root);
        }
        self.device_holders.as_ref().map_or_else(Reading::default, |holders| {
            let holder = |(pid, devices): (&u32, &Vec<String>)| DeviceHolder {
                pid: Pid(*pid),
                start_ticks: u64::from(*pid),
                devices: devices.clone(),
            };
            Reading::Known(holders.iter().map(holder).collect())
        })
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

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures of a case")]
    fn fill_pairs(&self, scene: &mut Scene) -> Result<()> {
        let mut paths = Vec::new();
        let mut joined = Vec::new();
        for (name, file) in &self.pair {
            let (one, other) = name.split_once('-').ok_or("a pair is called `0-1`")?;
            let (one, other) = (one.parse()?, other.parse()?);
            let bytes_per_s = Some((file.rate * 1e9) as u64);
            joined.push(JoinedPair { one, other, bytes_per_s, ..JoinedPair::default() });
            paths.extend(file.path.map(|path| CardPair { one, other, path, peer_to_peer: None }));
        }
        if !joined.is_empty() {
            scene.machine.joined_pairs = Reading::Known(joined);
        }
        if !paths.is_empty() {
            scene.machine.card_pairs = Reading::Known(paths);
        }
        Ok(())
    }

    fn fill_machine(&self, scene: &mut Scene) {
        let file = &self.machine;
        let machine = &mut scene.machine;
        machine.hostname = Reading::Known("box".to_owned());
        machine.viewer.uid = Reading::Known(self.uid);
        machine.viewer.initial_pid_namespace = Reading::Known(!file.other_pid_namespace);
        machine.viewer.hidden_processes = Reading::Known(file.hides_processes);
        machine.container = file.container.clone().map_or(Reading::Unsupported, Reading::Known);
        machine.promised_cards = file.promised.clone().map_or(Reading::Unsupported, Reading::Known);
        machine.device_files = if file.device_files_are_unseen {
            Reading::Denied(Access::Root)
        } else {
            Reading::Known(file.device_files.clone())
        };
        machine.nvswitches = file.nvswitches.map_or(Reading::Unsupported, Reading::Known);
        machine.services = Reading::Known(
            file.services
                .iter()
                .map(|(name, service)| Service {
                    name: name.clone(),
                    installed: Reading::Known(service.installed),
                    running: Reading::Known(service.running),
                    version: service.version.clone().map_or(Reading::Unsupported, Reading::Known),
                    failed: service.failed,
                })
                .collect(),
        );
        let device = |address: &str, vendor: u32, driver: &str| PciDevice {
            address: address.to_owned(),
            vendor,
            device: 1,
            class: 0x03_0200,
            driver: if matches!(driver, "" | "none") {
                Reading::Unsupported
            } else {
                Reading::Known(driver.to_owned())
            },
            answers: Reading::Known(!file.dead.iter().any(|dead| dead == address)),
            ..PciDevice::default()
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
        driver.card_count = match &file.card_count_is {
            Some(value) => Reading::Failed(Failure::Implausible { value: value.clone() }),
            None => file.card_count.map_or(Reading::Unsupported, Reading::Known),
        };
        driver.cuda_version = file.cuda.clone().map_or(Reading::Unsupported, Reading::Known);
        driver.library_version = file.library_version.clone().map_or(Reading::Unsupported, Reading::Known);
        driver.library_files = if file.library_files.is_empty() {
            Reading::Unsupported
        } else {
            Reading::Known(file.library_files.clone())
        };
        if file.module_is_unseen {
            driver.module = Reading::Denied(Access::Root);
        }
        driver.xid_events = Reading::Known(file.xid_events.clone());
        if file.text_shows_little {
            driver.module = file.module.clone().into();
            machine.container = file.container.clone().into();
            machine.promised_cards = file.promised.clone().into();
            machine.device_files = Reading::default();
        }
        driver.stuck_calls.clone_from(&self.stuck);
    }
}
