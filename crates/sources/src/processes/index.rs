//! All processes, with their parents: one pass over `/proc/*/stat`, then only what is new.

use std::time::Duration;

use gpuwhy_formats::proc::{Stat, stat};
use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::ProcessState;

use super::ourselves::Ourselves;
use super::seen::Seen;
use crate::clock;
use crate::file::ReadError;
use crate::machine::{RunningServices, ServiceId, service_of};
use crate::nvml::Survivors;
use crate::proc::ProcRoot;

/// A process that is younger may be about to run another program, under another name: it is read again.
const YOUNG: Duration = Duration::from_secs(2);

/// Of more processes what was seen in passing is not kept.
const SEEN_MAX: usize = 1 << 14;

/// One process of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) start_ticks: u64,
    /// Whether it is a gpuwhy: this one, or another.
    pub(super) is_ours: bool,
    /// The service that it runs for.
    service: Option<ServiceId>,
    /// Whether it was young when it was read.
    is_young: bool,
}

impl Row {
    /// Returns whether the process may hold a card. Threads of the kernel descend from number 2 and hold nothing, and
    /// gpuwhy only looks.
    pub(super) fn may_hold_cards(&self) -> bool {
        self.pid != Pid(2) && self.parent != Pid(2) && !self.is_ours
    }
}

/// The processes that `/proc` lists, by number.
#[derive(Debug, Default)]
pub(crate) struct Index {
    rows: Vec<Row>,
    pids: Vec<Pid>,
    ourselves: Ourselves,
    ticks_per_second: u64,
    /// Grows whenever a row was read, or is gone.
    version: u64,
    /// What the last pass over all has seen in passing, in the order of the rows.
    seen: Vec<Seen>,
    seen_at: Duration,
}

impl Index {
    /// Says how processes of ours are told.
    pub(crate) fn know(&mut self, ourselves: Ourselves) {
        self.ourselves = ourselves;
        self.ticks_per_second = rustix::param::clock_ticks_per_second();
    }

    /// Returns how processes of ours are told.
    pub(super) const fn ourselves(&self) -> &Ourselves {
        &self.ourselves
    }

    /// Lists the processes and reads who their parents are; of those that were listed before only when `all` is wanted,
    /// or when something about them may have changed: the young, and those whose parent has ended.
    ///
    /// # Errors
    /// Fails when the list cannot be had.
    pub(crate) fn refresh(
        &mut self,
        proc: &mut ProcRoot,
        all: bool,
        survivors: &mut Survivors,
    ) -> Result<(), ReadError> {
        proc.pids(&mut self.pids)?;
        let keeps_seen = all && self.pids.len() <= SEEN_MAX;
        self.drop_seen();
        self.seen_at = clock::awake();
        let young_from = self.young_from();
        let known = std::mem::take(&mut self.rows);
        let rows_before = known.len();
        let mut reads = 0_usize;
        let mut known = known.into_iter().peekable();
        self.rows.reserve(self.pids.len());
        for pid in &self.pids {
            while known.next_if(|row| row.pid < *pid).is_some() {}
            if let Some(row) = known.next_if(|row| row.pid == *pid)
                && !all
                && !row.is_young
                && (row.parent.0 == 0 || self.pids.binary_search(&row.parent).is_ok())
            {
                self.rows.push(row);
                continue;
            }
            // One that ended meanwhile, or that we may not see, has no row.
            let Ok(Ok(stat)) = proc.read_of(*pid, "stat").map(stat) else {
                continue;
            };
            reads += 1;
            survivors.consider(&stat);
            let seen = keeps_seen.then(|| Seen::of(&stat));
            let row = row_of(*pid, &stat, young_from);
            let is_ours = self.ourselves.may_be(&stat) && self.ourselves.are(proc, *pid);
            self.rows.push(Row { is_ours, ..row });
            self.seen.extend(seen);
        }
        if reads > 0 || self.rows.len() != rows_before {
            self.version += 1;
        }
        Ok(())
    }

    /// Returns a number that is another one after any change of the list.
    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// Reads a process again whose number turned out to belong to another one than the one listed.
    pub(super) fn read_anew(&mut self, proc: &mut ProcRoot, pid: Pid) {
        self.drop_seen();
        self.version += 1;
        let place = self.rows.binary_search_by_key(&pid, |row| row.pid);
        let young_from = self.young_from();
        let found = proc.read_of(pid, "stat").ok().and_then(|bytes| stat(bytes).ok());
        let row = found.map(|stat| (row_of(pid, &stat, young_from), self.ourselves.may_be(&stat)));
        let row = row.map(|(row, may_be)| Row { is_ours: may_be && self.ourselves.are(proc, pid), ..row });
        match (place, row) {
            (Ok(place), Some(row)) => self.rows[place] = row,
            (Ok(place), None) => {
                self.rows.remove(place);
            }
            (Err(place), Some(row)) => self.rows.insert(place, row),
            (Err(_), None) => {}
        }
    }

