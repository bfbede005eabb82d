//! One row of a table of processes as a process of a scene.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::{CommandLine, masked_text};
use gpuwhy_model::process::{Pid, ProcessKey};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ProcessState;
use gpuwhy_model::scene::{Process, StateShares, Thread, WaitChannel};
use gpuwhy_model::units::{Bytes, Cores, Seconds};

use super::amounts::{bytes, number, seconds, whole};
use super::columns::{Column, Fields, Head};
use crate::proc::{owner, process_state, role};

/// The kernel keeps no more of a name.
const NAME_MAX: usize = 15;
/// `ps` rounds the share of processor time to a tenth: from here on an age follows from it, in hundredths.
const SHARE_MIN: f64 = 0.5;
/// A share that is written as 0.0 is less than this, in hundredths.
const SHARE_OF_NOTHING: f64 = 0.05;
/// Major numbers of pseudo terminals and of consoles.
const PSEUDO_TERMINALS: i64 = 136;
const CONSOLES: i64 = 4;

/// Returns the field of a column.
fn field<'row>(fields: &Fields<'row>, wanted: Column) -> Option<&'row str> {
    fields.iter().find(|(column, _)| *column == wanted).map(|(_, word)| *word)
}

fn pid_of(fields: &Fields<'_>, wanted: Column) -> Option<Pid> {
    field(fields, wanted).and_then(whole).map(Pid)
}

/// Returns a process by the fields of its row; what the row does not say stays unknown.
pub(super) fn process(head: &Head, fields: &Fields<'_>) -> Option<Process> {
    let pid = pid_of(fields, Column::Pid)?;
    let flags = field(fields, Column::State).unwrap_or_default();
    let state = flags.bytes().next().and_then(process_state);
    let shown = Shown::of(fields);
    let cpu_time = field(fields, Column::CpuTime).and_then(seconds);
    let share = field(fields, Column::CpuShare).and_then(number);
    let age = field(fields, Column::Age)
        .and_then(seconds)
        .or_else(|| field(fields, Column::AgeSeconds).and_then(number))
        .or_else(|| age(cpu_time?, share.filter(|_| !head.has_live_shares)?));
    let user = field(fields, Column::User).unwrap_or_default();
    let channel = field(fields, Column::WaitChannel).filter(|name| !matches!(*name, "-" | "?" | "*" | "0"));
    let cgroups = Reading::from(field(fields, Column::Cgroup).and_then(cgroups));
    let group = pid_of(fields, Column::Group).unwrap_or_default();
    // A process that leads its session says so.
    let session =
        pid_of(fields, Column::Session).or_else(|| flags.contains('s').then_some(pid)).unwrap_or_default();
    Some(Process {
        key: ProcessKey { pid, ..ProcessKey::default() },
        parent: pid_of(fields, Column::Parent).unwrap_or_default(),
        group,
        session,
        terminal: field(fields, Column::Terminal).and_then(terminal).unwrap_or_default(),
        state: state.into(),
        role: role(&shown.name, &shown.command),
        uid: whole(user).into(),
        user: (!user.is_empty() && whole::<u32>(user).is_none()).then(|| user.to_owned()).into(),
        owner: owner(&cgroups, &Reading::default()),
        cgroups,
        age: age.map(Seconds).into(),
        cpu_time: cpu_time.map(Seconds).into(),
        cores: share.filter(|_| head.has_live_shares).map(|share| Cores(share / 100.0)).into(),
        thread_count: thread_count(head, fields, flags),
        states: states(state),
        wait_channels: channel
            .map(|name| WaitChannel { name: name.to_owned(), seen: 1 })
            .into_iter()
            .collect(),
        resident: field(fields, Column::Resident).and_then(|word| bytes(word, 1024)).map(Bytes).into(),
        shared_resident: field(fields, Column::Shared).and_then(|word| bytes(word, 1024)).map(Bytes).into(),
        name: shown.name,
        command: shown.command,
        ..Process::default()
    })
}

/// Returns the thread that a row is about, where it names one.
pub(super) fn thread(fields: &Fields<'_>) -> Option<Thread> {
    let tid = pid_of(fields, Column::Thread)?;
    let state = field(fields, Column::State).and_then(|flags| process_state(flags.bytes().next()?));
    let channel = field(fields, Column::WaitChannel).filter(|name| !matches!(*name, "-" | "?" | "*" | "0"));
    Some(Thread {
        tid,
        name: Shown::of(fields).name,
        states: states(state),
        wait_channels: channel
            .map(|name| WaitChannel { name: name.to_owned(), seen: 1 })
            .into_iter()
            .collect(),
        ..Thread::default()
    })
}

/// Returns how often a thread was seen in each state, after one look.
fn states(state: Option<ProcessState>) -> StateShares {
    let share = |wanted: ProcessState| if state == Some(wanted) { 1.0 } else { 0.0 };
    StateShares {
        n: usize::from(state.is_some()),
        running: share(ProcessState::Running),
        blocked: share(ProcessState::Blocked),
        sleeping: share(ProcessState::Sleeping),
    }
}

/// Returns the number of threads; one where `ps` would mark several and does not; 0: nobody says.
fn thread_count(head: &Head, fields: &Fields<'_>, flags: &str) -> u64 {
    if let Some(count) = field(fields, Column::ThreadCount).and_then(whole) {
        return count;
    }
    // The one-letter column of `ps -l` and `top` has no marks.
    let has_marks = head.columns.iter().any(|(column, _)| *column == Column::State) && flags.len() > 1;
    u64::from(has_marks && !flags.contains('l'))
}

