//! Which process a client is, and whether it still is there.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// A process as the box knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id in the outermost pid namespace that `/proc` shows.
    pub host_pid: u32,
    /// Process id as the process itself sees it.
    pub own_pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}

impl ProcessIdentity {
    /// Reads who the calling process is.
    ///
    /// # Errors
    /// Fails when `/proc/self` cannot be read.
    pub fn of_this_process() -> io::Result<Self> {
        let own_pid = std::process::id();
        let status = fs::read_to_string("/proc/self/status")?;
        let host_pid = status
            .lines()
            .find_map(|line| line.strip_prefix("NSpid:"))
            .and_then(|pids| pids.split_whitespace().next())
            .and_then(|pid| pid.parse().ok())
            .unwrap_or(own_pid);
        let stat = fs::read_to_string("/proc/self/stat")?;
        let (_, start_ticks) = parse_stat(&stat)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/stat is cut"))?;
        Ok(Self { host_pid, own_pid, start_ticks })
    }
}

/// Inode of the pid namespace of the calling process.
///
/// # Errors
/// Fails when `/proc/self/ns/pid` cannot be read.
pub fn pid_namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

/// Whether the process that started at `start_ticks` under `pid` has given back what it held: it is gone,
/// another process has its pid, or it is a zombie without a living thread. What cannot be told counts as
/// still there.
pub fn is_gone(pid: u32, start_ticks: u64) -> bool {
    // The main thread's own file: that of the whole process costs more with every thread.
    match fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")) {
        Ok(stat) => parse_stat(&stat).is_some_and(|(dead, started)| dead || started != start_ticks),
        // A hidden process (hidepid) is reported as absent too, but still takes signals; a signal needs no
        // permission to say so.
        Err(_) => !answers_signals(pid),
    }
}

fn answers_signals(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// Returns whether the process is a zombie without living threads, and its start time.
fn parse_stat(stat: &str) -> Option<(bool, u64)> {
    // The command may hold blanks and parentheses; the fields begin after its last `)`.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let is_zombie = matches!(*fields.first()?, "Z" | "X");
    let threads: u32 = fields.get(17)?.parse().ok()?;
    let start_ticks = fields.get(19)?.parse().ok()?;
    Some((is_zombie && threads <= 1, start_ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_another_start_time_is_not() {
        let identity = ProcessIdentity::of_this_process().unwrap();
        assert!(!is_gone(identity.host_pid, identity.start_ticks));
        assert!(is_gone(identity.host_pid, identity.start_ticks + 1));
    }

    #[test]
    fn a_zombie_is_gone_unless_a_thread_lives_on() {
        let line = |state: &str, threads: u32| {
            format!("7 (a) b) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0")
        };
        assert_eq!(parse_stat(&line("Z", 1)), Some((true, 4711)));
        assert_eq!(parse_stat(&line("Z", 3)), Some((false, 4711)));
        assert_eq!(parse_stat(&line("D", 1)), Some((false, 4711)));
        assert_eq!(parse_stat("7 (cut"), None);
    }

    #[test]
    fn a_process_that_was_waited_for_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(is_gone(pid, 1));
    }
}
