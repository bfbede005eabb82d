//! Output of `ps` in any of its forms, and of `docker top`; `busybox ps` too.

use std::collections::BTreeMap;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Process;

use super::columns::{self, Column, Head};
use super::commands::words_of;
use super::process::{depth, process, thread};
use super::{amounts, block, scene};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context, Remark};

/// What process number 1 of a machine is called.
const INITS: &[&str] =
    &["systemd", "init", "launchd", "runit", "openrc-init", "busybox", "s6-svscan", "systemd-"];

/// A row goes on over no more lines.
const LINES_OF_A_ROW: usize = 6;

/// Columns of rows whose head was left out, most often by `grep`.
const WITHOUT_HEAD: &[&str] = &[
    "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND",
    "UID PID PPID LWP C NLWP STIME TTY TIME CMD",
    "UID PID PPID C STIME TTY TIME CMD",
];

/// Reads the table that begins with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let (head, from) = match columns::head(first).filter(|head| !head.has_live_shares) {
        Some(head) => (head, 1),
        None => (head_of_command(first, context).or_else(|| head_of_row(first))?, 0),
    };
    let mut table = Table::default();
    let (rows, remarks) = table.take(&head, lines.get(from..).unwrap_or_default());
    let mut scene = scene(Format::Ps);
    scene.processes = table.into_processes();
    scene.machine.viewer.initial_pid_namespace = is_initial_namespace(&scene.processes).into();
    Some(Block { remarks, ..block(from + rows, scene) })
}

/// Returns whether processes are numbered as the machine numbers them: there, the kernel's own first thread is number 2;
/// in a container some program is number 1.
pub(super) fn is_initial_namespace(processes: &[Process]) -> Option<bool> {
    let named = |number: u32| processes.iter().find(|process| process.key.pid == Pid(number));
    if named(2).is_some_and(|process| process.name == "kthreadd") {
        return Some(true);
    }
    let first = named(1)?;
    (!INITS.contains(&first.name.as_str())).then_some(false)
}

/// Returns the head of a row by the columns that the command asked for: `ps -eo pid,stat,wchan:32,cmd | grep D`.
fn head_of_command(line: &str, context: &Context<'_>) -> Option<Head> {
    let words = words_of(context.command?, "ps")?;
    let mut names: Vec<&str> = Vec::new();
    for pair in words.windows(2) {
        // `-o`, `-eo`, `axo`, `--format`.
        let is_option = pair[0] == "--format" || pair[0].ends_with('o') && !pair[0].starts_with("--");
        if is_option {
            names.extend(pair[1].split(',').filter_map(|name| name.split([':', '=']).next()));
        }
    }
    let head = Head::of_names(&names)?;
    is_row(&head, line).then_some(head)
}

/// Returns the head that a row must have had.
fn head_of_row(line: &str) -> Option<Head> {
    // Most lines of other texts are told apart by their second word.
    let second = line.split_ascii_whitespace().nth(1)?;
    amounts::whole::<u32>(second)?;
    WITHOUT_HEAD.iter().filter_map(|names| columns::head(names)).find(|head| is_sure_row(head, line))
}

/// Returns whether every field of a row is what its column holds, so that it can be nothing else.
fn is_sure_row(head: &Head, line: &str) -> bool {
    let Some(fields) = columns::row(head, line) else {
        return false;
    };
    let is_number = |word: &str| amounts::whole::<u64>(word).is_some();
    fields.iter().enumerate().all(|(place, (column, word))| match column {
        Column::User => word.len() <= 32 && !word.contains(['/', ':', '[', '(']),
        Column::Pid | Column::Parent | Column::Thread | Column::ThreadCount | Column::Resident => {
            is_number(word)
        }
        // From a hundred on there is no room for a decimal.
        Column::CpuShare => {
            amounts::number(word).is_some_and(|share| share >= 100.0 || word.contains(['.', ',']))
        }
        Column::Other => is_number(word) || place == 3 && amounts::number(word).is_some(),
        Column::Terminal => matches!(*word, "?" | "-") || word.starts_with("pts/") || word.starts_with("tty"),
        Column::State => word.len() <= 6 && word.starts_with(|first: char| "RSDTtZXIW".contains(first)),
        Column::CpuTime => amounts::seconds(word).is_some(),
        Column::Started => word.contains(':') || word.len() <= 7,
        Column::Command => !word.trim().is_empty(),
        _ => true,
    })
}

