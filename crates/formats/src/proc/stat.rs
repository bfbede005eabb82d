//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`, read for every process at every look: nothing is allocated here.

use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::ProcessState;

use super::bytes::{number, printable, signed_number, small_number};
use crate::Malformed;

/// What the stat file of a process or thread says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat<'file> {
    /// Process or thread number.
    pub pid: Pid,
    /// `comm` as it stands there: any bytes but NUL.
    raw_name: &'file [u8],
    /// State; none for a letter that no kernel we know uses.
    pub state: Option<ProcessState>,
    /// Parent; 0 when the process is just being collected.
    pub parent: Pid,
    /// Process group; 0 when the process is just being collected.
    pub group: Pid,
    /// Session; 0 when the process is just being collected.
    pub session: Pid,
    /// Controlling terminal (device number); 0: none.
    pub terminal: i64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u64,
    /// Processor time, user and system, in clock ticks.
    pub cpu_ticks: u64,
    /// Number of threads.
    pub thread_count: u64,
    /// Start, in clock ticks since boot.
    pub start_ticks: u64,
    /// Time blocked on block devices, in clock ticks; none where the file ends before it. It stays 0 while delay
    /// accounting is off: the caller must know whether it is on.
    pub block_delay_ticks: Option<u64>,
}

impl<'file> Stat<'file> {
    /// Returns the name with control characters escaped.
    pub fn name(&self) -> String {
        printable(self.raw_name)
    }

    /// Returns the name as it stands in the file.
    pub const fn raw_name(&self) -> &'file [u8] {
        self.raw_name
    }
}

/// Reads a stat file.
///
/// # Errors
/// Fails when a field up to the start time is missing or is no number.
pub fn stat(file: &[u8]) -> Result<Stat<'_>, Malformed> {
    let malformed = |expected| move || Malformed::first_line(expected);
    // The name may hold blanks and parentheses; what follows the last one is numbers only.
    let name_start = file.iter().position(|byte| *byte == b'(').ok_or_else(malformed("`PID (name) …`"))?;
    let name_end = file.iter().rposition(|byte| *byte == b')').ok_or_else(malformed("`) state …`"))?;
    let raw_name = file.get(name_start + 1..name_end).ok_or_else(malformed("`PID (name) …`"))?;
    let pid = small_number(file[..name_start].trim_ascii()).ok_or_else(malformed("a process number"))?;

    let mut fields = fields_of(file[name_end + 1..].trim_ascii());
    let state = fields.next().and_then(|letter| letter.first()).ok_or_else(malformed("a state letter"))?;
    let parent = fields.next().and_then(signed_number).ok_or_else(malformed("the parent (field 4)"))?;
    let group = fields.next().and_then(signed_number).ok_or_else(malformed("the group (field 5)"))?;
    let session = fields.next().and_then(signed_number).ok_or_else(malformed("the session (field 6)"))?;
    let terminal = fields.next().and_then(signed_number).ok_or_else(malformed("the terminal (field 7)"))?;
    // Fields 8 to 13: terminal group, flags, minor faults of its own and of children, major faults likewise.
    let major_faults = fields.nth(4).and_then(number).ok_or_else(malformed("major faults (field 12)"))?;
    let user = fields.nth(1).and_then(number).ok_or_else(malformed("user time (field 14)"))?;
    let system = fields.next().and_then(number).ok_or_else(malformed("system time (field 15)"))?;
    // Fields 16 to 19: times of children, priority, nice value.
    let thread_count = fields.nth(4).and_then(number).ok_or_else(malformed("threads (field 20)"))?;
    let start_ticks = fields.nth(1).and_then(number).ok_or_else(malformed("start time (field 22)"))?;
    // Fields 23 to 41: memory, addresses, signals, processor, scheduling.
    let block_delay_ticks = fields.nth(19).and_then(number);

    Ok(Stat {
        pid: Pid(pid),
        raw_name,
        state: process_state(*state),
        parent: pid_or_zero(parent),
        group: pid_or_zero(group),
        session: pid_or_zero(session),
        terminal,
        major_faults,
        cpu_ticks: user.saturating_add(system),
        thread_count,
        start_ticks,
        block_delay_ticks,
    })
}

