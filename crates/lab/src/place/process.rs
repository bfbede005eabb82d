//! Finding and ending the processes of a box by what the kernel says about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Process id in our pid namespace.
    pub pid: u32,
    /// Start time in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub start_ticks: u64,
}

impl ProcessIdentity {
    /// The identity of the running process `pid`; `None` when there is none.
    pub fn of(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Self { pid, start_ticks: start_ticks(&text)? })
    }

    /// Whether exactly this process still exists, as anything but a zombie.
    pub fn is_alive(self) -> bool {
        let Ok(text) = fs::read_to_string(format!("/proc/{}/stat", self.pid)) else { return false };
        start_ticks(&text) == Some(self.start_ticks) && state(&text) != Some('Z')
    }
}

fn after_name(stat: &str) -> Option<&str> {
    stat.rsplit_once(')').map(|(_, rest)| rest.trim_start())
}

fn start_ticks(stat: &str) -> Option<u64> {
    after_name(stat)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn state(stat: &str) -> Option<char> {
    after_name(stat)?.chars().next()
}

/// The mount namespace of process `pid`, as the kernel names it (`mnt:[4026531841]`).
///
/// Where the first thread has ended, another one tells.
pub fn mount_namespace(pid: u32) -> Option<PathBuf> {
    if let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/mnt")) {
        return Some(namespace);
    }
    let mut threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    threads.find_map(|thread| fs::read_link(thread.ok()?.path().join("ns/mnt")).ok())
}

/// Every process whose mount namespace is `namespace`, apart from ourselves; zombies have none.
pub fn processes_in(namespace: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ourselves = std::process::id();
    let mut pids: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| pid != ourselves && mount_namespace(pid).as_deref() == Some(namespace))
        .collect();
    pids.sort_unstable();
    pids
}

/// Kills every process of `namespace` and waits until the last one is gone.
///
/// Returns the processes that were still there when `patience` ended.
pub fn end_all_in(namespace: &Path, patience: Duration) -> Vec<u32> {
    let deadline = Instant::now() + patience;
    loop {
        let alive = processes_in(namespace);
        if alive.is_empty() || Instant::now() >= deadline {
            return alive;
        }
        for pid in alive {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                // It may have ended by itself since we looked.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b) D 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 881234 1 1";
        assert_eq!(start_ticks(stat), Some(881_234));
        assert_eq!(state(stat), Some('D'));
    }

    #[test]
    fn we_are_alive_and_a_recycled_pid_is_not_us() {
        let ourselves = ProcessIdentity::of(std::process::id()).unwrap();
        assert!(ourselves.is_alive());
        assert!(!ProcessIdentity { start_ticks: ourselves.start_ticks + 1, ..ourselves }.is_alive());
    }
}
