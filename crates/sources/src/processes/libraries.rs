//! Which libraries of CUDA and of frameworks GPU processes have loaded, read once of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpuwhy_formats::proc;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ProcessSample;

use super::limits::LIBRARIES_PER_LOOK;
use super::tree::Role;
use crate::proc::{Aside, ProcRoot, reading};

/// Which process, exactly.
type Key = (Pid, u64);

/// The libraries that are known so far. The list of mappings belongs to the memory of the process, and is read aside.
#[derive(Debug)]
pub(super) struct Libraries {
    known: BTreeMap<Key, Reading<Vec<String>>>,
    reader: Aside<Pid, Reading<Vec<String>>>,
}

impl Libraries {
    pub(super) fn new(proc_root: &Path) -> Self {
        Self { known: BTreeMap::new(), reader: Aside::new(proc_root, loaded) }
    }

    /// Reads the libraries of GPU processes that are not known yet, of a few at each look, and writes all that are known
    /// into the samples.
    pub(super) fn write(&mut self, samples: &mut [ProcessSample], roles: &BTreeMap<Pid, Role>) {
        let key = |sample: &ProcessSample| (sample.pid, sample.start_ticks);
        let is_client = |sample: &&ProcessSample| roles.get(&sample.pid) == Some(&Role::Client);
        let clients: BTreeSet<Key> = samples.iter().filter(is_client).map(key).collect();
        self.known.retain(|known, _| clients.contains(known));
        let unknown = clients.iter().filter(|client| !self.known.contains_key(client));
        let wishes: Vec<Key> = unknown.take(LIBRARIES_PER_LOOK).copied().collect();
        let pids: Vec<Pid> = wishes.iter().map(|(pid, _)| *pid).collect();
        let answers = if pids.is_empty() { Vec::new() } else { self.reader.read(&pids) };
        for (wish, answer) in wishes.into_iter().zip(answers) {
            self.known.insert(wish, answer.unwrap_or_else(Reading::Failed));
        }
        for sample in samples {
            if let Some(libraries) = self.known.get(&key(sample)) {
                sample.libraries = libraries.clone();
            }
        }
    }
}

/// Called in a thread of its own: it may never return.
fn loaded(proc: &mut ProcRoot, pid: Pid) -> Reading<Vec<String>> {
    reading(proc.read_of_many(pid, "maps").map(proc::libraries))
}
