//! The process that brings one box up, watches over it, and takes it down again.
//!
//! It stops when it is told so over the box's control socket, or when its lifeline (standard input) ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};

use super::BoxDirectory;
use super::ability::{Abilities, Ability, DELAY_ACCOUNTING, Inability};
use super::announcement::Announcements;
use super::container;
use super::control_group::{self, Limit};
use super::data_set;
use super::enlist;
use super::error::PlaceError;
use super::journal::{self, Entry, Journal};
use super::landscape;
use super::launch::Launch;
use super::plan::{Member, Plan};
use super::process;
use super::programs;
use super::server::Server;
use super::shortage::Shortness;
use super::store::{Mounted, Store};
use super::substitute;
use super::timeline;
use crate::board::Board;
use crate::state::State;
use crate::workloads::truth;

/// What came of bringing a box up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// What the box is called.
    pub name: String,
    /// The process that watches over it.
    pub keeper: u32,
    /// The process that holds its namespace open.
    pub anchor: u32,
    /// The members that were started, and their first processes.
    pub members: BTreeMap<String, u32>,
    /// What this machine cannot show.
    pub cannot_show: Vec<Inability>,
    /// Members that were left out for that reason.
    pub left_out: Vec<String>,
    /// The `cgroup.procs` of the visitor's container.
    #[serde(default)]
    pub visitor_group: Option<PathBuf>,
}

/// How long the members may take until they say that they are ready.
const READY_WITHIN: Duration = Duration::from_mins(1);
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Brings the box up, calls `up`, and keeps it until it is told to stop; then takes it down.
///
/// # Errors
/// Fails when the box cannot be brought up or not be taken down; what was changed is put back in either case.
pub fn keep(
    directory: &BoxDirectory,
    has_lifeline: bool,
    up: impl FnOnce(&Status),
) -> Result<(), PlaceError> {
    let mut keeper = Keeper {
        directory: directory.clone(),
        program: std::env::current_exe().map_err(failed(Path::new("/proc/self/exe")))?,
        lifeline: io::pipe().map_err(PlaceError::Watch)?,
        helpers: Vec::new(),
        members: BTreeMap::new(),
        shortness: None,
        announcements: None,
    };
    let came_up = keeper.bring_up();
    let kept = match &came_up {
        Ok((status, control)) => {
            up(status);
            keeper.watch(control, has_lifeline)
        }
        Err(_) => Ok(()),
    };
    let taken_down = keeper.take_down();
    came_up?;
    kept?;
    taken_down
}

struct Keeper {
    directory: BoxDirectory,
    /// Our own binary.
    program: PathBuf,
    /// Standard input of every member; it ends when the keeper does, however that comes.
    lifeline: (PipeReader, PipeWriter),
    /// The anchor and the processes behind stores.
    helpers: Vec<Child>,
    members: BTreeMap<String, Child>,
    /// What the kernel says on a machine short of memory.
    shortness: Option<Shortness>,
    /// What the kernel still has to say.
    announcements: Option<Announcements>,
}

