//! A long text while it is read: its first and last part, and between them the lines that could matter.
//!
//! It is searched at the speed of memory: only lines that hold a mark are looked at, all others are counted.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr, memchr_iter, memrchr};

use super::Problem;
use super::captured::read_some;

/// The first and the last part are read whole.
const END_MAX: usize = 2 << 20;

/// As many bytes of lines that could matter are kept: the first half and the last half of them.
const KEPT_MAX: usize = 8 << 20;

/// A line is cut here.
pub(super) const LINE_MAX: usize = 1 << 20;

/// Marks of lines that say something of cards, their driver, the bus, or processes that the kernel ended.
const KERNEL_MARKS: &[&str] = &[
    "NVRM",
    "Xid (",
    "nvidia",
    "nouveau",
    "amdgpu",
    "AER:",
    "PCIe Bus Error",
    "fallen off the bus",
    "ut of memory",
    "Killed process",
    "oom-kill",
    "oom_reaper",
    "blocked for more than",
    "blocked in I/O wait",
    "ockdown:",
    "ecure boot",
    "ecureboot",
    "unsigned module",
    "module verification failed",
    "ejected by service",
];

/// Marks of lines around which a program says why it failed.
const PROGRAM_MARKS: &[&str] = &[
    "Traceback (most recent call last)",
    "CUDA error",
    "CUDA_ERROR",
    "OutOfMemoryError",
    "RESOURCE_EXHAUSTED",
    "NCCL WARN",
    "NCCL error",
    "ncclSystemError",
    "ncclRemoteError",
    "ncclUnhandledCudaError",
    "Watchdog caught collective",
    "cuDNN error",
    "CUBLAS_STATUS",
    "egmentation fault",
    "Bus error",
    "No space left on device",
    "terminate called after",
    "Fatal Python error",
    "insufficient shared memory",
    "device-side assert",
    "SIGKILL",
    "exitcode",
    "slurmstepd: error",
];

/// Lines before and after a program's mark that belong to it.
const PROGRAM_BEFORE: usize = 3;
const PROGRAM_AFTER: u64 = 60;

static MARKS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(marks()).ok());

/// Returns what the lines of a long text are searched for, the marks of the kernel first: upper and lower case count.
pub fn marks() -> impl Iterator<Item = &'static str> {
    KERNEL_MARKS.iter().chain(PROGRAM_MARKS).copied()
}

/// What is kept of a long text, and what is to be said of the rest.
pub(super) struct Passed {
    pub(super) lines: Vec<(u64, String)>,
    pub(super) passed: Vec<Problem>,
}

/// A long text while it is read.
#[derive(Default)]
pub(super) struct LongText {
    /// Lines that are counted so far.
    lines: u64,
    /// Bytes that are looked at so far.
    bytes: usize,
    /// How many of the next lines belong to the last mark.
    to_follow: u64,
    /// Whether the rest of a line that was cut is passed over.
    is_in_cut_line: bool,
    first: Vec<(u64, String)>,
    last: VecDeque<(u64, String)>,
    first_bytes: usize,
    last_bytes: usize,
    dropped: u64,
    /// The newest parts, with the number of lines before each.
    newest: VecDeque<(u64, Vec<u8>)>,
    newest_bytes: usize,
    cut_lines: u64,
    first_cut_line: u64,
}

impl LongText {
    /// Looks at what was read so far, and at everything that follows.
    pub(super) fn add_all(&mut self, begin: Vec<u8>, reader: &mut dyn Read, problems: &mut Vec<Problem>) {
        let mut part = self.add(begin);
        loop {
            match read_some(reader, &mut part) {
                Ok(0) => break,
                Ok(_) => part = self.add(part),
                Err(error) => {
                    problems.push(Problem::Broken(error.to_string()));
                    break;
                }
            }
        }
        if !part.is_empty() {
            part.push(b'\n');
            self.look_at(part);
        }
    }

    /// Looks at the lines that are whole; returns the begin of the next one, in a buffer to read on in.
    fn add(&mut self, mut part: Vec<u8>) -> Vec<u8> {
        if self.is_in_cut_line {
            let end = memchr(b'\n', &part);
            self.is_in_cut_line = end.is_none();
            part.drain(..end.map_or(part.len(), |end| end + 1));
        }
        let whole = memrchr(b'\n', &part).map_or(0, |end| end + 1);
        let begun = part[whole..].to_vec();
        part.truncate(whole);
        let mut next = if whole == 0 { part } else { self.look_at(part) };
        if begun.len() > LINE_MAX {
            self.cut_line(begun);
        } else {
            next.extend(begun);
        }
        next
    }