/// Returns the fields between blanks. Hundreds of these files are read at each look: blanks are searched many bytes at a
/// time.
fn fields_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b' ', text)
        .chain(std::iter::once(text.len()))
        .map(move |end| {
            let field = &text[start..end];
            start = end + 1;
            field
        })
        .filter(|field| !field.is_empty())
}

/// Returns the state that a letter stands for.
pub(crate) const fn process_state(letter: u8) -> Option<ProcessState> {
    Some(match letter {
        b'R' => ProcessState::Running,
        b'S' | b'W' | b'K' => ProcessState::Sleeping,
        b'D' => ProcessState::Blocked,
        b'Z' => ProcessState::Zombie,
        b'T' | b't' | b'P' => ProcessState::Stopped,
        b'I' => ProcessState::Idle,
        b'X' | b'x' => ProcessState::Dead,
        _ => return None,
    })
}

/// Returns the process number; the kernel writes -1 for groups and sessions of a process that is being collected.
fn pid_or_zero(number: i64) -> Pid {
    Pid(u32::try_from(number).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::stat;
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::sample::ProcessState;

    const REST: &str = "S 4000 4100 4200 34817 -1 4194304 100 0 9 0 700 30 0 0 20 0 12 0 881234 3133440 406 \
         18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 1 0 0 55 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn fields_are_where_the_kernel_puts_them() {
        let file = format!("4242 (pt_data_worker) {REST}");
        let stat = stat(file.as_bytes()).unwrap();
        assert_eq!(stat.pid, Pid(4242));
        assert_eq!(stat.name(), "pt_data_worker");
        assert_eq!(stat.state, Some(ProcessState::Sleeping));
        assert_eq!((stat.parent, stat.group, stat.session), (Pid(4000), Pid(4100), Pid(4200)));
        assert_eq!(stat.terminal, 34817);
        assert_eq!(stat.major_faults, 9);
        assert_eq!(stat.cpu_ticks, 730);
        assert_eq!(stat.thread_count, 12);
        assert_eq!(stat.start_ticks, 881_234);
        assert_eq!(stat.block_delay_ticks, Some(55));
    }

    #[test]
    fn names_may_hold_anything() {
        for (name, shown) in [
            (&b") R 1 1 1"[..], ") R 1 1 1"),
            (b"a) (b", "a) (b"),
            (b"new\nline", "new\\nline"),
            (b"\x1b[31mred", "\\u{1b}[31mred"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
            (b"", ""),
        ] {
            let file = [b"7 (", name, b") ", REST.as_bytes()].concat();
            let stat = stat(&file).unwrap();
            assert_eq!(stat.name(), shown);
            assert_eq!(stat.start_ticks, 881_234);
        }
    }

    #[test]
    fn a_process_that_is_being_collected_has_no_group() {
        let file = format!("9 (x) {}", REST.replacen("S 4000 4100 4200", "X 0 -1 -1", 1));
        let stat = stat(file.as_bytes()).unwrap();
        assert_eq!(stat.state, Some(ProcessState::Dead));
        assert_eq!((stat.group, stat.session), (Pid(0), Pid(0)));
    }

    #[test]
    fn a_short_file_ends_in_what_is_missing() {
        for (file, expected) in [
            ("", "`PID (name) …`"),
            ("12 (cut", "`) state …`"),
            ("x (a) S 1", "a process number"),
            ("12 (a) ", "a state letter"),
            ("12 (a) S 1 1", "the session (field 6)"),
            ("12 (a) S 1 1 1 0 -1 0 0 0 0 0 1", "system time (field 15)"),
            ("12 (a) S 1 1 1 0 -1 0 0 0 0 0 99999999999999999999 1", "user time (field 14)"),
            ("12 )a( S 1", "`PID (name) …`"),
        ] {
            assert_eq!(stat(file.as_bytes()).unwrap_err().expected, expected, "{file}");
        }
    }

    #[test]
    fn without_field_42_the_delay_is_not_zero() {
        let file = "12 (a) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 77 0 0";
        let stat = stat(file.as_bytes()).unwrap();
        assert_eq!(stat.start_ticks, 77);
        assert_eq!(stat.block_delay_ticks, None);
    }
}
