//! Starting the child and ending it.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Failure;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpgid, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};
use rustix::time::Timespec;

use super::driver::ChildProgram;
use super::line::Lines;
use super::protocol::CHILD_COMMAND;

/// Enough for a thread that starts one process and then only waits.
const KEEPER_STACK: usize = 128 * 1024;

/// A running child.
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) lines: Lines,
    pub(super) heartbeat: OwnedFd,
    child: Child,
    handle: Option<OwnedFd>,
    /// Whether its remains were collected: from then on its number may be another's.
    is_collected: bool,
    /// Dropped last: then the keeper thread ends, and with it the child, should it still be there.
    _keeper: mpsc::Sender<()>,
}

/// Starts the child.
///
/// The parent-death signal comes when the thread that made the child ends, so a thread of its own makes it, which ends
/// when the [`Process`] is dropped.
pub(super) fn start(program: &ChildProgram, library: Option<PathBuf>) -> Result<Process, Failure> {
    let failure = |error: io::Error| Failure::Io {
        path: program.path.display().to_string(),
        error: format!("cannot start the process that asks the driver: {error}"),
    };
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|error| failure(error.into()))?;
    let heartbeat =
        memfd_create("gpuwhy-heartbeat", MemfdFlags::CLOEXEC).map_err(|error| failure(error.into()))?;
    let their_heartbeat = heartbeat.try_clone().map_err(failure)?;
    let mut arguments: Vec<OsString> = program.arguments_before.clone();
    arguments.push(CHILD_COMMAND.into());
    arguments.push(std::process::id().to_string().into());
    arguments.extend(library.map(OsString::from));
    let mut command = Command::new(&program.path);
    command
        .arg0("gpuwhy")
        .args(arguments)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::from(their_heartbeat))
        .stderr(Stdio::null())
        // A Ctrl-C is for us, who decide what becomes of the child; our death is its death in any case. And what the
        // library starts can be told by its group.
        .process_group(0);

    let (keeper, ended) = mpsc::channel::<()>();
    let (report, reported) = mpsc::channel();
    std::thread::Builder::new()
        .name("nvml-keeper".to_owned())
        .stack_size(KEEPER_STACK)
        .spawn(move || {
            let _ = report.send(command.spawn());
            drop(command);
            // Nothing is ever sent: this returns when the other end is dropped.
            let _ = ended.recv();
        })
        .map_err(failure)?;
    let child = reported.recv().map_err(|error| failure(io::Error::other(error)))?.map_err(failure)?;
    let pid = Pid(child.id());
    let handle = raw_pid(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    Ok(Process {
        pid,
        lines: Lines::new(ours),
        heartbeat,
        child,
        handle,
        is_collected: false,
        _keeper: keeper,
    })
}

fn raw_pid(pid: Pid) -> Option<rustix::process::Pid> {
    i32::try_from(pid.0).ok().and_then(rustix::process::Pid::from_raw)
}

impl Process {
    /// Returns what becomes readable when the child ends; none before Linux 5.3.
    pub(super) const fn handle(&self) -> Option<&OwnedFd> {
        self.handle.as_ref()
    }

    /// Returns whether the child has ended; its remains stay.
    pub(super) fn has_ended(&self) -> bool {
        !matches!(self.remains(), Ok(None))
    }

    /// Looks for the remains of the child without collecting them; an error where somebody else has.
    fn remains(&self) -> rustix::io::Result<Option<WaitIdStatus>> {
        let pid = raw_pid(self.pid).ok_or(rustix::io::Errno::CHILD)?;
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
    }

    /// Kills the child with all that the library started, and waits for its end, but no longer than given. Returns
    /// whether it is gone.
    pub(super) fn end(&mut self, wait: Duration) -> bool {
        if self.is_gone() {
            return true;
        }
        self.kill_group();
        if let Some(handle) = &self.handle {
            let _ = pidfd_send_signal(handle, Signal::KILL);
            let timeout = Timespec::try_from(wait).ok();
            let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], timeout.as_ref());
        } else {
            // Before Linux 5.3 there is no handle. The process is our own unreaped child: its number is its own.
            let _ = self.child.kill();
            std::thread::sleep(wait);
        }
        self.is_gone()
    }

    /// Returns whether the child has ended; what it left running is killed then, and its remains are collected.
    pub(super) fn is_gone(&mut self) -> bool {
        self.how_it_ended().is_some()
    }

    /// Returns how the child ended, if it has; see [`Self::is_gone`].
    pub(super) fn how_it_ended(&mut self) -> Option<String> {
        if !self.is_collected && self.has_ended() {
            self.kill_group();
            self.is_collected = true;
        }
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Kills the child's process group: itself, and processes that the library has forked and that did not leave.
    ///
    /// The group's number is the child's, and as long as the child is not collected nobody else can be given it.
    fn kill_group(&self) {
        let Some(pid) = raw_pid(self.pid) else {
            return;
        };
        let is_ours = !self.is_collected && self.remains().is_ok();
        if is_ours && getpgid(Some(pid)) == Ok(pid) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
