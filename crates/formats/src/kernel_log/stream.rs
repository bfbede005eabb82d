//! A log of any size, read once from its begin to its end: only lines that matter are looked at and kept.

use std::io::{self, Read};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use gpuwhy_model::scene::Scene;

use super::gathered::Gatherer;
use super::journal::journal_record;
use super::kept::KeepLimits;
use super::line::{LogLine, Sender, log_line};
use super::record::kmsg_record;
use super::scene::scene;
use super::{fact, is_about_cards};

/// What a line holds that is looked at: as the kernel and its drivers write it, so that the search is fast.
const MARKS: &[&str] = &[
    "AER: ",
    "DPC: ",
    "Kill process ",
    "Killed process ",
    "Linux version ",
    "Lockdown: ",
    "NVRM",
    "PCIe Bus Error",
    "SXid (",
    "Secure boot",
    "Secure Boot",
    "Xid (",
    "amdgpu",
    "blocked for more than",
    "blocked in I/O wait",
    "fallen off the bus",
    "general protection",
    "killed as a result of limit",
    "module verification failed",
    "nouveau",
    "nv-fabricmanager",
    "nvidia",
    "oom-kill",
    "rejected by service",
    "segfault at",
    "signed with a trusted key",
    "soft lockup",
    "unsigned module",
];

/// Looks for all of them at once.
static SEARCH: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(MARKS).ok());

/// The rest of a line that is longer is not looked at.
const LINE_MAX: usize = 64 << 10;
/// So much is read at once.
const CHUNK: usize = 1 << 20;
/// So many lines at the begin tell what a file is.
const LINES_LOOKED_AT: usize = 200;

/// A log that comes piece by piece.
#[derive(Debug)]
pub struct LogStream {
    gatherer: Gatherer,
    /// The begin of a line whose end has not come yet.
    begun: Vec<u8>,
    /// Whether it is longer than what is looked at.
    begun_is_cut: bool,
    lines: u64,
    bytes: u64,
    cut_lines: u64,
}

/// What is left of a log that was read once.
#[derive(Debug)]
pub struct StreamedLog {
    /// What it says.
    pub scene: Scene,
    /// How many lines it has.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How many lines mattered and were left out, by the limits.
    pub left_out: u64,
    /// How many lines were longer than what is looked at.
    pub cut_lines: u64,
}

impl Default for LogStream {
    fn default() -> Self {
        Self::new(KeepLimits::STREAM)
    }
}

impl LogStream {
    /// Begins to read a log, of which so much is kept.
    pub fn new(limits: KeepLimits) -> Self {
        let gatherer = Gatherer::new(limits);
        Self { gatherer, begun: Vec::new(), begun_is_cut: false, lines: 0, bytes: 0, cut_lines: 0 }
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', piece).count() as u64;
        let mut piece = piece;
        if !self.begun.is_empty() {
            let Some(end) = memchr::memchr(b'\n', piece) else {
                self.begin(piece);
                return;
            };
            self.begin(&piece[..end]);
            let line = std::mem::take(&mut self.begun);
            self.look_at(&line);
            self.begun = line;
            self.begun.clear();
            self.begun_is_cut = false;
            piece = &piece[end + 1..];
        }
        let whole = memchr::memrchr(b'\n', piece).map_or(0, |end| end + 1);
        self.search(&piece[..whole]);
        self.begin(&piece[whole..]);
    }

    /// Takes all that a reader gives.
    ///
    /// # Errors
    /// Fails when reading does.
    pub fn feed_all(&mut self, mut reader: impl Read) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(length) => self.feed(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the log.
    pub fn finish(mut self) -> StreamedLog {
        let line = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            self.lines += 1;
            self.look_at(&line);
        }
        let gathered = self.gatherer.finish();
        let left_out = gathered.left_out;
        StreamedLog {
            scene: scene(gathered),
            lines: self.lines,
            bytes: self.bytes,
            left_out,
            cut_lines: self.cut_lines,
        }
    }

