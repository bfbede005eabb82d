//! Tables of Slurm's tools and of people: a head line with known names, and rows, between blanks or some mark.

mod align;
mod bare;
mod head;
mod split;

use gpuwhy_model::scene::QuotaHolder;

use super::gathered::Gathered;
use super::record::Record;
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context, Remark};
use head::{Head, Kind};

/// A row that no head explains is left out; this many in a row end the table.
const STRANGERS_MAX: usize = 3;
/// No table is longer.
const ROWS_MAX: usize = 2_000_000;

/// Reads a table of one of the tools, if it begins with the first of these lines.
fn read(lines: &[Line<'_>], wanted: Format) -> Option<Block> {
    // `squeue -l` and `sinfo -l` write the date first.
    let before = usize::from(is_date(&lines.first()?.text));
    let head = Head::of(&lines.get(before)?.text)?;
    (head.kind.format() == wanted).then(|| {
        let mut block = rows(&lines[before..], &head);
        block.lines += before;
        block
    })
}

/// Returns whether a line is the date as `date` writes it: `Mon Nov 30 20:00:00 2026`.
fn is_date(text: &str) -> bool {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let text = text.trim_start();
    if text.get(..3).is_none_or(|day| !DAYS.contains(&day)) {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().take(8).collect();
    (4..=7).contains(&words.len()) && words.iter().any(|word| word.matches(':').count() == 2)
}

fn rows(lines: &[Line<'_>], head: &Head) -> Block {
    let mut gathered = Gathered::default();
    let mut remarks = Vec::new();
    let mut taken = 1;
    let mut strangers: Vec<u64> = Vec::new();
    for (place, line) in lines.iter().enumerate().skip(1).take(ROWS_MAX) {
        let text = line.text.as_ref();
        if split::is_rule(text) {
            taken = place + 1;
            continue;
        }
        if text.trim().is_empty() || command_after_prompt(text).is_some() {
            break;
        }
        // `watch` and `-i` write the head again.
        if Head::of(text).is_some_and(|again| again.kind == head.kind && again.columns == head.columns) {
            taken = place + 1;
            continue;
        }
        let record = head.record(text);
        let is_row = record.is_some_and(|record| add(head.kind, &record, &mut gathered));
        if is_row {
            remarks.extend(strangers.drain(..).map(|line| Remark::NotUnderstood { line }));
            taken = place + 1;
            continue;
        }
        // A date or a title may stand between a head and its rows; a line of another kind ends the table.
        strangers.push(line.number);
        if strangers.len() > STRANGERS_MAX || Head::of(text).is_some() {
            break;
        }
    }
    Block { lines: taken, scene: gathered.scene(head.kind.format()), remarks }
}

/// Adds a row to what was gathered. Returns whether it is a row of this kind of table.
fn add(kind: Kind, record: &Record, gathered: &mut Gathered) -> bool {
    match kind {
        Kind::Jobs | Kind::Accounting | Kind::Priorities | Kind::JobsByHand => gathered.add_job(record),
        Kind::Nodes => {
            let is_of_nodes = gathered.nodes.add(record);
            let is_of_queue = gathered.add_queue_of_nodes(record);
            is_of_nodes || is_of_queue
        }
        Kind::Queues => gathered.queues.add(record),
        Kind::Qualities => gathered.add_quotas(record, QuotaHolder::Qos),
        Kind::Associations | Kind::Shares => gathered.add_quotas(record, QuotaHolder::Account),
    }
}

/// Reads `squeue`.
pub(in crate::text) fn read_squeue(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    read(lines, Format::Squeue).or_else(|| bare::read(lines, Format::Squeue))
}

/// Reads `sinfo`.
pub(in crate::text) fn read_sinfo(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    read(lines, Format::Sinfo).or_else(|| bare::read(lines, Format::Sinfo))
}

/// Reads `sacct`.
pub(in crate::text) fn read_sacct(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    read(lines, Format::Sacct).or_else(|| bare::read(lines, Format::Sacct))
}

/// Reads `sprio`.
pub(in crate::text) fn read_sprio(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    read(lines, Format::Sprio)
}

/// Reads `sshare`.
pub(in crate::text) fn read_sshare(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    read(lines, Format::Sshare)
}

/// Reads tables of `sacctmgr show`.
pub(in crate::text) fn read_sacctmgr(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    read(lines, Format::Sacctmgr)
}

/// Reads tables of jobs and queues that somebody made.
pub(in crate::text) fn read_job_table(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    read(lines, Format::JobTable)
}
