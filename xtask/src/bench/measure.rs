//! Runs one command and measures it: processor time, wall time, memory of it and its children together.
//!
//! This is a hidden subcommand of its own (`cargo xtask __measure`), so that it can run inside an emulated box, and so
//! that the measured command is the only child whose processor time the kernel adds up.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::usage;

/// Time between two looks at the memory.
const MEMORY_INTERVAL: Duration = Duration::from_millis(4);

/// What one run of a command cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Processor time, user and system, of the command and of all children that it waited for, in milliseconds.
    pub(crate) processor_ms: f64,
    /// Time from start to end, in milliseconds.
    pub(crate) wall_ms: f64,
    /// Most memory (PSS) of the command and its children together, in bytes; only where it was looked at.
    pub(crate) memory_bytes: Option<u64>,
    /// Most memory that one process of them had at one time, as the kernel counts it, in bytes: pages that it shares
    /// with others count whole.
    pub(crate) most_resident_bytes: u64,
    /// Exit code; none after a signal.
    pub(crate) exit_code: Option<i32>,
}

/// Runs a command, its stdout thrown away, and prints its [`Cost`] as JSON.
///
/// # Errors
/// Fails when the command cannot be started.
pub(crate) fn print(command_line: &[String], with_memory: bool) -> Result<()> {
    let (program, arguments) = command_line.split_first().context("there is no command to measure")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start `{program}`"))?;
    let memory_bytes = with_memory.then(|| most_memory(child.id()));
    let status = child.wait().with_context(|| format!("cannot wait for `{program}`"))?;
    let wall_ms = milliseconds(start.elapsed());
    let used = usage::of_ended_children()?;
    let cost = Cost {
        wall_ms,
        processor_ms: milliseconds(used.processor),
        memory_bytes,
        most_resident_bytes: used.most_resident_bytes,
        exit_code: status.code(),
    };
    println!("{}", serde_json::to_string(&cost)?);
    Ok(())
}

fn milliseconds(length: Duration) -> f64 {
    length.as_secs_f64() * 1000.0
}

/// Looks at the memory of a process and its descendants until it ends, and returns the most that was seen.
fn most_memory(root: u32) -> u64 {
    let mut family = Family::of(root);
    let mut most = 0;
    while is_running(root) {
        most = most.max(family.memory_now());
        std::thread::sleep(MEMORY_INTERVAL);
    }
    most
}

/// A process and its descendants.
struct Family {
    members: BTreeSet<u32>,
    /// Every other process; each is looked at only once.
    strangers: BTreeSet<u32>,
}

impl Family {
    fn of(root: u32) -> Self {
        Self { members: BTreeSet::from([root]), strangers: BTreeSet::new() }
    }

    /// Returns the memory of all members that live now.
    fn memory_now(&mut self) -> u64 {
        self.adopt();
        self.members.iter().filter_map(|pid| memory_of(*pid)).sum()
    }

    /// Adds processes whose parent is a member.
    fn adopt(&mut self) {
        let Ok(entries) = Path::new("/proc").read_dir() else {
            return;
        };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for pid in pids.collect::<BTreeSet<u32>>() {
            if self.members.contains(&pid) || self.strangers.contains(&pid) {
                continue;
            }
            let parent = stat_field(pid, 1).and_then(|parent| parent.parse().ok());
            if parent.is_some_and(|parent: u32| self.members.contains(&parent)) {
                self.members.insert(pid);
            } else {
                self.strangers.insert(pid);
            }
        }
    }
}

/// Whether a process is there and has not ended.
fn is_running(pid: u32) -> bool {
    let state = stat_field(pid, 0);
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// Returns a field of `/proc/PID/stat`, counted from the state.
fn stat_field(pid: u32, position: usize) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_name, fields) = text.rsplit_once(") ")?;
    fields.split(' ').nth(position).map(str::to_owned)
}

/// Returns the memory of a process, each shared page divided by those who share it.
fn memory_of(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::{Family, is_running, memory_of};

    #[test]
    fn own_memory_is_seen() {
        assert!(memory_of(std::process::id()).unwrap() > 100_000);
    }

    #[test]
    fn children_belong_to_the_family() {
        // The shell waits for a child of its own, which ends with its stdin.
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat; true"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        let mut family = Family::of(shell.id());
        let deadline = Instant::now() + Duration::from_secs(20);
        while family.members.len() < 2 {
            assert!(Instant::now() < deadline, "the shell's child was never seen");
            family.adopt();
            family.strangers.clear();
        }
        assert!(family.memory_now() > 0);
        drop(shell.stdin.take());
        assert!(shell.wait().unwrap().success());
        assert!(!is_running(shell.id()));
    }
}