    /// Takes the begin of a line that is too long for the whole of it.
    fn cut_line(&mut self, mut line: Vec<u8>) {
        line.truncate(LINE_MAX);
        line.push(b'\n');
        if self.cut_lines == 0 {
            self.first_cut_line = self.lines + 1;
        }
        self.cut_lines += 1;
        self.is_in_cut_line = true;
        self.look_at(line);
    }

    /// Looks at whole lines; returns a buffer that is no longer needed.
    fn look_at(&mut self, part: Vec<u8>) -> Vec<u8> {
        let lines_before = self.lines;
        let mut done = 0;
        while done < part.len() {
            if self.bytes + done < END_MAX || self.to_follow > 0 {
                self.to_follow = self.to_follow.saturating_sub(1);
                done = self.keep_line(&part, done);
                continue;
            }
            let Some((start, is_of_program)) = next_mark(&part[done..]) else {
                break;
            };
            let line_start = memrchr(b'\n', &part[done..done + start]).map_or(done, |end| done + end + 1);
            let from = if is_of_program { lines_back(&part[done..line_start]) + done } else { line_start };
            self.lines += memchr_iter(b'\n', &part[done..from]).count() as u64;
            done = from;
            while done <= line_start {
                done = self.keep_line(&part, done);
            }
            if is_of_program {
                self.to_follow = PROGRAM_AFTER;
            }
        }
        self.lines += memchr_iter(b'\n', &part[done..]).count() as u64;
        self.bytes += part.len();
        self.newest_bytes += part.len();
        self.newest.push_back((lines_before, part));
        let is_enough =
            self.newest.front().is_some_and(|(_, oldest)| self.newest_bytes - oldest.len() >= END_MAX);
        match if is_enough { self.newest.pop_front() } else { None } {
            Some((_, mut oldest)) => {
                self.newest_bytes -= oldest.len();
                oldest.clear();
                oldest
            }
            None => Vec::new(),
        }
    }

    /// Keeps the line that begins here; returns where the next one begins.
    fn keep_line(&mut self, part: &[u8], start: usize) -> usize {
        let end = memchr(b'\n', &part[start..]).map_or(part.len(), |end| start + end);
        self.lines += 1;
        let text = String::from_utf8_lossy(&part[start..end]).into_owned();
        let length = text.len() + size_of::<(u64, String)>();
        let is_head = self.bytes + start < END_MAX;
        if is_head || self.first_bytes + length <= KEPT_MAX / 2 {
            // The first part has room of its own.
            self.first_bytes += if is_head { 0 } else { length };
            self.first.push((self.lines, text));
            return end + 1;
        }
        self.last_bytes += length;
        self.last.push_back((self.lines, text));
        while self.last_bytes > KEPT_MAX / 2
            && let Some((_, oldest)) = self.last.pop_front()
        {
            self.last_bytes -= oldest.len() + size_of::<(u64, String)>();
            self.dropped += 1;
        }
        end + 1
    }

    /// Ends the text.
    pub(super) fn finish(self) -> Passed {
        let from = self.newest.front().map_or(self.lines, |(before, _)| *before);
        let mut lines = self.first;
        lines.extend(self.last);
        lines.retain(|(number, _)| *number <= from);
        for (before, part) in self.newest {
            let texts = part.strip_suffix(b"\n").unwrap_or(&part).split(|byte| *byte == b'\n');
            let numbered = (before + 1..).zip(texts);
            lines.extend(numbered.map(|(number, text)| (number, String::from_utf8_lossy(text).into_owned())));
        }
        let mut passed = Vec::new();
        if self.cut_lines > 0 {
            passed.push(Problem::LinesCut {
                count: self.cut_lines,
                first: self.first_cut_line,
                bytes: LINE_MAX as u64,
            });
        }
        if (lines.len() as u64) < self.lines {
            passed.push(Problem::OnlyWhatMatters {
                lines: self.lines,
                kept: lines.len() as u64,
                dropped: self.dropped,
            });
        }
        Passed { lines, passed }
    }
}

/// Returns where the next mark stands, and whether it is a program's.
fn next_mark(text: &[u8]) -> Option<(usize, bool)> {
    let mark = MARKS.as_ref()?.find(text)?;
    Some((mark.start(), mark.pattern().as_usize() >= KERNEL_MARKS.len()))
}

/// Returns where the last few lines of a text begin.
fn lines_back(text: &[u8]) -> usize {
    let mut start = text.len();
    for _ in 0..PROGRAM_BEFORE {
        // The line end right before belongs to the line before.
        start = memrchr(b'\n', &text[..start.saturating_sub(1)]).map_or(0, |end| end + 1);
    }
    start
}
