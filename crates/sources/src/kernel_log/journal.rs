//! The kernel log through the system's journal, where the log itself is closed to us but the journal is not.

use std::collections::VecDeque;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gpuwhy_formats::kernel_log::{is_about_cards, journal_entry};
use gpuwhy_model::sample::KernelLine;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::LINES_MAX;
use crate::clock;

/// Where the journal's program stands; nothing else is tried, so that nobody can slip us another one.
const PROGRAMS: &[&str] = &["/usr/bin/journalctl", "/bin/journalctl"];

/// The newest entries only: enough for days of a quiet kernel.
const ARGUMENTS: &[&str] = &[
    "--dmesg",
    "--no-pager",
    "--quiet",
    "--lines=2000",
    "--output=json",
    "--output-fields=MESSAGE,PRIORITY,_SOURCE_MONOTONIC_TIMESTAMP",
];

/// It is waited for no longer.
const LIMIT: Duration = Duration::from_secs(2);

/// It is a program of its own each time: it is asked no more often.
const EVERY: Duration = Duration::from_mins(1);

/// More than so many entries ever are.
const BYTES_MAX: usize = 8 << 20;

/// The journal, asked now and then.
#[derive(Debug)]
pub(super) struct Journal {
    program: PathBuf,
    asked_at: Option<Duration>,
    /// The newest line that was given.
    newest_us: Option<u64>,
    /// What came of the last run.
    outcome: Result<(), Errno>,
    /// A run that could not be ended: it is never followed by another one.
    left_behind: Option<Child>,
}

impl Journal {
    /// Returns the journal of this machine, if it has one.
    pub(super) fn find() -> Option<Self> {
        let program = PROGRAMS.iter().map(Path::new).find(|program| program.exists())?;
        Some(Self::of(program))
    }

    fn of(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            asked_at: None,
            newest_us: None,
            outcome: Ok(()),
            left_behind: None,
        }
    }

    /// Returns lines that were not given before, and matter here.
    ///
    /// # Errors
    /// Fails when the journal shows us nothing of the kernel, which always has said something.
    pub(super) fn new_lines(&mut self) -> Result<VecDeque<KernelLine>, Errno> {
        let now = clock::awake();
        if self.asked_at.is_some_and(|before| now < before + EVERY) {
            return self.outcome.map(|()| VecDeque::new());
        }
        self.asked_at = Some(now);
        let lines = self.ask(now + LIMIT);
        self.outcome = lines.as_ref().map(|_| ()).map_err(|errno| *errno);
        lines
    }

    /// Runs the program and returns the lines that were not given before.
    fn ask(&mut self, until: Duration) -> Result<VecDeque<KernelLine>, Errno> {
        if let Some(child) = &mut self.left_behind {
            if !matches!(child.try_wait(), Ok(Some(_))) {
                return Err(Errno::TIMEDOUT);
            }
            self.left_behind = None;
        }
        let output = self.output(until)?;
        let mut lines = VecDeque::new();
        let mut newest_us = None;
        for entry in output.split(|byte| *byte == b'\n') {
            let Ok(line) = journal_entry(entry) else {
                continue;
            };
            newest_us = newest_us.max(Some(line.boot_us));
            let is_known = self.newest_us.is_some_and(|known| line.boot_us <= known);
            if is_known || !is_about_cards(&line.text) {
                continue;
            }
            if lines.len() == LINES_MAX {
                lines.pop_front();
            }
            lines.push_back(line);
        }
        if newest_us.is_none() {
            return Err(Errno::ACCESS);
        }
        self.newest_us = self.newest_us.max(newest_us);
        Ok(lines)
    }

    /// Runs the program and returns what it says until a moment on the clock of [`clock::awake`].
    fn output(&mut self, until: Duration) -> Result<Vec<u8>, Errno> {
        let mut command = Command::new(&self.program);
        command.args(ARGUMENTS).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let mut output = Vec::new();
        let heard = match child.stdout.take() {
            Some(mut pipe) => hear(&mut pipe, until, &mut output),
            None => Err(Errno::IO),
        };
        let _ = child.kill();
        if !has_ended(&mut child, until) {
            self.left_behind = Some(child);
            return Err(Errno::TIMEDOUT);
        }
        heard.map(|()| output)
    }
}

/// Reads a pipe to its end, or until a moment.
fn hear(pipe: &mut (impl Read + AsFd), until: Duration, output: &mut Vec<u8>) -> Result<(), Errno> {
    let mut chunk = [0_u8; 16 * 1024];
    while output.len() < BYTES_MAX {
        let left = until.saturating_sub(clock::awake());
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&*pipe, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => return Err(Errno::TIMEDOUT),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        }
        match pipe.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => output.extend_from_slice(&chunk[..length]),
            Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }
    Ok(())
}

/// Waits for the end of a killed child, but no longer than until a moment and a little more.
fn has_ended(child: &mut Child, until: Duration) -> bool {
    let until = until.max(clock::awake() + Duration::from_millis(200));
    loop {
        match child.try_wait() {
            Ok(Some(_)) | Err(_) => return true,
            Ok(None) if clock::awake() >= until => return false,
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Journal;
    use rustix::io::Errno;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    fn program(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("journalctl");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    const XID: &str =
        r#"{"PRIORITY":"3","_SOURCE_MONOTONIC_TIMESTAMP":"7","MESSAGE":"NVRM: Xid (PCI:0000:65:00): 79, x"}"#;

    #[test]
    fn lines_are_given_once_and_only_those_that_matter() {
        let folder = tempfile::tempdir().unwrap();
        let other = r#"{"_SOURCE_MONOTONIC_TIMESTAMP":"9","MESSAGE":"usb 1-1: new device"}"#;
        let mut journal = Journal::of(&program(folder.path(), &format!("echo '{XID}'; echo '{other}'")));
        let lines = journal.new_lines().unwrap();
        assert_eq!(lines.iter().map(|line| line.boot_us).collect::<Vec<_>>(), [7]);
        assert!(journal.new_lines().unwrap().is_empty(), "not asked again so soon");
        journal.asked_at = None;
        assert!(journal.new_lines().unwrap().is_empty(), "nothing is given twice");
    }

    #[test]
    fn a_journal_that_shows_nothing_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::of(&program(folder.path(), "echo hint >&2; exit 1"));
        assert_eq!(journal.new_lines().unwrap_err(), Errno::ACCESS);
        assert_eq!(journal.new_lines().unwrap_err(), Errno::ACCESS, "still closed, though not asked again");
    }

    #[test]
    fn a_journal_that_says_too_much_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("while :; do echo '{XID}'; done");
        let mut journal = Journal::of(&program(folder.path(), &script));
        // It is ended, whether by what it said or by time.
        let _ = journal.new_lines();
        assert!(journal.left_behind.is_none());
    }
}
