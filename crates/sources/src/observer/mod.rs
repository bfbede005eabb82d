//! Looking at the machine: one sample after another.

mod account;
mod made;

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use gpuwhy_formats::proc::{users, whole_number};
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::{
    CardSample, KernelFact, KernelLine, MachineSample, NvmlSample, ProcessTable, Sample, Section,
};

use crate::clock;
use crate::file::{ReadError, read_and_parse};
use crate::footprint::{Footprint, footprint};
use crate::host::{self, Mounts};
use crate::kernel_log::KernelLog;
use crate::machine::Machine;
use crate::meter::{Cost, Meter, Part};
use crate::nvml::{ChildProgram, Driver, DriverOptions, Effort, Survivors, Wanted};
use crate::other_cards::OtherCards;
use crate::proc::ProcRoot;
use crate::processes::{Holders, Ourselves, People, ProcessLook, Processes};
use crate::roots::Roots;
use account::does_not_add_up;
use made::processes_made;

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

/// Who the parents of all processes are is read anew after this time at the latest.
const INDEX_LASTS: Duration = Duration::from_mins(5);

/// And after this time where nobody knows whether numbers may have been given away again.
const INDEX_LASTS_UNSURE: Duration = Duration::from_secs(30);

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
    /// Whether is measured what each part of a sample costs.
    pub measures: bool,
}

/// Something that looks at the machine again and again.
pub struct Observer {
    roots: Roots,
    options: Options,
    proc: Result<ProcRoot, ReadError>,
    driver: Driver,
    processes: Processes,
    other_cards: OtherCards,
    kernel_log: KernelLog,
    /// Lines that were read before the first sample was taken.
    early_lines: Option<Section<Vec<KernelLine>>>,
    init_limit: Duration,
    mounts: Mounts,
    machine_reader: Machine,
    machine: Section<MachineSample>,
    people: People,
    delays_are_counted: Option<bool>,
    buffer: Vec<u8>,
    samples: u64,
    /// When all processes were read last, and how many had been made by then.
    indexed_at: Option<(Duration, Option<u64>)>,
    meter: Meter,
}

