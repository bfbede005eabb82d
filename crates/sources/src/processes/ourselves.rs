//! Which processes are gpuwhy itself: they look at the work on cards and are no part of it.

use gpuwhy_formats::proc::Stat;
use gpuwhy_model::process::Pid;

use crate::nvml::is_name_of_a_child;
use crate::proc::ProcRoot;

/// A file, as the system tells files apart: device and number.
pub(crate) type FileIdentity = (u64, u64);

/// How processes of ours are told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ourselves {
    /// This process, by its number in the `/proc` that is read.
    own: Option<Pid>,
    /// The program that we are, and that asks drivers for us and for others.
    program: Option<FileIdentity>,
}

impl Ourselves {
    /// Finds out who this process is in a `/proc`.
    pub(crate) fn of(proc: &ProcRoot, program: Option<FileIdentity>) -> Self {
        let own = proc.link("self").ok().and_then(|link| std::str::from_utf8(&link).ok()?.parse().ok());
        Self { own: own.map(Pid), program }
    }

    /// Returns whether a process may be ours by its name alone. Anybody can take a name.
    pub(super) fn may_be(&self, stat: &Stat<'_>) -> bool {
        let name = stat.raw_name();
        // A child of ours is called `exe` until it makes its first call.
        self.own == Some(stat.pid) || is_name_of_a_child(name) || matches!(name, b"gpuwhy" | b"exe")
    }

    /// Returns whether a process that may be ours by its name is: this one, or one that runs the same program.
    pub(super) fn are(&self, proc: &ProcRoot, pid: Pid) -> bool {
        self.own == Some(pid) || self.program.is_some() && proc.program_of(pid) == self.program
    }

    /// Returns whether this is the process that looks.
    pub(super) fn is_own(&self, pid: Pid) -> bool {
        self.own == Some(pid)
    }
}