impl Keeper {
    fn bring_up(&mut self) -> Result<(Status, UnixListener), PlaceError> {
        let directory = self.directory.clone();
        journal::undo_abandoned()?;
        let plan: Plan = read_json(&directory.plan())?;
        let board = plan.board.resolve()?;
        let mut journal = Journal::begin(&directory)?;
        journal.make_folder_in_memory(&directory.truth())?;
        landscape::lay_out(&directory, &plan, &board)?;
        let abilities = Abilities::look(directory.path());
        if abilities.can_show(Ability::Users) {
            programs::check_reachable(&directory)?;
        }
        let (plan, left_out) = substitute::what_this_machine_can_show(plan, &abilities);
        programs::install(&directory, &plan)?;
        fs::write(directory.board_file(), plan.board.to_toml()?).map_err(failed(&directory.board_file()))?;
        State::create(&directory)?;
        timeline::follow(&directory).map_err(PlaceError::Watch)?;
        self.announcements = Some(Announcements::of(&directory, &plan, &board));
        if let Some(set) = plan.data_set {
            data_set::write(&directory.data_set(), set).map_err(failed(&directory.data_set()))?;
        }
        self.shortness =
            Shortness::begin(&directory, plan.shortage).map_err(failed(&directory.proc_meminfo()))?;
        if abilities.can_show(Ability::DelayAccounting) {
            journal.change_setting(Path::new(DELAY_ACCOUNTING), "1")?;
        }
        let anchor = self.start_anchor(&plan, &board)?;
        if let Some(namespace) = process::mount_namespace(anchor) {
            journal.note(&Entry::Namespace(namespace))?;
        }
        for store in &plan.stores {
            self.start_store(anchor, store)?;
        }
        for server in &plan.servers {
            self.start_server(anchor, server)?;
        }
        let visitor_group = match plan.visitor.container {
            Some(kind) if abilities.can_show(Ability::TaskLimit) => {
                let path = container::group_path(kind, plan.seed, "visitor");
                Some(control_group::make(&mut journal, &path, Limit::Tasks(None))?)
            }
            _ => None,
        };
        for (position, member) in plan.members.iter().enumerate() {
            if member.comes_later {
                self.wait_for_members(&plan.members[..position])?;
            }
            let launch = enlist::prepare(&directory, &mut journal, &plan, member, anchor, &abilities)?;
            let child = self.start_member(&member.name, &launch)?;
            self.members.insert(member.name.clone(), child);
        }
        self.wait_for_members(&plan.members)?;
        let control = directory.control();
        remove_if_there(&control)?;
        let listener = UnixListener::bind(&control).map_err(failed(&control))?;
        let status = Status {
            name: plan.name.clone(),
            keeper: std::process::id(),
            anchor,
            members: self.members.iter().map(|(name, child)| (name.clone(), child.id())).collect(),
            cannot_show: abilities.missing().to_vec(),
            left_out,
            visitor_group,
        };
        write_json(&directory.status(), &status)?;
        Ok((status, listener))
    }