    /// Adds to the line that has no end yet.
    fn begin(&mut self, part: &[u8]) {
        let room = LINE_MAX.saturating_sub(self.begun.len());
        if part.len() > room && !self.begun_is_cut {
            self.cut_lines += 1;
            self.begun_is_cut = true;
        }
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Looks for lines that matter in whole ones.
    fn search(&mut self, lines: &[u8]) {
        let mut from = 0;
        while let Some(found) = SEARCH.as_ref().map_or(Some(from), |search| {
            search.find(lines.get(from..).unwrap_or_default()).map(|found| from + found.start())
        }) {
            if found >= lines.len() {
                return;
            }
            let start = memchr::memrchr(b'\n', &lines[..found]).map_or(0, |end| end + 1);
            let end = memchr::memchr(b'\n', &lines[found..]).map_or(lines.len(), |length| found + length);
            let line = &lines[start..end];
            if line.len() > LINE_MAX {
                self.cut_lines += 1;
            }
            let line = &line[..line.len().min(LINE_MAX)];
            push(&mut self.gatherer, line);
            from = end + 1;
        }
    }

    /// Looks at one line, if it matters.
    fn look_at(&mut self, line: &[u8]) {
        if SEARCH.as_ref().is_none_or(|search| search.is_match(line)) {
            push(&mut self.gatherer, line);
        }
    }
}

/// Hands a line over that may matter.
fn push(gatherer: &mut Gatherer, line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end();
    if let Some(entry) = kmsg(text) {
        gatherer.push_entry(entry, None);
        return;
    }
    if text.starts_with('{') {
        if let Some(record) = journal_record(text).filter(|record| record.sender.as_deref() == Some("kernel"))
        {
            gatherer.push_entry(record.line, record.host.as_deref());
        }
        return;
    }
    match log_line(text) {
        Some(found) => gatherer.push(&found),
        // Some other head stands before it.
        None if is_about_cards(text) && fact(text).is_some() => gatherer.push(&LogLine::bare(text)),
        None => {}
    }
}

/// Reads a record of `/dev/kmsg` if it is one.
pub(crate) fn kmsg(text: &str) -> Option<gpuwhy_model::sample::KernelLine> {
    let head = text.split_once(';')?.0;
    let is_head = head.len() <= 80
        && head.split(',').count() >= 3
        && head
            .split(',')
            .take(3)
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    is_head.then(|| kmsg_record(text.as_bytes()).ok())?
}

/// Returns whether a file that begins so is a log with lines of the kernel: so it may be read once, whatever its size.
pub fn looks_like_log(begin: &[u8]) -> bool {
    let text = String::from_utf8_lossy(begin);
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty()).take(LINES_LOOKED_AT).collect();
    let (mut of_logs, mut of_kernel) = (0_usize, 0_usize);
    for line in &lines {
        let sender = if kmsg(line).is_some() {
            Some(Sender::Kernel)
        } else if line.starts_with('{') {
            journal_record(line)
                .filter(|record| record.sender.as_deref() == Some("kernel"))
                .map(|_| Sender::Kernel)
        } else {
            log_line(line).map(|found| found.sender)
        };
        of_logs += usize::from(sender.is_some());
        of_kernel += usize::from(matches!(sender, Some(Sender::Kernel | Sender::Bare)));
    }
    of_kernel > 0 && of_logs * 10 >= lines.len() * 8
}

#[cfg(test)]
mod tests {
    use super::{LogStream, looks_like_log};
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::KernelFact;

    /// A log with a flood in it, lines of other things, and one that matters most.
    fn log() -> String {
        let head = "Nov  5 14:00:00 n1 kernel: ";
        let mut lines = vec![format!("{head}[    0.000000] Linux version 6.8.0-45-generic (x)")];
        for second in 0..5000 {
            lines.push(format!("{head}[{second}.000001] eth0: link becomes ready"));
            lines.push(format!("{head}[{second}.000002] NVRM: Xid (PCI:0000:65:00): 13, pid=7, name=a, x"));
            if second == 2500 {
                let message =
                    ["The NVIDIA GPU 0000:66:00.0", "(PCI ID: 10de:2330)", "installed in this system has"];
                lines.extend(message.iter().map(|part| format!("{head}[2500.000003] NVRM: {part}")));
                lines.push(format!("{head}[2500.000003] NVRM: fallen off the bus and is not"));
            }
        }
        lines.join("\n") + "\n"
    }

    #[test]
    fn pieces_of_any_length_give_the_same() {
        let log = log();
        let mut wanted = None;
        for length in [7, 100, 4096, log.len()] {
            let mut stream = LogStream::default();
            log.as_bytes().chunks(length).for_each(|piece| stream.feed(piece));
            let read = stream.finish();
            assert_eq!((read.lines, read.bytes), (10_005, log.len() as u64));
            assert_eq!((read.left_out, read.cut_lines), (5000 - 128, 0));
            assert_eq!(read.scene.machine.kernel, Reading::Known("6.8.0-45-generic".to_owned()));
            assert_eq!(read.scene.machine.hostname, Reading::Known("n1".to_owned()));
            let lines = read.scene.events.known().unwrap();
            assert_eq!(lines.len(), 129);
            let lost = KernelFact::FallenOffTheBus { pci_address: "0000:66:00.0".to_owned() };
            assert!(
                lines.iter().any(|line| line.fact.as_ref() == Some(&lost) && line.boot_us == 2_500_000_003)
            );
            assert_eq!(wanted.get_or_insert_with(|| lines.clone()), lines);
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut stream = LogStream::default();
        for _ in 0..1000 {
            stream.feed(&[b'x'; 1 << 13]);
        }
        assert!(stream.begun.capacity() <= 1 << 18);
        stream.feed(b"\n[    1.000001] NVRM: Xid (PCI:0000:65:00): 79, x");
        let read = stream.finish();
        assert_eq!((read.cut_lines, read.lines), (1, 2));
        assert_eq!(read.scene.events.known().unwrap().len(), 1);
    }

    #[test]
    fn logs_are_told_from_other_files() {
        assert!(looks_like_log(log().as_bytes()));
        assert!(looks_like_log(b"6,3964,206764307,-;nvidia-nvswitch2: open\n6,3965,206764310,-;x\n"));
        assert!(!looks_like_log(b"hello\nworld\n[    1.000001] NVRM: x\n"));
        assert!(!looks_like_log(b"Nov  5 13:00:00 n1 sshd[5]: x\n"));
        assert!(!looks_like_log(b""));
    }
}
