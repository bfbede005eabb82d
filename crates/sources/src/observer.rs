//! Looking at the machine: one sample after another.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use gpuwhy_formats::proc::{users, whole_number};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::{
    CardSample, KernelFact, KernelLine, MachineSample, NvmlSample, ProcessTable, Sample, Section,
};

use crate::clock;
use crate::file::{ReadError, read_and_parse};
use crate::host::{self, Mounts};
use crate::kernel_log::KernelLog;
use crate::machine;
use crate::nvml::{ChildProgram, Driver, DriverOptions, Survivors, Wanted};
use crate::proc::ProcRoot;
use crate::processes::{Holders, Ourselves, People, ProcessLook, Processes};
use crate::roots::Roots;

/// A driver that starts slowly is waited for as long as this.
const INIT_LIMIT: Duration = Duration::from_mins(1);

/// Where the kernel log has a fresh fault, nobody need wait so long.
const INIT_LIMIT_AFTER_FAULT: Duration = Duration::from_secs(15);

/// A line of the kernel log is fresh for this long.
const FRESH: Duration = Duration::from_mins(15);

/// A sweep that takes longer is not waited for any more at this sample.
const SWEEP_LIMIT: Duration = Duration::from_millis(2500);

/// Between full looks the processes are listed at every fourth sample, to find new children.
const LIST_EVERY: u64 = 4;

/// Who the parents of all processes are is read anew after this time.
const INDEX_LASTS: Duration = Duration::from_secs(30);

/// Memory of a card that nobody accounts for is looked into from here on: bytes, and hundredths of the card.
const UNEXPLAINED_BYTES: u64 = 1 << 30;
const UNEXPLAINED_PERCENT: u64 = 3;

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What changes quickly: fast values of the cards, `stat` of tracked processes, threads where something is unclear.
    Calm,
    /// Everything.
    Full,
    /// Everything but the counters whose growth only a second sample could tell: for a sample that stays alone.
    Alone,
}

/// What an observer is made with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which program becomes the child that asks the driver.
    pub child: ChildProgram,
    /// Whether the descriptors of all processes are swept at every full look, not only when memory does not add up.
    pub sweep_descriptors: bool,
    /// How long a driver that starts is waited for; none: 60 s, 15 s after a fresh fault in the kernel log.
    pub init_limit: Option<Duration>,
    /// Whether the machine lets everybody see everybody's command lines; else only root sees those of others.
    pub command_lines_are_open: bool,
}

/// Something that looks at the machine again and again.
pub struct Observer {
    roots: Roots,
    options: Options,
    proc: Result<ProcRoot, ReadError>,
    driver: Driver,
    processes: Processes,
    kernel_log: KernelLog,
    /// Lines that were read before the first sample was taken.
    early_lines: Option<Section<Vec<KernelLine>>>,
    init_limit: Duration,
    mounts: Mounts,
    machine: Section<MachineSample>,
    people: People,
    delays_are_counted: Option<bool>,
    buffer: Vec<u8>,
    samples: u64,
    /// When all processes were read last.
    indexed_at: Option<Duration>,
}

impl Observer {
    /// Prepares to look, and starts the child that asks the driver, unless one of an earlier run is still stuck there.
    pub fn start(roots: Roots, options: Options) -> Self {
        let proc = ProcRoot::open(&roots.proc);
        let driver = Driver::new(DriverOptions {
            program: options.child.clone(),
            library: roots.nvml_library.clone(),
        });
        let log_path = roots.kernel_log.clone().unwrap_or_else(|| roots.dev.join("kmsg"));
        let mut observer = Self {
            processes: Processes::new(&roots.proc),
            kernel_log: KernelLog::open(&log_path),
            early_lines: None,
            init_limit: INIT_LIMIT,
            mounts: Mounts::default(),
            machine: Section::default(),
            people: People::default(),
            delays_are_counted: None,
            buffer: Vec::new(),
            samples: 0,
            indexed_at: None,
            roots,
            options,
            proc,
            driver,
        };
        if let Ok(proc) = &observer.proc {
            let program = std::fs::metadata(&observer.options.child.path).ok();
            let program = program.map(|file| (file.dev(), file.ino()));
            observer.processes.index.know(Ourselves::of(proc, program));
        }
        let mut survivors = Survivors::default();
        observer.refresh_index(&mut survivors);
        let viewer = rustix::process::geteuid().as_raw();
        let survivor = observer.proc.as_mut().ok().and_then(|proc| survivors.stuck(proc, viewer));
        observer.driver.start(survivor);
        let lines = observer.kernel_log.new_lines();
        observer.init_limit = observer.options.init_limit.unwrap_or_else(|| init_limit(&lines));
        observer.early_lines = Some(lines);
        observer
    }