    /// Starts a helper of our own binary and waits for the line with which it says that it is ready.
    fn start_helper(&mut self, kind: &str, arguments: &[String]) -> Result<u32, PlaceError> {
        let log = self.directory.logs().join(format!("{kind}.log"));
        let errors = File::options().create(true).append(true).open(&log).map_err(failed(&log))?;
        let mut child = Command::new(&self.program)
            .arg(kind)
            .arg(self.directory.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(failed(&self.program))?;
        let pid = child.id();
        let mut line = String::new();
        let output = child.stdout.take();
        self.helpers.push(child);
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut line).map_err(failed(&log))?;
        }
        if line.trim() != "ready" {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(PlaceError::Helper { kind: kind.to_owned(), said: said.trim().to_owned() });
        }
        Ok(pid)
    }

    fn start_anchor(&mut self, plan: &Plan, board: &Board) -> Result<u32, PlaceError> {
        let mut arguments = Vec::new();
        for device in landscape::driver_devices(board) {
            arguments.extend(["--device".to_owned(), device]);
        }
        for store in &plan.stores {
            arguments.extend(["--mount-point".to_owned(), store.name.clone()]);
        }
        if let Some(bytes) = plan.shared_memory_bytes {
            arguments.extend(["--shared-memory".to_owned(), bytes.to_string()]);
        }
        self.start_helper("anchor", &arguments)
    }

    fn start_store(&mut self, anchor: u32, store: &Store) -> Result<(), PlaceError> {
        let mounted = Mounted { point: BoxDirectory::mount_point(&store.name), store: store.clone() };
        let file = self.directory.stores().join(format!("{}.json", store.name));
        write_json(&file, &mounted)?;
        let arguments = [file.to_string_lossy().into_owned(), anchor.to_string()];
        self.start_helper("store", &arguments).map(|_| ())
    }

    fn start_server(&mut self, anchor: u32, server: &Server) -> Result<(), PlaceError> {
        let file = self.directory.stores().join(format!("{}.json", server.name));
        write_json(&file, server)?;
        let arguments = [file.to_string_lossy().into_owned(), anchor.to_string()];
        self.start_helper("server", &arguments).map(|_| ())
    }

    fn start_member(&self, name: &str, launch: &Launch) -> Result<Child, PlaceError> {
        let file = self.directory.members().join(format!("{name}.launch.json"));
        write_json(&file, launch)?;
        let lifeline = self.lifeline.0.try_clone().map_err(PlaceError::Watch)?;
        Command::new(&self.program)
            .arg("launch")
            .arg(&file)
            .stdin(lifeline)
            .spawn()
            .map_err(failed(&self.program))
    }

    fn wait_for_members(&mut self, members: &[Member]) -> Result<(), PlaceError> {
        let deadline = Instant::now() + READY_WITHIN;
        for member in members {
            while !truth::is_ready(&self.directory, member) {
                if Instant::now() >= deadline {
                    return Err(PlaceError::NotReady {
                        member: member.name.clone(),
                        said: self.log_of(&member.name),
                    });
                }
                self.reap();
                if !self.members.contains_key(&member.name) && !truth::may_end_early(member) {
                    return Err(PlaceError::Ended {
                        member: member.name.clone(),
                        said: self.log_of(&member.name),
                    });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    fn log_of(&self, member: &str) -> String {
        let path = self.directory.logs().join(format!("{member}.log"));
        fs::read_to_string(path).unwrap_or_default().trim().to_owned()
    }

    /// Waits until somebody says stop; reaps members that end meanwhile, as an init would.
    fn watch(&mut self, control: &UnixListener, has_lifeline: bool) -> Result<(), PlaceError> {
        let lifeline = io::stdin();
        loop {
            let mut waiting = vec![PollFd::new(control, PollFlags::IN)];
            if has_lifeline {
                waiting.push(PollFd::from_borrowed_fd(lifeline.as_fd(), PollFlags::IN));
            }
            let interval = Timespec::try_from(WATCH_INTERVAL)
                .map_err(|_| PlaceError::Watch(io::ErrorKind::InvalidInput.into()))?;
            match rustix::event::poll(&mut waiting, Some(&interval)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {
                    self.reap();
                    self.move_on()?;
                }
                Ok(_) => {
                    let told = !waiting[0].revents().is_empty();
                    if told {
                        return Ok(());
                    }
                    let mut byte = [0];
                    if lifeline.lock().read(&mut byte).map_err(PlaceError::Watch)? == 0 {
                        return Ok(());
                    }
                }
                Err(error) => return Err(PlaceError::Watch(error.into())),
            }
        }
    }

    /// Lets the kernel say what it has to say at this moment.
    fn move_on(&mut self) -> Result<(), PlaceError> {
        if let Some(announcements) = &mut self.announcements {
            announcements.advance().map_err(failed(&self.directory.kernel_log()))?;
        }
        if let Some(shortness) = &self.shortness {
            shortness.advance().map_err(failed(&self.directory.proc_pressure_memory()))?;
        }
        Ok(())
    }

    fn reap(&mut self) {
        self.members.retain(|_, child| matches!(child.try_wait(), Ok(None)));
    }

    fn take_down(&mut self) -> Result<(), PlaceError> {
        // Closing a helper's lifeline ends it; the processes behind stores go with the namespace.
        journal::undo(&self.directory)?;
        for child in self.members.values_mut().chain(&mut self.helpers) {
            child.wait().map_err(PlaceError::Watch)?;
        }
        remove_if_there(&self.directory.status())?;
        remove_if_there(&self.directory.control())
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |source| PlaceError::Io { path, source }
}

fn remove_if_there(path: &Path) -> Result<(), PlaceError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// Reads a JSON file of the box.
///
/// # Errors
/// Fails when it cannot be read or says something else.
pub fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, PlaceError> {
    let bytes = fs::read(path).map_err(failed(path))?;
    serde_json::from_slice(&bytes).map_err(io::Error::from).map_err(failed(path))
}

/// Writes a JSON file of the box, readable by everyone, never seen half written.
///
/// # Errors
/// Fails when it cannot be written.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), PlaceError> {
    let bytes = serde_json::to_vec_pretty(value).map_err(io::Error::from).map_err(failed(path))?;
    let mut draft = PathBuf::from(path);
    draft.set_extension("draft");
    fs::write(&draft, bytes).map_err(failed(&draft))?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o644)).map_err(failed(&draft))?;
    fs::rename(&draft, path).map_err(failed(path))
}
