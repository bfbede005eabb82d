//! How a process of the box comes to its place: groups, namespace, user, death with its keeper, then the program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use rustix::thread::CpuSet;
use serde::{Deserialize, Serialize};

use super::namespace::{self, NamespaceError};
use super::{BoxDirectory, control_group};

/// Everything needed to become one process of a box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The process that holds the namespace open.
    pub anchor: u32,
    /// The `cgroup.procs` files of its groups.
    pub groups: Vec<PathBuf>,
    /// CPUs that it may run on; all when absent.
    pub cpus: Option<Vec<usize>>,
    /// User and group id to take; the caller's when absent.
    pub user: Option<u32>,
    /// The program's file.
    pub program: PathBuf,
    /// Its command line, `argv[0]` first.
    pub command: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Where standard output and error go; the caller's when absent. Standard input is always the caller's.
    pub log: Option<PathBuf>,
    /// Whether it belongs to the box: it leads a session of its own, and dies with the keeper that launches it.
    pub is_member: bool,
    /// The box directory, when it shall see no process but its own.
    #[serde(default)]
    pub own_pids: Option<PathBuf>,
}

/// Why a process could not come to its place.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A control group cannot be joined.
    #[error(transparent)]
    Limit(#[from] control_group::LimitError),
    /// The user cannot be changed, or another step of the kernel failed.
    #[error("cannot {what}")]
    Step {
        /// What was attempted.
        what: &'static str,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The program cannot be run.
    #[error("cannot run `{}`", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

fn step(what: &'static str) -> impl FnOnce(io::Error) -> LaunchError {
    move |source| LaunchError::Step { what, source }
}

impl Launch {
    /// Becomes the program; returns only when that fails.
    pub fn become_it(&self) -> LaunchError {
        match self.prepare() {
            Err(error) => error,
            Ok(mut command) => LaunchError::Program { program: self.program.clone(), source: command.exec() },
        }
    }

    fn prepare(&self) -> Result<Command, LaunchError> {
        for procs in &self.groups {
            control_group::join(procs)?;
        }
        if let Some(cpus) = &self.cpus {
            let mut set = CpuSet::new();
            for &cpu in cpus {
                set.set(cpu);
            }
            rustix::thread::sched_setaffinity(None, &set)
                .map_err(io::Error::from)
                .map_err(step("pin to cpus"))?;
        }
        namespace::enter(self.anchor)?;
        if let Some(directory) = &self.own_pids {
            namespace::leave_processes(&BoxDirectory::new(directory))?;
        }
        let log = match &self.log {
            Some(path) => {
                let log =
                    File::options().create(true).append(true).open(path).map_err(step("open the log"))?;
                Some((log.try_clone().map_err(step("open the log"))?, log))
            }
            None => None,
        };
        if let Some(user) = self.user {
            take_user(user).map_err(step("take the user"))?;
        }
        // Taking a user clears the death signal, so this comes after it.
        if self.is_member {
            rustix::process::setsid().map_err(io::Error::from).map_err(step("lead a session"))?;
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
                .map_err(step("die with the keeper"))?;
        }
        let mut command = Command::new(&self.program);
        let (name, arguments) = match self.command.split_first() {
            Some((name, arguments)) => (name.as_str(), arguments),
            None => ("", &[][..]),
        };
        command.arg0(name).args(arguments).env_clear().envs(&self.environment);
        if let Some((output, errors)) = log {
            command.stdout(output).stderr(errors);
        }
        Ok(command)
    }
}

fn take_user(id: u32) -> io::Result<()> {
    let (user, group) = (rustix::process::Uid::from_raw(id), rustix::process::Gid::from_raw(id));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    // A person's files are readable by others, as on most machines.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    Ok(())
}

/// Reads a launch from its file.
///
/// # Errors
/// Fails when the file cannot be read or is no launch.
pub fn read(path: &Path) -> io::Result<Launch> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}