    /// Waits for the driver to be ready, for as long as given. Returns whether there is nothing more to wait for.
    pub fn wait_for_driver(&mut self, wait: Duration) -> bool {
        self.driver.wait_ready(wait, self.init_limit)
    }

    /// Takes one sample.
    pub fn sample(&mut self, depth: Depth) -> Sample {
        self.sample_by(depth, Duration::MAX)
    }

    /// Takes one sample, for which the driver is waited for until `latest` at most, on the clock of [`clock::awake`].
    pub(crate) fn sample_by(&mut self, depth: Depth, latest: Duration) -> Sample {
        while !self.driver.wait_ready(self.init_limit, self.init_limit) {}
        let mut sample = Sample::empty(clock::now());
        let is_first = self.samples == 0;
        let is_full = depth != Depth::Calm || is_first;
        let counts = depth != Depth::Alone;
        self.samples += 1;
        let begun = clock::awake();
        self.driver.ask(Wanted { full: is_full, throughput: is_full && counts });
        // The child works meanwhile.
        self.read_surroundings(&mut sample, is_full, is_first);
        let swept = self.driver.collect(latest.min(begun + SWEEP_LIMIT));
        sample.nvml = Section { read: swept.read, value: swept.value };
        sample.stuck_calls = swept.stuck;
        sample.processes = self.read_processes(&sample.nvml.value, is_full, counts);
        sample
    }

    fn read_surroundings(&mut self, sample: &mut Sample, is_full: bool, is_first: bool) {
        sample.host = host::host(&self.roots.proc, &mut self.buffer);
        sample.kernel_log = self.early_lines.take().unwrap_or_else(|| self.kernel_log.new_lines());
        if is_full {
            self.mounts = Mounts::read(&self.roots.proc, &mut self.buffer);
            sample.mounts = self.mounts.section();
            let switch = self.roots.proc.join("sys/kernel/task_delayacct");
            let switch = read_and_parse(&switch, &mut self.buffer, Access::Root, whole_number);
            self.delays_are_counted = switch.known().map(|value| *value != 0);
            self.read_people();
            let proc = self.proc.as_ref().ok();
            self.machine = machine::machine(&self.roots, proc, &self.mounts, &mut self.buffer);
            sample.machine = self.machine.clone();
        }
        if !is_first && (is_full || self.samples.is_multiple_of(LIST_EVERY)) {
            self.refresh_index(&mut Survivors::default());
        }
    }

    /// Lists the processes; now and then all are read anew, since numbers are given away again.
    fn refresh_index(&mut self, survivors: &mut Survivors) {
        let Ok(proc) = &mut self.proc else {
            return;
        };
        let now = clock::awake();
        let all = self.indexed_at.is_none_or(|before| now >= before + INDEX_LASTS);
        if all {
            self.indexed_at = Some(now);
        }
        if let Err(error) = self.processes.index.refresh(proc, all, survivors) {
            self.proc = Err(error);
        }
    }

    fn read_people(&mut self) {
        let names =
            read_and_parse(&self.roots.passwd, &mut self.buffer, Access::Root, |bytes| Ok(users(bytes)));
        self.people = People {
            viewer: rustix::process::geteuid().as_raw(),
            command_lines_are_open: self.options.command_lines_are_open,
            names: names.into_known().unwrap_or_default(),
        };
    }

    fn read_processes(
        &mut self,
        nvml: &Reading<NvmlSample>,
        is_full: bool,
        counts: bool,
    ) -> Section<ProcessTable> {
        let at = clock::now();
        let cards: &[CardSample] = nvml.known().map_or(&[], |nvml| &nvml.cards);
        let own_child = self.driver.child();
        let proc = match &mut self.proc {
            Ok(proc) => proc,
            Err(error) => {
                return Section { read: at, value: error.clone().reading_with(Access::VisibleProcesses) };
            }
        };
        let machine = self.machine.value.known();
        let has_device_files =
            machine.and_then(|machine| machine.device_files.known()).is_some_and(|files| !files.is_empty());
        let viewer = machine.map(|machine| &machine.viewer);
        // In a pid namespace of our own the driver's numbers are not ours: who holds a card only descriptors tell.
        let numbers_agree = viewer.and_then(|viewer| viewer.initial_pid_namespace.known()) != Some(&false);
        let is_wanted = self.options.sweep_descriptors || !numbers_agree || does_not_add_up(nvml);
        let is_swept = is_full && has_device_files && is_wanted;
        let holders: Option<Holders> =
            is_swept.then(|| self.processes.sweep_holders(proc, &self.roots.dev, own_child));
        let look = ProcessLook {
            at,
            cards,
            numbers_agree,
            is_full,
            counts,
            delays_are_counted: self.delays_are_counted,
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            mounts: &self.mounts,
            sys: &self.roots.sys,
            people: &self.people,
            holders,
        };
        let table = self.processes.look(proc, look, &mut self.buffer);
        Section { read: at, value: Reading::Known(table) }
    }
}

