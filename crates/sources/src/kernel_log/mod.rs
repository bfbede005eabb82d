//! The kernel log: lines about cards, drivers and processes; the whole ring at first, then what is new.

mod journal;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use gpuwhy_formats::kernel_log::{is_about_cards, kmsg_record};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{KernelLine, Section};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, pread, read};

use crate::clock;
use crate::file::count_one;
use journal::Journal;

/// The newest lines that are kept of one reading.
const LINES_MAX: usize = 200;

/// The kernel gives no longer record.
const RECORD_MAX: usize = 8192;

/// Of a log in a regular file only this much at its end is read at first.
const TAIL: u64 = 4 << 20;

/// A kernel log that is open.
#[derive(Debug)]
pub(crate) struct KernelLog {
    path: PathBuf,
    source: Result<Source, Errno>,
}

#[derive(Debug)]
enum Source {
    /// `/dev/kmsg`: each read gives one record.
    Ring(OwnedFd),
    /// A file with records: what lies behind the position is new.
    File { file: OwnedFd, position: u64 },
    /// The system's journal.
    Journal(Journal),
}

impl KernelLog {
    /// Opens the log.
    pub(crate) fn open(path: &Path) -> Self {
        Self { path: path.to_owned(), source: source(path) }
    }

    /// Opens the log of this machine; where it is closed to us, the journal may not be.
    pub(crate) fn open_or_journal(path: &Path) -> Self {
        let mut log = Self::open(path);
        if matches!(log.source, Err(Errno::ACCESS | Errno::PERM))
            && let Some(journal) = Journal::find()
        {
            log.source = Ok(Source::Journal(journal));
        }
        log
    }

    /// Reads the lines that are new since the last reading, and matter here.
    pub(crate) fn new_lines(&mut self) -> Section<Vec<KernelLine>> {
        count_one();
        let read = clock::now();
        let lines = match &mut self.source {
            Ok(Source::Ring(ring)) => ring_lines(ring),
            Ok(Source::File { file, position }) => file_lines(file, position),
            Ok(Source::Journal(journal)) => journal.new_lines(),
            Err(errno) => Err(*errno),
        };
        let path = || self.path.display().to_string();
        let value = match lines {
            Ok(lines) => Reading::Known(lines.into()),
            Err(Errno::ACCESS | Errno::PERM) => Reading::Denied(Access::KernelLog),
            Err(Errno::NOENT) => Reading::Failed(Failure::Missing { path: path() }),
            Err(errno) => Reading::Failed(Failure::Io { path: path(), error: errno.to_string() }),
        };
        Section { read, value }
    }
}

fn source(path: &Path) -> Result<Source, Errno> {
    let file = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let status = fstat(&file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Ok(Source::Ring(file));
    }
    let length = u64::try_from(status.st_size).unwrap_or(0);
    Ok(Source::File { file, position: length.saturating_sub(TAIL) })
}

fn ring_lines(ring: &OwnedFd) -> Result<VecDeque<KernelLine>, Errno> {
    let mut lines = VecDeque::new();
    let mut record = [0_u8; RECORD_MAX];
    loop {
        match read(ring, &mut record) {
            Ok(0) | Err(Errno::AGAIN) => return Ok(lines),
            Ok(length) => keep(&mut lines, &record[..length]),
            // EPIPE: the record was overwritten before we came to it; the next read goes on behind it.
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn file_lines(file: &OwnedFd, position: &mut u64) -> Result<VecDeque<KernelLine>, Errno> {
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        bytes.resize(start + RECORD_MAX, 0);
        let taken = pread(file, &mut bytes[start..], *position + start as u64);
        bytes.truncate(start + *taken.as_ref().unwrap_or(&0));
        match taken {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    // A line that is still being written is left for the next time.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    *position += whole as u64;
    let mut lines = VecDeque::new();
    for record in bytes[..whole].split(|byte| *byte == b'\n') {
        keep(&mut lines, record);
    }
    Ok(lines)
}

/// Keeps a record that matters. Most do not, and are told apart before anything is made of them.
fn keep(lines: &mut VecDeque<KernelLine>, record: &[u8]) {
    if record.first().is_none_or(u8::is_ascii_whitespace) || !is_about_cards(&String::from_utf8_lossy(record))
    {
        return;
    }
    let Ok(line) = kmsg_record(record) else {
        return;
    };
    if lines.len() == LINES_MAX {
        lines.pop_front();
    }
    lines.push_back(line);
}

#[cfg(test)]
mod tests {
    use super::KernelLog;
    use gpuwhy_model::reading::{Failure, Reading};
    use std::io::Write;

    #[test]
    fn each_line_of_a_file_is_given_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kmsg");
        let mut file = std::fs::File::create(&path).unwrap();
        writeln!(file, "6,1,1000,-;systemd[1]: started").unwrap();
        writeln!(file, "3,2,2000,-;NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.")
            .unwrap();
        let mut log = KernelLog::open(&path);
        let first = log.new_lines().value.into_known().unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].boot_us, 2000);
        write!(file, "3,3,3000,-;NVRM: Xid (PCI:0000:65:00): 31, pid=2, na").unwrap();
        assert_eq!(log.new_lines().value, Reading::Known(Vec::new()));
        writeln!(file, "me=python").unwrap();
        assert_eq!(log.new_lines().value.into_known().unwrap().len(), 1);
    }

    #[test]
    fn without_a_log_there_is_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let log = KernelLog::open(&directory.path().join("kmsg")).new_lines();
        assert!(matches!(log.value, Reading::Failed(Failure::Missing { .. })));
    }
}
