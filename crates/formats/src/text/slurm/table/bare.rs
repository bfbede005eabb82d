//! Rows whose head is cut off or was never asked for, where the rows are unmistakable by themselves.

use std::sync::OnceLock;

use super::super::field::{Field, column};
use super::super::gathered::Gathered;
use super::super::record::Record;
use super::super::{hostlist, job, reason, state, tres, words};
use super::head::Head;
use super::split::{Mark, cells};
use crate::Format;
use crate::paste::Line;
use crate::text::Block;

/// Heads that the tools write when nobody asks for another, in the order in which they are tried.
const USUAL: &[&str] = &[
    "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)",
    "JOBID PARTITION NAME USER STATE TIME TIME_LIMI NODES NODELIST(REASON)",
    "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST",
    "NODELIST NODES PARTITION STATE",
    "NODELIST NODES PARTITION STATE CPUS S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON",
    "JobID JobName Partition Account AllocCPUS State ExitCode",
];

fn usual() -> &'static [Head] {
    static HEADS: OnceLock<Vec<Head>> = OnceLock::new();
    HEADS.get_or_init(|| USUAL.iter().filter_map(|head| Head::of(head)).collect())
}

/// Reads rows without a head, if the first of these lines is one.
pub(super) fn read(lines: &[Line<'_>], wanted: Format) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if !may_be_a_row(first) {
        return None;
    }
    let fitting = usual().iter().find(|head| head.kind.format() == wanted && is_sure(head, first));
    if let Some(head) = fitting {
        return gather(lines, wanted, |text| is_sure(head, text).then(|| head.record(text)).flatten());
    }
    gather(lines, wanted, |text| by_content(text, wanted))
}

fn gather(lines: &[Line<'_>], format: Format, record_of: impl Fn(&str) -> Option<Record>) -> Option<Block> {
    // Most lines are no row.
    record_of(&lines.first()?.text)?;
    let mut gathered = Gathered::default();
    let mut taken = 0;
    for line in lines {
        let Some(record) = record_of(&line.text) else {
            break;
        };
        let is_row = match format {
            Format::Sinfo => {
                let is_of_nodes = gathered.nodes.add(&record);
                gathered.add_queue_of_nodes(&record) || is_of_nodes
            }
            _ => gathered.add_job(&record),
        };
        if !is_row {
            break;
        }
        taken += 1;
    }
    (taken > 0).then(|| Block { lines: taken, scene: gathered.scene(format), remarks: Vec::new() })
}

/// Returns whether a line may be a row: cheap, for it is asked at every line.
fn may_be_a_row(text: &str) -> bool {
    let text = text.trim_start();
    text.len() <= 64 << 10 && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// Returns whether a line can be nothing but a row below a usual head.
fn is_sure(head: &Head, text: &str) -> bool {
    let Some(record) = head.record(text) else {
        return false;
    };
    let has = |field: Field| record.get(field);
    match head.kind.format() {
        Format::Squeue => {
            let last = has(Field::NodesOrReason).unwrap_or_default();
            let is_placed = hostlist::is_list(last) && !last.is_empty();
            let is_reason = last.starts_with('(') && reason::known_reason(last).is_some();
            has(Field::Elapsed).is_some_and(words::is_time) && (is_placed || is_reason)
        }
        Format::Sinfo => {
            let is_of_queue =
                has(Field::Avail).is_some() && has(Field::TimeLimit).is_some_and(words::is_time);
            let is_of_node = has(Field::Avail).is_none() && has(Field::NodeCount) == Some("1");
            is_of_queue || is_of_node
        }
        _ => {
            let is_code = |code: &str| {
                code.split_once(':').is_some_and(|(code, signal)| {
                    [code, signal]
                        .iter()
                        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
                })
            };
            has(Field::ExitCode).is_some_and(is_code)
        }
    }
}

/// Makes a record of cells that say by themselves what they are.
fn by_content(text: &str, wanted: Format) -> Option<Record> {
    if wanted == Format::Sacct
        && let Some(record) = by_names(text)
    {
        return Some(record);
    }
    let marks = [Mark::BarHash, Mark::Bar, Mark::Blanks];
    let mark = marks.into_iter().find(|mark| cells(text, *mark).is_some_and(|cells| cells.len() > 1))?;
    let cells = cells(text, mark)?;
    if cells.len() > 200 {
        return None;
    }
    match wanted {
        Format::Squeue if mark == Mark::BarHash => job_by_content(&cells),
        Format::Sacct if mark == Mark::Bar => job_by_content(&cells),
        Format::Sinfo => nodes_by_content(&cells, mark),
        _ => None,
    }
}

/// Makes a record of cells that each name what they hold: `JobID=7,State=FAILED,"AllocTRES=cpu=8,mem=4G"`.
fn by_names(text: &str) -> Option<Record> {
    if !text.contains("JobID=") || !text.contains("State=") {
        return None;
    }
    let mut record = Record::default();
    for cell in cells(text, Mark::Comma)? {
        let (name, value) = cell.split_once('=')?;
        if let Some(field) = column(name) {
            record.push(field, value);
        }
    }
    (record.has(Field::JobId) && record.has(Field::State)).then_some(record)
}

fn job_by_content(cells: &[&str]) -> Option<Record> {
    let state = cells.iter().find(|cell| state::is_long_job_state(cell))?;
    let is_long_id = |cell: &&&str| {
        let of_job = cell.split('.').next().unwrap_or_default();
        of_job.len() >= 4 && job::is_id(of_job)
    };
    let id = cells.iter().find(is_long_id)?;
    let mut record = Record::default();
    record.push(Field::JobId, *id);
    record.push(Field::State, *state);
    for cell in cells {
        if tres::pairs(cell).is_some() {
            record.push(Field::Tres, *cell);
        } else if tres::is_gres(cell) {
            record.push(Field::Gres, *cell);
        } else if hostlist::is_folded(cell) {
            record.push(Field::NodeName, *cell);
        } else if cell.len() > 4 && reason::known_reason(cell).is_some() {
            record.push(Field::Reason, *cell);
        }
    }
    Some(record)
}

fn nodes_by_content(cells: &[&str], mark: Mark) -> Option<Record> {
    let (name, rest) = cells.split_first()?;
    if !hostlist::is_list(name) {
        return None;
    }
    let mut record = Record::default();
    record.push(Field::NodeName, *name);
    let (mut has_state, mut has_gres) = (false, false);
    for cell in rest {
        if tres::is_gres(cell) {
            // `IDX` or a second list is what is used.
            let is_used = cell.contains("IDX") || has_gres;
            record.push(if is_used { Field::GresUsed } else { Field::Gres }, *cell);
            has_gres = true;
        } else if !has_state && state::node_state(cell).is_some() {
            record.push(Field::State, *cell);
            has_state = true;
        }
    }
    let is_sure = match mark {
        Mark::Blanks => has_state && has_gres,
        _ => has_state && (has_gres || cells.len() == 2) || has_gres && cells.len() >= 3,
    };
    is_sure.then_some(record)
}