/// Returns how long a starting driver is waited for, by what the kernel log says.
fn init_limit(lines: &Section<Vec<KernelLine>>) -> Duration {
    let is_fault = |line: &KernelLine| {
        let age =
            Duration::from_nanos(lines.read.boot_ns).saturating_sub(Duration::from_micros(line.boot_us));
        let speaks_of_trouble = matches!(
            line.fact,
            Some(KernelFact::Xid { .. } | KernelFact::HungTask { .. } | KernelFact::RpcTimeout)
        );
        age <= FRESH && speaks_of_trouble
    };
    let has_fault = lines.value.known().is_some_and(|lines| lines.iter().any(is_fault));
    if has_fault { INIT_LIMIT_AFTER_FAULT } else { INIT_LIMIT }
}

/// Returns whether the memory of some card is held by somebody whom the driver does not name.
fn does_not_add_up(nvml: &Reading<NvmlSample>) -> bool {
    let Some(nvml) = nvml.known() else {
        // Nobody is named at all: with device files there may be holders.
        return true;
    };
    nvml.cards.iter().any(|card| {
        let Some(memory) = card.memory.known() else {
            return !card.handle.is_known();
        };
        let Some(clients) = card.clients.known() else {
            return memory.used.0 > UNEXPLAINED_BYTES;
        };
        let mut by_process: BTreeMap<Pid, u64> = BTreeMap::new();
        for client in clients {
            let Some(bytes) = client.memory.known() else {
                // The driver names them without saying what they hold.
                return false;
            };
            let held = by_process.entry(client.pid).or_default();
            *held = (*held).max(bytes.0);
        }
        let explained: u64 = by_process.values().sum();
        let tolerated = UNEXPLAINED_BYTES.max(memory.total.0 / 100 * UNEXPLAINED_PERCENT);
        memory.used.0.saturating_sub(explained) > tolerated
    })
}

#[cfg(test)]
mod tests {
    use super::{INIT_LIMIT, INIT_LIMIT_AFTER_FAULT, does_not_add_up, init_limit};
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::sample::{
        CardClient, CardMemory, CardSample, ClientKind, KernelFact, KernelLine, NvmlSample, ReadTime, Section,
    };
    use gpuwhy_model::units::Bytes;

    #[test]
    fn a_fresh_fault_shortens_the_wait_for_the_driver() {
        let log = |fact: Option<KernelFact>, age_s: u64| Section {
            read: ReadTime { boot_ns: 10_000_000_000_000, ..ReadTime::default() },
            value: Reading::Known(vec![KernelLine {
                boot_us: 10_000_000_000 - age_s * 1_000_000,
                fact,
                ..KernelLine::default()
            }]),
        };
        assert_eq!(init_limit(&log(Some(KernelFact::RpcTimeout), 60)), INIT_LIMIT_AFTER_FAULT);
        assert_eq!(init_limit(&log(Some(KernelFact::RpcTimeout), 3600)), INIT_LIMIT);
        assert_eq!(init_limit(&log(Some(KernelFact::ModuleRefused), 60)), INIT_LIMIT);
        assert_eq!(init_limit(&log(None, 60)), INIT_LIMIT);
        assert_eq!(init_limit(&Section::default()), INIT_LIMIT);
    }

    #[test]
    fn descriptors_are_swept_when_memory_does_not_add_up() {
        let card = |used: u64, clients: Reading<Vec<CardClient>>| {
            let memory = CardMemory { total: Bytes(80 << 30), used: Bytes(used), ..CardMemory::default() };
            let card = CardSample {
                memory: Reading::Known(memory),
                clients,
                handle: Reading::Known(()),
                ..CardSample::default()
            };
            Reading::Known(NvmlSample { cards: vec![card], ..NvmlSample::default() })
        };
        let client = |bytes: u64, kind| CardClient {
            pid: Pid(7),
            kind,
            memory: Reading::Known(Bytes(bytes)),
            name: Reading::Unsupported,
        };
        let both = vec![client(30 << 30, ClientKind::Compute), client(30 << 30, ClientKind::Graphics)];
        assert!(!does_not_add_up(&card(31 << 30, Reading::Known(both.clone()))));
        assert!(does_not_add_up(&card(40 << 30, Reading::Known(both))));
        assert!(does_not_add_up(&card(40 << 30, Reading::Unsupported)));
        assert!(!does_not_add_up(&card(0, Reading::Known(Vec::new()))));
        assert!(does_not_add_up(&Reading::Failed(Failure::NotReached)));
    }
}
