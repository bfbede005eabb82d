//! Who a process is: what does not change while it runs one program, read once.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ProcessSample;

use super::limits::DESCRIBED_AT_ONCE;
use super::tree::Role;
use crate::proc::{MemoryReader, ProcRoot, ProcessDirectory, Words, reading};

/// Who a process is.
#[derive(Debug, Clone)]
struct Description {
    start_ticks: u64,
    /// A process that starts another program gets another name.
    name: String,
    uid: Reading<u32>,
    user: Reading<String>,
    command: Reading<CommandLine>,
    executable: Reading<String>,
    cgroups: Reading<BTreeMap<String, String>>,
    environment: Reading<BTreeMap<String, String>>,
    namespace_pids: Reading<Vec<u32>>,
}

/// Who looks, and how users are called.
#[derive(Debug, Default)]
pub(crate) struct People {
    /// Effective user id of this process.
    pub(crate) viewer: u32,
    /// Names by user id.
    pub(crate) names: BTreeMap<u32, String>,
}

impl People {
    /// Returns whether the viewer may see what belongs to a user.
    pub(super) fn may_see(&self, uid: Option<u32>) -> bool {
        self.viewer == 0 || uid == Some(self.viewer)
    }

    fn name(&self, uid: u32) -> String {
        self.names.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }
}

/// The descriptions that were read so far.
#[derive(Debug)]
pub(super) struct Descriptions {
    known: BTreeMap<Pid, Description>,
    memory: MemoryReader,
}

/// A process whose description is under way.
struct Begun {
    place: usize,
    description: Description,
    /// What stands for the arguments when they may not be shown.
    program: String,
    may_see: bool,
}

impl Descriptions {
    pub(super) fn new(memory: MemoryReader) -> Self {
        Self { known: BTreeMap::new(), memory }
    }

    /// Describes the processes that are not described yet, and writes all descriptions into the samples.
    pub(super) fn write(
        &mut self,
        proc: &mut ProcRoot,
        people: &People,
        samples: &mut [ProcessSample],
        roles: &BTreeMap<Pid, Role>,
    ) {
        self.known.retain(|pid, _| roles.contains_key(pid));
        let unknown: Vec<usize> =
            (0..samples.len()).filter(|place| !self.is_known(&samples[*place])).collect();
        for places in unknown.chunks(DESCRIBED_AT_ONCE) {
            self.describe(proc, people, samples, roles, places);
        }
        for sample in samples {
            if let Some(known) = self.known.get(&sample.pid) {
                known.clone_into(sample);
            }
        }
    }

    /// Returns the owner of a process that is described.
    pub(super) fn owner(&self, pid: Pid) -> Option<u32> {
        self.known.get(&pid).and_then(|known| known.uid.known().copied())
    }

    fn is_known(&self, sample: &ProcessSample) -> bool {
        self.known
            .get(&sample.pid)
            .is_some_and(|known| known.start_ticks == sample.start_ticks && known.name == sample.name)
    }

    fn describe(
        &mut self,
        proc: &mut ProcRoot,
        people: &People,
        samples: &mut [ProcessSample],
        roles: &BTreeMap<Pid, Role>,
        places: &[usize],
    ) {
        let mut begun = Vec::with_capacity(places.len());
        let mut wishes = Vec::with_capacity(places.len());
        for place in places {
            let sample = &samples[*place];
            let Ok(directory) = ProcessDirectory::open(proc, sample.pid) else {
                continue;
            };
            // Given to another process since: that one is described at the next look.
            if directory.stat(proc).map_or(0, |stat| stat.start_ticks) != sample.start_ticks {
                continue;
            }
            let role = roles.get(&sample.pid).copied().unwrap_or(Role::Ancestor);
            let one = begin(proc, people, sample, *place, role, &directory);
            wishes.push(Words { directory, command: one.may_see, environment: role == Role::Client });
            begun.push(one);
        }
        for (mut one, found) in begun.into_iter().zip(self.memory.read(wishes)) {
            one.description.command = if one.may_see {
                found.command
            } else {
                Reading::Known(CommandLine::program_only(&one.program))
            };
            one.description.environment = found.environment;
            self.known.insert(samples[one.place].pid, one.description);
        }
    }
}

/// Reads all of a description that does not lie in the memory of the process.
fn begin(
    proc: &mut ProcRoot,
    people: &People,
    sample: &ProcessSample,
    place: usize,
    role: Role,
    directory: &ProcessDirectory,
) -> Begun {
    let owner = directory.owner().ok();
    let executable = directory.executable(proc);
    let mut description = Description {
        start_ticks: sample.start_ticks,
        name: sample.name.clone(),
        uid: Reading::from(owner),
        user: Reading::default(),
        command: Reading::default(),
        executable: executable.clone(),
        cgroups: Reading::default(),
        environment: Reading::default(),
        namespace_pids: Reading::default(),
    };
    if role == Role::Client {
        // The directory belongs to the user in whose name the process acts; the file says who started it.
        let status = reading(directory.status(proc));
        description.uid = status.as_ref().and_then(|status| Reading::from(status.uid)).or(description.uid);
        description.namespace_pids = status.and_then(|status| match status.namespace_pids {
            Some(pids) => Reading::Known(pids),
            None => Reading::Unsupported,
        });
    }
    if !matches!(role, Role::Descendant(_)) {
        description.cgroups = directory.cgroups(proc);
    }
    description.user = description.uid.as_ref().map(|uid| people.name(*uid));
    let program = executable.into_known().unwrap_or_else(|| sample.name.clone());
    Begun { place, description, program, may_see: people.may_see(owner) }
}

impl Description {
    fn clone_into(&self, sample: &mut ProcessSample) {
        sample.uid = self.uid.clone();
        sample.user = self.user.clone();
        sample.command = self.command.clone();
        sample.executable = self.executable.clone();
        sample.cgroups = self.cgroups.clone();
        sample.environment = self.environment.clone();
        sample.namespace_pids = self.namespace_pids.clone();
    }
}