/// Returns the age that follows from processor time and its share of the age, as `ps` works it out; of a share that is
/// rounded to nothing, the least age.
fn age(cpu_time_s: f64, share: f64) -> Option<f64> {
    if share >= SHARE_MIN {
        return Some(cpu_time_s / share * 100.0);
    }
    (share == 0.0 && cpu_time_s >= 1.0).then_some(cpu_time_s / SHARE_OF_NOTHING * 100.0)
}

/// Returns the device number of a terminal; 0: none.
fn terminal(name: &str) -> Option<i64> {
    if matches!(name, "?" | "-" | "??") {
        return Some(0);
    }
    let number =
        |prefix: &str| name.strip_prefix(prefix).and_then(whole::<i64>).filter(|number| *number < 256);
    number("pts/")
        .map(|number| PSEUDO_TERMINALS << 8 | number)
        .or_else(|| number("tty").map(|number| CONSOLES << 8 | number))
}

/// Reads `0::/system.slice/x.service` and, of version 1, `11:memory:/a,10:cpu:/b` with commas or semicolons between.
fn cgroups(text: &str) -> Option<BTreeMap<String, String>> {
    let mut cgroups = BTreeMap::new();
    // Lists of controllers hold commas too: every entry begins with its number.
    let mut starts: Vec<usize> = text
        .match_indices(|sign: char| sign.is_ascii_digit())
        .map(|(place, _)| place)
        .filter(|place| *place == 0 || matches!(text.as_bytes()[place - 1], b',' | b';'))
        .collect();
    starts.push(text.len());
    for pair in starts.windows(2) {
        let entry = text[pair[0]..pair[1]].trim_end_matches([',', ';']);
        let mut parts = entry.splitn(3, ':');
        if let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
            && path.starts_with('/')
        {
            cgroups.insert(controllers.to_owned(), path.to_owned());
        }
    }
    (!cgroups.is_empty()).then_some(cgroups)
}

/// What a row shows of the program.
struct Shown {
    name: String,
    command: Reading<CommandLine>,
}

impl Shown {
    fn of(fields: &Fields<'_>) -> Self {
        let texts: Vec<&str> =
            fields.iter().filter(|(column, _)| *column == Column::Command).map(|(_, text)| *text).collect();
        let last = texts.last().copied().unwrap_or_default();
        let own_name = (texts.len() > 1).then(|| texts[0]);
        let without_tree = without_tree(last);
        let text = without_tree.trim_end_matches("<defunct>").trim_end();
        // Threads of the kernel and processes without arguments stand in brackets.
        let bracketed = text.strip_prefix('[').and_then(|text| text.split_once(']')).map(|(name, _)| name);
        if let Some(name) = bracketed {
            return Self { name: cut(own_name.unwrap_or(name)), command: Reading::default() };
        }
        let arguments: Vec<&str> = text.split_ascii_whitespace().collect();
        let first = arguments.first().copied().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or(first).trim_start_matches('-').trim_end_matches(':');
        let command = if arguments.is_empty() {
            Reading::default()
        } else {
            Reading::Known(CommandLine::masked(&arguments))
        };
        Self { name: cut(own_name.unwrap_or(program)), command }
    }
}

/// Returns a name as the kernel keeps it.
fn cut(name: &str) -> String {
    masked_text(&name.chars().take(NAME_MAX).collect::<String>())
}

/// Returns a command without the branches that a tree of processes draws before it.
pub(super) fn without_tree(command: &str) -> &str {
    command.trim_start_matches([' ', '|', '\\', '_', '├', '└', '─', '│', '`', '+']).trim_start()
}

/// Returns how deep in a tree of processes a command stands: `ps` draws four signs for each level.
pub(super) fn depth(command_with_blanks: &str) -> usize {
    command_with_blanks.find("\\_").map_or(0, |place| place / 4 + 1)
}

#[cfg(test)]
mod tests {
    use super::{age, cgroups, depth, terminal, without_tree};

    #[test]
    fn an_age_follows_from_a_share_that_is_exact_enough() {
        assert_eq!(age(50.0, 2.0), Some(2500.0));
        assert_eq!(age(7.0, 0.0), Some(14_000.0));
        assert_eq!((age(7.0, 0.1), age(0.0, 0.0)), (None, None));
    }

    #[test]
    fn terminals_have_numbers() {
        assert_eq!((terminal("pts/3"), terminal("?"), terminal("tty1")), (Some(34_819), Some(0), Some(1025)));
        assert_eq!((terminal("pts/x"), terminal("pts/9999")), (None, None));
    }

    #[test]
    fn groups_of_both_versions_are_read() {
        let path = |text: &str, controllers: &str| cgroups(text).and_then(|mut all| all.remove(controllers));
        assert_eq!(
            path("0::/user.slice/user-1000.slice", ""),
            Some("/user.slice/user-1000.slice".to_owned())
        );
        let first = "11:memory:/docker/5f2c,10:cpu,cpuacct:/docker/5f2c;1:name=systemd:/docker/5f2c";
        assert_eq!(path(first, "memory"), Some("/docker/5f2c".to_owned()));
        assert_eq!(path(first, "cpu,cpuacct"), Some("/docker/5f2c".to_owned()));
        assert_eq!(cgroups("-"), None);
    }

    #[test]
    fn trees_are_taken_off() {
        assert_eq!(without_tree(" |   \\_ python train.py"), "python train.py");
        assert_eq!(
            (depth("python"), depth("\\_ a"), depth("    \\_ a"), depth("|       \\_ a")),
            (0, 1, 2, 3)
        );
    }
}
