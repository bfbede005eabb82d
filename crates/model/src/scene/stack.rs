//! Where the threads of programs stand, and where their time goes, as debuggers and samplers show it.

use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;
use crate::process::Pid;
use crate::units::{Seconds, Share};

/// What one thread was doing at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stack {
    /// Its process.
    pub pid: Option<Pid>,
    /// The member of a job, where that is said.
    pub rank: Option<u32>,
    /// The machine, where that is said.
    pub node: Option<String>,
    /// Arguments of its process, masked.
    pub command: Option<String>,
    /// Its name; the first thread of a Python program is `MainThread`.
    pub thread: String,
    /// Its number.
    pub thread_id: Option<u64>,
    /// Whether it ran, and did not wait.
    pub is_active: Option<bool>,
    /// Whether it held the lock of the interpreter.
    pub holds_lock: Option<bool>,
    /// How many processes stood there, where this one stands for several; 0: it stands for itself.
    pub stands_for: u32,
    /// Where it stood, innermost first.
    pub frames: Vec<Frame>,
}

impl Stack {
    /// The name of the first thread of a Python program.
    pub const MAIN: &str = "MainThread";

    /// Returns whether this is the first thread of its program.
    pub fn is_main(&self) -> bool {
        let is_first = self.pid.is_some_and(|pid| self.thread_id == Some(u64::from(pid.0)));
        self.thread == Self::MAIN || is_first && self.thread.is_empty()
    }
}

/// One call on a stack.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Frame {
    /// Its function.
    pub function: String,
    /// The file or library that has it.
    pub file: String,
    /// The line in it.
    pub line: Option<u32>,
}

closed_list! {
    /// What a profile counts.
    #[derive(Default)]
    pub enum ProfileKind {
        /// Functions of the program.
        #[default]
        Functions = "functions",
        /// Calls into the kernel.
        SystemCalls = "system-calls",
    }
}

/// Where the time of a program goes, by function or by call into the kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// What is counted.
    pub kind: ProfileKind,
    /// The process.
    pub pid: Option<Pid>,
    /// Its arguments, masked.
    pub command: Option<String>,
    /// Threads of it that were looked at.
    pub threads: Option<u64>,
    /// Share of time in which some thread held the interpreter's lock.
    pub lock_held: Option<Share>,
    /// Share of time in which some thread ran.
    pub active: Option<Share>,
    /// What takes the time, in the order in which it was shown.
    pub calls: Vec<CallShare>,
}

/// What one function, or one call into the kernel, takes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallShare {
    /// Its name.
    pub function: String,
    /// The file that has it; empty for a call into the kernel.
    pub file: String,
    /// Share of time in it alone; above 1 where several threads run.
    pub own: Share,
    /// Share of time in it and in what it calls.
    pub total: Option<Share>,
    /// Time in it alone.
    pub own_time: Option<Seconds>,
    /// How often it was called.
    pub calls: Option<u64>,
    /// How often it failed.
    pub errors: Option<u64>,
}
