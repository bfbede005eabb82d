//! `squeue --json`, `sinfo --json`, `scontrol --json`, `sacct --json`, `sdiag --json` and answers of slurmrestd, of every
//! version of their data parsers: numbers stand plain or as `{ "set", "infinite", "number" }`, states as words or lists.

mod members;
mod value;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::SchedulerState;
use gpuwhy_model::units::Seconds;
use serde_json::{Map, Value};

use super::gathered::Gathered;
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context, Remark};

/// So much of a document is looked at before it is read as one.
const LINES_LOOKED_AT: usize = 60;
/// No document is longer.
const BYTES_MAX: usize = 512 << 20;
/// Lists of a document, and what stands in them.
const LISTS: &[(&str, Entry)] = &[
    ("jobs", Entry::Job),
    ("nodes", Entry::Node),
    ("sinfo", Entry::Row),
    ("partitions", Entry::Partition),
    ("reservations", Entry::Reservation),
    ("qos", Entry::Quality),
    ("QOS", Entry::Quality),
    ("associations", Entry::Association),
];

/// What stands in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Job,
    Node,
    /// A row of `sinfo`: nodes of one partition in one state.
    Row,
    Partition,
    Reservation,
    Quality,
    Association,
}

/// Reads a document, if it begins with the first of these lines; also what is whole of one that is cut.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim_start();
    if !first.starts_with('{') || !is_of_slurm(lines) {
        return None;
    }
    let mut gathered = Gathered::default();
    let (text, ends) = joined(lines);
    let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    match stream.next() {
        Some(Ok(Value::Object(document))) => {
            if let Some(entry) = entry_alone(&document) {
                // The begin of the list is cut off.
                return Some(read_entries(lines, &text, &ends, &text, entry));
            }
            if !add_document(&document, &mut gathered) {
                return None;
            }
            let taken = lines_up_to(&ends, stream.byte_offset());
            Some(Block { lines: taken, scene: gathered.scene(Format::SlurmJson), remarks: Vec::new() })
        }
        Some(Ok(_)) | None => None,
        Some(Err(_)) => read_cut(lines, &text, &ends),
    }
}

/// Returns whether the beginning of a document has names that only Slurm writes.
fn is_of_slurm(lines: &[Line<'_>]) -> bool {
    const MARKS: &[&str] = &[
        "data_parser/v0",
        "openapi/v0.0",
        "openapi/slurm",
        "\"job_state\"",
        "\"state_reason\"",
        "\"accrue_time\"",
        "\"association_id\"",
        "\"allocation_nodes\"",
        "\"burstbuffer_network_address\"",
        "\"gres_used\"",
        "\"alloc_cpus\"",
        "\"sinfo\"",
        "\"slurmd_start_time\"",
        "\"schedule_cycle_max\"",
        "\"purge_completed\"",
        "\"minimum_cpus_per_node\"",
        "\"max_time_limit\"",
        "\"partition_memory_per_cpu\"",
        "\"maximum_nodes_per_job\"",
        "\"preemption_mode\"",
        "\"slurm_version\"",
        "\"Slurm\"",
        "\"array_job_id\"",
    ];
    let looked_at = lines.iter().take(LINES_LOOKED_AT);
    looked_at.into_iter().any(|line| {
        let start = start_of(&line.text, 8192);
        MARKS.iter().any(|mark| start.contains(mark))
    })
}

fn start_of(text: &str, length: usize) -> &str {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns lines as one text, and where each of them ends in it.
fn joined(lines: &[Line<'_>]) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut ends = Vec::new();
    for line in lines {
        if text.len() + line.text.len() > BYTES_MAX {
            break;
        }
        text.push_str(&line.text);
        text.push('\n');
        ends.push(text.len());
    }
    (text, ends)
}

/// Returns the number of lines that hold so many bytes.
fn lines_up_to(ends: &[usize], bytes: usize) -> usize {
    ends.iter().take_while(|end| **end < bytes).count() + 1
}

fn add_document(document: &Map<String, Value>, gathered: &mut Gathered) -> bool {
    // Answers of some proxies stand in a member of their own.
    let document =
        document.get("result").or(document.get("data")).and_then(Value::as_object).unwrap_or(document);
    let mut is_known = false;
    for (name, entry) in LISTS {
        let Some(Value::Array(entries)) = document.get(*name) else {
            continue;
        };
        is_known = true;
        for value in entries.iter().filter_map(Value::as_object) {
            members::add(*entry, value, gathered);
        }
    }
    if let Some(Value::Object(statistics)) = document.get("statistics") {
        gathered.scheduler = scheduler(statistics);
        is_known = true;
    }
    is_known
}

/// Reads what is whole of a document that is cut at its end.
fn read_cut(lines: &[Line<'_>], text: &str, ends: &[usize]) -> Option<Block> {
    let (list, entry) = LISTS
        .iter()
        .filter_map(|(name, entry)| {
            let mark = format!("\"{name}\"");
            let place = text.find(&mark)?;
            let rest = text[place + mark.len()..].trim_start().strip_prefix(':')?.trim_start();
            rest.strip_prefix('[').map(|list| (list, *entry))
        })
        .min_by_key(|(list, _)| std::cmp::Reverse(list.len()))?;
    Some(read_entries(lines, text, ends, list, entry))
}

/// Returns what an object is, where it is an entry of a list without the list.
fn entry_alone(object: &Map<String, Value>) -> Option<Entry> {
    let has = |name: &str| object.contains_key(name);
    if has("job_id") && (has("job_state") || has("state")) {
        Some(Entry::Job)
    } else if has("real_memory") && has("name") && has("state") {
        Some(Entry::Node)
    } else {
        None
    }
}

/// Reads entries of a list one by one, as long as they are whole.
fn read_entries(lines: &[Line<'_>], text: &str, ends: &[usize], list: &str, entry: Entry) -> Block {
    let mut gathered = Gathered::default();
    let mut rest = list.trim_start();
    let mut whole = 0;
    while rest.starts_with('{') {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(Value::Object(value))) = stream.next() else {
            break;
        };
        members::add(entry, &value, &mut gathered);
        whole += 1;
        rest = rest[stream.byte_offset()..].trim_start().trim_start_matches(',').trim_start();
    }
    // A list that ends is followed by what was cut; one that does not is cut itself.
    let taken = if whole == 0 { 1 } else { lines_up_to(ends, text.len() - rest.len()).max(1) };
    let cut_at = lines.get(ends.len().saturating_sub(1)).or(lines.last()).map_or(0, |line| line.number);
    let is_cut = rest.trim().is_empty() || rest.starts_with('{');
    let taken = if is_cut { ends.len().max(taken) } else { taken };
    let remarks = is_cut.then_some(Remark::Cut { line: cut_at, cards: 0 }).into_iter().collect();
    Block { lines: taken, scene: gathered.scene(Format::SlurmJson), remarks }
}

fn scheduler(statistics: &Map<String, Value>) -> SchedulerState {
    let number = |name: &str| -> Reading<u64> {
        statistics.get(name).and_then(value::number).and_then(value::whole).into()
    };
    let cycle = |name: &str| -> Reading<Seconds> {
        statistics.get(name).and_then(value::number).map(|microseconds| Seconds(microseconds / 1e6)).into()
    };
    SchedulerState {
        waiting: number("jobs_pending"),
        running: number("jobs_running"),
        cycle: cycle("schedule_cycle_last"),
        backfill_cycle: cycle("bf_cycle_last"),
        threads: number("server_thread_count"),
        unsent: number("agent_queue_size"),
    }
}
