//! What each part of a sample costs us: processor time, wall time, files.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::clock;
use crate::file::read_so_far;

/// A part of taking a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Processors, memory, pressure, disks, network links.
    Host,
    /// The kernel log.
    KernelLog,
    /// Mounts, the bus, modules, services, users.
    Machine,
    /// The list of processes with their parents.
    ProcessList,
    /// Waiting for the child that asks the driver, and taking its answers.
    Cards,
    /// Descriptors of all processes.
    Descriptors,
    /// `stat` of the processes behind cards.
    ProcessStates,
    /// Who these processes are.
    Descriptions,
    /// Where they wait, their threads, counters and open files.
    ProcessDetails,
    /// Control groups.
    ControlGroups,
    /// Cards of other vendors.
    OtherCards,
}

impl Part {
    /// All parts, in the order in which they are read.
    pub const ALL: &'static [Self] = &[
        Self::Host,
        Self::KernelLog,
        Self::Machine,
        Self::ProcessList,
        Self::Cards,
        Self::OtherCards,
        Self::Descriptors,
        Self::ProcessStates,
        Self::Descriptions,
        Self::ProcessDetails,
        Self::ControlGroups,
    ];

    /// Returns the part's id.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::KernelLog => "kernel_log",
            Self::Machine => "machine",
            Self::ProcessList => "process_list",
            Self::Cards => "cards",
            Self::Descriptors => "descriptors",
            Self::ProcessStates => "process_states",
            Self::Descriptions => "descriptions",
            Self::ProcessDetails => "process_details",
            Self::ControlGroups => "control_groups",
            Self::OtherCards => "other_cards",
        }
    }
}

/// What one part has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Processor time of this process.
    pub processor: Duration,
    /// Time that has passed.
    pub wall: Duration,
    /// Files, directories and links that were read.
    pub files: u64,
}

impl Cost {
    /// Returns both costs together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            processor: self.processor + other.processor,
            wall: self.wall + other.wall,
            files: self.files + other.files,
        }
    }
}

/// A moment from which on costs are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    processor: Duration,
    wall: Duration,
    files: u64,
}

impl Mark {
    pub(crate) fn now() -> Self {
        Self { processor: processor_time(), wall: clock::awake(), files: read_so_far() }
    }

    /// Returns what was spent since.
    fn spent(&self) -> Cost {
        Cost {
            processor: processor_time().saturating_sub(self.processor),
            wall: clock::since(self.wall),
            files: read_so_far().saturating_sub(self.files),
        }
    }
}

/// Returns the processor time of this process with all its threads.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The costs of one sample by part; it is measured only when somebody wants to know.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    is_on: bool,
    spent: Vec<(Part, Cost)>,
    since: Option<Mark>,
}

impl Meter {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, spent: Vec::new(), since: None }
    }

    /// Begins a sample.
    pub(crate) fn begin(&mut self) {
        self.spent.clear();
        self.since = self.is_on.then(Mark::now);
    }

    /// Books what was spent since the last booking, or since the beginning, to a part.
    pub(crate) fn book(&mut self, part: Part) {
        let Some(since) = self.since else {
            return;
        };
        let spent = since.spent();
        match self.spent.iter_mut().find(|(known, _)| *known == part) {
            Some((_, cost)) => *cost = cost.plus(spent),
            None => self.spent.push((part, spent)),
        }
        self.since = Some(Mark::now());
    }

    /// Returns what the sample has cost so far, by part.
    pub(crate) fn spent(&self) -> &[(Part, Cost)] {
        &self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::{Meter, Part};
    use crate::file::read_path;

    #[test]
    fn files_are_booked_to_the_part_that_read_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let mut meter = Meter::new(true);
        meter.begin();
        read_path(&path, &mut Vec::new()).unwrap();
        meter.book(Part::Host);
        meter.book(Part::Machine);
        read_path(&path, &mut Vec::new()).unwrap();
        meter.book(Part::Host);
        // Other tests of this program may read files at the same time.
        let parts: Vec<Part> = meter.spent().iter().map(|(part, _)| *part).collect();
        assert_eq!(parts, [Part::Host, Part::Machine]);
        assert!(meter.spent()[0].1.files >= 2);
        meter.begin();
        assert!(meter.spent().is_empty());
    }

    #[test]
    fn nothing_is_measured_that_nobody_asked_for() {
        let mut meter = Meter::new(false);
        meter.begin();
        meter.book(Part::Host);
        assert!(meter.spent().is_empty());
    }
}