/// Processes by number, with their threads.
#[derive(Debug, Default)]
pub(super) struct Table {
    processes: BTreeMap<Pid, Process>,
    /// Processes by their depth in a drawn tree.
    branch: Vec<Pid>,
}

impl Table {
    /// Takes the rows below a head; returns how many lines there are, and what is to be said of them.
    pub(super) fn take(&mut self, head: &Head, lines: &[Line<'_>]) -> (usize, Vec<Remark>) {
        let mut remarks = Vec::new();
        let mut open: Option<String> = None;
        let mut taken = 0;
        for (place, line) in lines.iter().enumerate() {
            let text = line.text.as_ref();
            if is_row(head, text) {
                let row = open.replace(text.to_owned());
                self.close(head, row.as_deref());
                taken = place + 1;
                continue;
            }
            let is_over = text.trim().is_empty()
                || command_after_prompt(text).is_some()
                || columns::head(text).is_some();
            let goes_on = lines[place + 1..].iter().take(LINES_OF_A_ROW).any(|line| is_row(head, &line.text));
            if is_over || !goes_on {
                break;
            }
            // A narrow window broke a long command.
            match &mut open {
                Some(row) if row.len() < 16 << 10 => {
                    row.push(' ');
                    row.push_str(text.trim());
                }
                _ => remarks.push(Remark::NotUnderstood { line: line.number }),
            }
        }
        self.close(head, open.as_deref());
        (taken, remarks)
    }

    fn close(&mut self, head: &Head, row: Option<&str>) {
        let Some(fields) = row.and_then(|row| columns::row(head, row)) else {
            return;
        };
        let Some(mut found) = process(head, &fields) else {
            return;
        };
        let command = fields.iter().rev().find(|(column, _)| *column == Column::Command);
        if let Some((_, command)) = command.filter(|_| !head.has(Column::Parent)) {
            found.parent = self.parent_in_tree(found.key.pid, depth(command)).unwrap_or(found.parent);
        }
        let thread = thread(&fields);
        let known = self.processes.entry(found.key.pid).or_insert(found);
        if let Some(thread) = thread {
            match &mut known.threads {
                Reading::Known(threads) => threads.push(thread),
                unknown => *unknown = Reading::Known(vec![thread]),
            }
        }
    }

    /// Returns the parent that a drawn tree shows.
    fn parent_in_tree(&mut self, pid: Pid, depth: usize) -> Option<Pid> {
        self.branch.truncate(depth);
        let parent = depth.checked_sub(1).and_then(|above| self.branch.get(above).copied());
        if self.branch.len() == depth {
            self.branch.push(pid);
        }
        parent
    }

    /// Returns the processes, by number.
    pub(super) fn into_processes(self) -> Vec<Process> {
        self.processes.into_values().collect()
    }
}

fn is_row(head: &Head, text: &str) -> bool {
    columns::row(head, text).is_some_and(|fields| {
        // A broken command may begin with a number: the other fields must fit as well.
        fields.iter().all(|(column, word)| match column {
            Column::Parent | Column::Group | Column::ThreadCount => amounts::whole::<u64>(word).is_some(),
            Column::State => word.len() <= 8 && word.starts_with(|first: char| first.is_ascii_alphabetic()),
            Column::CpuTime => amounts::seconds(word).is_some() || *word == "-",
            Column::CpuShare => amounts::number(word).is_some(),
            _ => true,
        })
    })
}
