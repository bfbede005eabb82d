//! All processes, with their parents: one pass over `/proc/*/stat`, then only what is new.

use gpuwhy_formats::proc::stat;
use gpuwhy_model::process::Pid;

use super::ourselves::Ourselves;
use crate::file::ReadError;
use crate::nvml::Survivors;
use crate::proc::ProcRoot;

/// One process of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) start_ticks: u64,
    /// Whether it is a gpuwhy: this one, or another.
    pub(super) is_ours: bool,
}

/// The processes that `/proc` lists, by number.
#[derive(Debug, Default)]
pub(crate) struct Index {
    rows: Vec<Row>,
    pids: Vec<Pid>,
    ourselves: Ourselves,
}

impl Index {
    /// Says how processes of ours are told.
    pub(crate) fn know(&mut self, ourselves: Ourselves) {
        self.ourselves = ourselves;
    }

    /// Returns how processes of ours are told.
    pub(super) const fn ourselves(&self) -> &Ourselves {
        &self.ourselves
    }

    /// Lists the processes and reads who their parents are; of those that were listed before only when `all` is wanted.
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
        let known = std::mem::take(&mut self.rows);
        let mut known = known.into_iter().peekable();
        self.rows.reserve(self.pids.len());
        for pid in &self.pids {
            while known.next_if(|row| row.pid < *pid).is_some() {}
            if let Some(row) = known.next_if(|row| row.pid == *pid)
                && !all
            {
                self.rows.push(row);
                continue;
            }
            // One that ended meanwhile, or that we may not see, has no row.
            let Ok(stat) = proc.read_of(*pid, "stat").map(stat) else {
                continue;
            };
            if let Ok(stat) = stat {
                survivors.consider(&stat);
                let may_be_ours = self.ourselves.may_be(&stat);
                let (parent, start_ticks) = (stat.parent, stat.start_ticks);
                let is_ours = may_be_ours && self.ourselves.are(proc, *pid);
                self.rows.push(Row { pid: *pid, parent, start_ticks, is_ours });
            }
        }
        Ok(())
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
        assert_eq!(index.row(Pid(20)).unwrap().parent, Pid(10), "read before");
        index.refresh(&mut proc, true, &mut Survivors::default()).unwrap();
        assert_eq!(index.row(Pid(20)).unwrap().parent, Pid(1));
        assert_eq!(index.row(Pid(20)).unwrap().start_ticks, 200);
    }
}