    /// Returns the moment, in clock ticks since boot, from which on a process that started is young.
    fn young_from(&self) -> u64 {
        let ticks_per_second = self.ticks_per_second.max(1);
        let now = clock::now().boot_ns / (1_000_000_000 / ticks_per_second);
        now.saturating_sub(YOUNG.as_secs() * ticks_per_second)
    }

    /// Returns what the last pass over all has seen of a process, should that be no older than given.
    pub(super) fn seen(&self, pid: Pid, age: Duration) -> Option<(&Row, &Seen)> {
        if clock::since(self.seen_at) > age {
            return None;
        }
        let place = self.rows.binary_search_by_key(&pid, |row| row.pid).ok()?;
        Some((&self.rows[place], self.seen.get(place)?))
    }

    /// Lets go of what was seen in passing.
    pub(super) fn drop_seen(&mut self) {
        self.seen = Vec::new();
    }

    /// Returns the services of which processes are there.
    pub(crate) fn services(&self) -> RunningServices {
        let mut running = RunningServices::default();
        for service in self.rows.iter().filter_map(|row| row.service) {
            running.saw(service);
        }
        running
    }

    /// Returns the processes that may hold a card.
    pub(crate) fn may_hold_cards(&self) -> Vec<Pid> {
        self.rows.iter().filter(|row| row.may_hold_cards()).map(|row| row.pid).collect()
    }

    /// Returns how many processes are listed.
    pub(super) fn listed(&self) -> u64 {
        self.pids.len() as u64
    }

    /// Returns every process, by number.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns a process by its number.
    pub(super) fn row(&self, pid: Pid) -> Option<&Row> {
        self.rows.binary_search_by_key(&pid, |row| row.pid).ok().map(|place| &self.rows[place])
    }
}

fn row_of(pid: Pid, stat: &Stat<'_>, young_from: u64) -> Row {
    // The dead serve nobody.
    let is_alive =
        stat.state.is_some_and(|state| !matches!(state, ProcessState::Zombie | ProcessState::Dead));
    Row {
        pid,
        parent: stat.parent,
        start_ticks: stat.start_ticks,
        is_ours: false,
        service: if is_alive { service_of(stat.raw_name()) } else { None },
        is_young: stat.start_ticks > young_from,
    }
}

#[cfg(test)]
mod tests {
    use super::Index;
    use crate::nvml::Survivors;
    use crate::proc::ProcRoot;
    use gpuwhy_model::process::Pid;
    use std::path::Path;

    fn write_stat(root: &Path, pid: u32, parent: u32) {
        let directory = root.join(pid.to_string());
        std::fs::create_dir_all(&directory).unwrap();
        let stat = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 {} 0 0\n", pid * 10);
        std::fs::write(directory.join("stat"), stat).unwrap();
    }

    #[test]
    fn new_processes_are_found_and_ended_ones_forgotten() {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent) in [(1, 0), (10, 1), (20, 10)] {
            write_stat(root.path(), pid, parent);
        }
        // A process that ends while it is read, and something that is no process.
        std::fs::create_dir(root.path().join("15")).unwrap();
        std::fs::create_dir(root.path().join("sys")).unwrap();
        let mut proc = ProcRoot::open(root.path()).unwrap();
        let mut index = Index::default();
        index.refresh(&mut proc, true, &mut Survivors::default()).unwrap();
        assert_eq!(index.rows().iter().map(|row| row.pid.0).collect::<Vec<_>>(), [1, 10, 20]);
        assert_eq!(index.listed(), 4);

        write_stat(root.path(), 12, 10);
        write_stat(root.path(), 20, 1);
        std::fs::remove_dir_all(root.path().join("10")).unwrap();
        index.refresh(&mut proc, false, &mut Survivors::default()).unwrap();
        assert_eq!(index.rows().iter().map(|row| row.pid.0).collect::<Vec<_>>(), [1, 12, 20]);
        assert_eq!(index.row(Pid(20)).unwrap().parent, Pid(1), "read again, for its parent has ended");
        write_stat(root.path(), 20, 12);
        index.refresh(&mut proc, false, &mut Survivors::default()).unwrap();
        assert_eq!(index.row(Pid(20)).unwrap().parent, Pid(1), "read before");
        index.refresh(&mut proc, true, &mut Survivors::default()).unwrap();
        assert_eq!(index.row(Pid(20)).unwrap().parent, Pid(12));
        assert_eq!(index.row(Pid(20)).unwrap().start_ticks, 200);
    }
}
