//! Who a process is: what does not change while it runs one program, read once.

use std::collections::BTreeMap;
use std::path::Path;

use gpuwhy_formats::proc::{self, Status};
use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{Owner, ProcessRole, ProcessSample};

use super::tree::Role;
use crate::proc::{Aside, ProcRoot, ProcessDirectory, counters, reading};

/// Who looks, and how users are called.
#[derive(Debug, Default)]
pub(crate) struct People {
    /// Effective user id of this process.
    pub(crate) viewer: u32,
    /// Whether the machine lets everybody see everybody's command lines.
    pub(crate) command_lines_are_open: bool,
    /// Names by user id.
    pub(crate) names: BTreeMap<u32, String>,
}

impl People {
    /// Returns whether the viewer may see what belongs to anybody.
    pub(super) const fn may_see_all(&self) -> bool {
        self.viewer == 0
    }

    /// Returns whether the viewer may see what belongs to a user.
    pub(super) fn may_see(&self, uid: Option<u32>) -> bool {
        may_see(self.viewer, uid)
    }

    fn name(&self, uid: u32) -> String {
        self.names.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }
}

/// Root sees all, everybody else what is his own.
fn may_see(viewer: u32, owner: Option<u32>) -> bool {
    viewer == 0 || owner == Some(viewer)
}

/// Who a process is.
#[derive(Debug, Clone)]
struct Description {
    start_ticks: u64,
    /// A process that starts another program gets another name.
    name: String,
    found: Found,
    user: Reading<String>,
    /// The arguments, or what stands for them where they may not be shown.
    command: Reading<CommandLine>,
    role: Option<ProcessRole>,
    owner: Owner,
}

/// What the files of a process say about who it is.
#[derive(Debug, Clone, Default)]
struct Found {
    owner: Option<u32>,
    uid: Reading<u32>,
    command: Reading<CommandLine>,
    executable: Reading<String>,
    cgroups: Reading<BTreeMap<String, String>>,
    environment: Reading<BTreeMap<String, String>>,
    namespace_pids: Reading<Vec<u32>>,
    /// The whole status file, where it was read: what it says of memory is true for this look.
    status: Reading<Status>,
}

/// Whom to describe, and how.
#[derive(Debug, Clone, Copy)]
struct Wish {
    pid: Pid,
    role: Role,
    viewer: u32,
    /// Whether everybody's arguments may be shown.
    command_lines_are_open: bool,
}

impl Wish {
    /// Returns whether the arguments of an owner's process may be shown, masked.
    fn may_show_arguments(&self, owner: Option<u32>) -> bool {
        self.command_lines_are_open || may_see(self.viewer, owner)
    }
}

/// The descriptions that were read so far.
#[derive(Debug)]
pub(super) struct Descriptions {
    known: BTreeMap<Pid, Description>,
    reader: Aside<Wish, Found>,
}

impl Descriptions {
    pub(super) fn new(proc_root: &Path) -> Self {
        Self { known: BTreeMap::new(), reader: Aside::new(proc_root, describe) }
    }

    /// Describes the processes that are not described yet, and writes all descriptions into the samples. Children with
    /// a name of their own, such as loaders have, are left out when it is to be `brief`: the name tells enough.
    pub(super) fn write(
        &mut self,
        proc: &mut ProcRoot,
        people: &People,
        samples: &mut [ProcessSample],
        roles: &BTreeMap<Pid, Role>,
        brief: bool,
    ) {
        self.known.retain(|pid, _| roles.contains_key(pid));
        let asked = samples.iter().filter(|_| brief);
        let names: BTreeMap<Pid, &str> = asked.map(|sample| (sample.pid, sample.name.as_str())).collect();
        let role_of = |sample: &ProcessSample| roles.get(&sample.pid).copied().unwrap_or(Role::Ancestor);
        let is_left_out = |sample: &ProcessSample| {
            let has_own_name = || names.get(&sample.parent).is_some_and(|parent| *parent != sample.name);
            brief && matches!(role_of(sample), Role::Descendant(_)) && has_own_name()
        };
        let is_unknown = |sample: &ProcessSample| !self.is_known(sample) && !is_left_out(sample);
        let unknown: Vec<usize> = (0..samples.len()).filter(|place| is_unknown(&samples[*place])).collect();
        let wish = |place: &usize| Wish {
            pid: samples[*place].pid,
            role: role_of(&samples[*place]),
            viewer: people.viewer,
            command_lines_are_open: people.command_lines_are_open,
        };
        let wishes: Vec<Wish> = unknown.iter().map(wish).collect();
        let answers = self.reader.read(&wishes);
        for ((place, wish), answer) in unknown.into_iter().zip(&wishes).zip(answers) {
            let sample = &mut samples[place];
            let mut found = answer.unwrap_or_else(|failure| without_memory(proc, *wish, &failure));
            counters::write_status(sample, &std::mem::take(&mut found.status));
            let user = found.uid.as_ref().map(|uid| people.name(*uid));
            let (start_ticks, name) = (sample.start_ticks, sample.name.clone());
            self.known.insert(sample.pid, Description::new(start_ticks, name, found, user));
        }
        for sample in samples {
            match self.known.get(&sample.pid) {
                Some(known) => known.write(sample),
                None => sample.role = proc::role(&sample.name, &sample.command),
            }
        }
    }