impl Observer {
    /// Prepares to look, and starts the child that asks the driver, unless one of an earlier run is still stuck there.
    pub fn start(roots: Roots, options: Options) -> Self {
        let proc = ProcRoot::open(&roots.proc);
        let driver = Driver::new(DriverOptions {
            program: options.child.clone(),
            library: roots.nvml_library.clone(),
        });
        let kernel_log = match &roots.kernel_log {
            Some(path) => KernelLog::open(path),
            None => KernelLog::open_or_journal(&roots.dev.join("kmsg")),
        };
        let mut observer = Self {
            processes: Processes::new(&roots.proc),
            other_cards: OtherCards::new(&roots.proc),
            kernel_log,
            early_lines: None,
            init_limit: INIT_LIMIT,
            mounts: Mounts::default(),
            machine_reader: Machine::default(),
            machine: Section::default(),
            people: People::default(),
            delays_are_counted: None,
            buffer: Vec::new(),
            samples: 0,
            indexed_at: None,
            meter: Meter::new(options.measures),
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
        observer.meter.begin();
        let mut survivors = Survivors::default();
        observer.refresh_index(None, &mut survivors);
        let viewer = rustix::process::geteuid().as_raw();
        let survivor = observer.proc.as_mut().ok().and_then(|proc| survivors.stuck(proc, viewer));
        observer.meter.book(Part::ProcessList);
        observer.driver.start(survivor);
        observer.meter.book(Part::Cards);
        let lines = observer.kernel_log.new_lines();
        observer.init_limit = observer.options.init_limit.unwrap_or_else(|| init_limit(&lines));
        observer.early_lines = Some(lines);
        observer.meter.book(Part::KernelLog);
        observer
    }

    /// Returns what the last sample has cost this process by part, and before the first one the start; nothing unless it
    /// was to be measured.
    pub fn costs(&self) -> &[(Part, Cost)] {
        self.meter.spent()
    }

    /// Returns how much memory looking takes.
    pub fn footprint(&mut self) -> Footprint {
        let child = self.driver.idle_child();
        footprint(&self.roots.proc, child, &mut self.buffer)
    }

    /// Waits for the driver to be ready, for as long as given. Returns whether there is nothing more to wait for.
    pub fn wait_for_driver(&mut self, wait: Duration) -> bool {
        self.driver.wait_ready(wait, self.init_limit)
    }

    /// Returns what asking the driver has cost so far.
    pub fn driver_effort(&self) -> Effort {
        self.driver.effort()
    }

    /// Takes one sample.
    pub fn sample(&mut self, depth: Depth) -> Sample {
        self.sample_by(depth, Duration::MAX)
    }

    /// Takes one sample, for which the driver is waited for until `latest` at most, on the clock of [`clock::awake`].
    pub(crate) fn sample_by(&mut self, depth: Depth, latest: Duration) -> Sample {
        while !self.driver.wait_ready(self.init_limit, self.init_limit) {}
        self.meter.begin();
        let mut sample = Sample::empty(clock::now());
        let is_first = self.samples == 0;
        let is_full = depth != Depth::Calm || is_first;
        let counts = depth != Depth::Alone;
        self.samples += 1;
        let begun = clock::awake();
        self.driver.ask(Wanted { full: is_full, throughput: is_full && counts });
        self.meter.book(Part::Cards);
        // The child works meanwhile.
        self.read_surroundings(&mut sample, is_full, is_first);
        let swept = self.driver.collect(latest.min(begun + SWEEP_LIMIT));
        sample.nvml = Section { read: swept.read, value: swept.value };
        sample.stuck_calls = swept.stuck;
        self.meter.book(Part::Cards);
        sample.other_cards = self.read_other_cards(is_full);
        self.meter.book(Part::OtherCards);
        sample.processes = self.read_processes(&sample, is_full, counts);
        sample
    }

    fn read_other_cards(&mut self, is_full: bool) -> Section<Vec<CardSample>> {
        let processes = is_full.then(|| self.processes.index.may_hold_cards());
        let proc = self.proc.as_mut().ok();
        self.other_cards.look(&self.roots, proc, processes.as_deref(), &mut self.buffer)
    }

    fn read_surroundings(&mut self, sample: &mut Sample, is_full: bool, is_first: bool) {
        if is_full {
            self.mounts.refresh(&self.roots.proc, &mut self.buffer);
            self.meter.book(Part::Machine);
        }
        let seen = host::host(&self.roots, &self.mounts, is_full, &mut self.buffer);
        sample.host = seen.section;
        if let Some((_, before @ None)) = &mut self.indexed_at {
            *before = seen.forks;
        }
        self.meter.book(Part::Host);
        sample.kernel_log = self.early_lines.take().unwrap_or_else(|| self.kernel_log.new_lines());
        self.meter.book(Part::KernelLog);
        if !is_first && (is_full || self.samples.is_multiple_of(LIST_EVERY)) {
            self.refresh_index(seen.forks, &mut Survivors::default());
        }
        self.meter.book(Part::ProcessList);
        if is_full {
            sample.mounts = self.mounts.section();
            let switch = self.roots.proc.join("sys/kernel/task_delayacct");
            let switch = read_and_parse(&switch, &mut self.buffer, Access::Root, whole_number);
            self.delays_are_counted = switch.known().map(|value| *value != 0);
            self.read_people();
            let proc = self.proc.as_ref().ok();
            let running = proc.map(|_| self.processes.index.services());
            self.machine =
                self.machine_reader.look(&self.roots, proc, &self.mounts, running.as_ref(), &mut self.buffer);
            sample.machine = self.machine.clone();
        }
        self.meter.book(Part::Machine);
    }

    /// Lists the processes; now and then all are read anew, since numbers are given away again.
    fn refresh_index(&mut self, forks: Option<u64>, survivors: &mut Survivors) {
        let Ok(proc) = &mut self.proc else {
            return;
        };
        let now = clock::awake();
        let made = forks.and_then(|forks| processes_made(forks, &self.roots, &mut self.buffer));
        let all = self.indexed_at.is_none_or(|(at, before)| {
            let lasts = match made.map(|made| made.may_have_turned(before)) {
                Some(false) => INDEX_LASTS,
                Some(true) => Duration::ZERO,
                None => INDEX_LASTS_UNSURE,
            };
            now >= at + lasts
        });
        if all {
            self.indexed_at = Some((now, made.map(|made| made.number)));
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

    fn read_processes(&mut self, sample: &Sample, is_full: bool, counts: bool) -> Section<ProcessTable> {
        let at = clock::now();
        let nvml = &sample.nvml.value;
        let ours = nvml.known().into_iter().flat_map(|nvml| &nvml.cards);
        let others = sample.other_cards.value.known().into_iter().flatten();
        let cards: Vec<&CardSample> = ours.chain(others).collect();
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
        let is_wanted = self.options.sweep_descriptors
            || !numbers_agree
            || does_not_add_up(nvml)
            || keeps_others_out(nvml);
        let is_swept = is_full && has_device_files && is_wanted;
        let holders: Option<Holders> =
            is_swept.then(|| self.processes.sweep_holders(proc, &self.roots.dev, own_child));
        self.meter.book(Part::Descriptors);
        let look = ProcessLook {
            at,
            cards: &cards,
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
        let table = self.processes.look(proc, look, &mut self.buffer, &mut self.meter);
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

/// Returns whether the compute mode of some card that is in use keeps others out: who waits there, only descriptors
/// tell.
fn keeps_others_out(nvml: &Reading<NvmlSample>) -> bool {
    nvml.known().into_iter().flat_map(|nvml| &nvml.cards).any(|card| {
        let is_exclusive = card.compute_mode.known().is_some_and(|mode| mode.starts_with("exclusive"));
        is_exclusive && card.clients.known().is_some_and(|clients| !clients.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::{INIT_LIMIT, INIT_LIMIT_AFTER_FAULT, init_limit};
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{KernelFact, KernelLine, ReadTime, Section};

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
}