    /// Returns the owner of a process that is described.
    pub(super) fn owner(&self, pid: Pid) -> Option<u32> {
        self.known.get(&pid).and_then(|known| known.found.owner)
    }

    fn is_known(&self, sample: &ProcessSample) -> bool {
        self.known
            .get(&sample.pid)
            .is_some_and(|known| known.start_ticks == sample.start_ticks && known.name == sample.name)
    }
}

impl Description {
    fn new(start_ticks: u64, name: String, mut found: Found, user: Reading<String>) -> Self {
        let command = if found.command.is_not_in_source() {
            // Another user's arguments are not shown; his program is.
            let program = found.executable.known().unwrap_or(&name);
            Reading::Known(CommandLine::program_only(program))
        } else {
            std::mem::take(&mut found.command)
        };
        let role = proc::role(&name, &command);
        let owner = proc::owner(&found.cgroups, &found.environment);
        Self { start_ticks, name, found, user, command, role, owner }
    }

    fn write(&self, sample: &mut ProcessSample) {
        sample.uid = self.found.uid.clone();
        sample.user = self.user.clone();
        sample.executable = self.found.executable.clone();
        sample.cgroups = self.found.cgroups.clone();
        sample.environment = self.found.environment.clone();
        sample.namespace_pids = self.found.namespace_pids.clone();
        sample.command = self.command.clone();
        sample.role = self.role;
        sample.owner = self.owner.clone();
    }
}

/// Describes one process. Called in a thread of its own: it may never return.
fn describe(proc: &mut ProcRoot, wish: Wish) -> Found {
    let Ok(directory) = ProcessDirectory::open(proc, wish.pid) else {
        return vanished();
    };
    let mut found = from_outside(proc, wish, &directory);
    if wish.may_show_arguments(found.owner) {
        // The dead and threads of the kernel have no arguments.
        found.command = directory.in_memory(proc, "cmdline", proc::command_line).and_then(|command| {
            if command.arguments().is_empty() { Reading::Unsupported } else { Reading::Known(command) }
        });
    }
    if wish.role == Role::Client {
        found.environment = directory.in_memory(proc, "environ", proc::environment);
    }
    found
}

/// Describes one process without looking into its memory, after that has failed.
fn without_memory(proc: &mut ProcRoot, wish: Wish, failure: &Failure) -> Found {
    let Ok(directory) = ProcessDirectory::open(proc, wish.pid) else {
        return vanished();
    };
    let mut found = from_outside(proc, wish, &directory);
    if wish.may_show_arguments(found.owner) {
        found.command = Reading::Failed(failure.clone());
    }
    if wish.role == Role::Client {
        found.environment = Reading::Failed(failure.clone());
    }
    found
}

/// Reads what the kernel itself keeps of a process: nothing here waits for the process. Of children of GPU processes
/// only their owner is read: there may be hundreds, all alike.
fn from_outside(proc: &mut ProcRoot, wish: Wish, directory: &ProcessDirectory) -> Found {
    let owner = directory.owner().ok();
    let mut found = Found { owner, uid: Reading::from(owner), ..Found::default() };
    if matches!(wish.role, Role::Descendant(_)) && wish.may_show_arguments(owner) {
        return found;
    }
    found.executable = directory.executable(proc);
    found.cgroups = directory.cgroups(proc);
    if wish.role == Role::Client {
        // The directory belongs to the user in whose name the process acts; the file says who started it.
        found.status = reading(directory.status(proc));
        let status = found.status.as_ref();
        found.uid = status.clone().and_then(|status| Reading::from(status.uid)).or(found.uid);
        found.namespace_pids = status
            .and_then(|status| status.namespace_pids.clone().map_or(Reading::Unsupported, Reading::Known));
    }
    found
}

fn vanished() -> Found {
    let gone = Failure::Vanished;
    Found {
        owner: None,
        uid: Reading::Failed(gone.clone()),
        command: Reading::Failed(gone.clone()),
        executable: Reading::Failed(gone.clone()),
        cgroups: Reading::Failed(gone.clone()),
        environment: Reading::Failed(gone.clone()),
        namespace_pids: Reading::Failed(gone.clone()),
        status: Reading::Failed(gone),
    }
}
