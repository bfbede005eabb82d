//! The `#SBATCH` lines of a batch script: what a job asks for.

use super::field::Field;
use super::gathered::Gathered;
use super::job;
use super::record::Record;
use super::words::count;
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Reads the request of a script, if its lines begin with the first of these.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let is_shell = |text: &str| text.starts_with("#!");
    let first = lines.first()?.text.trim();
    let is_begin = options_of(first).is_some()
        || is_shell(first) && lines.iter().skip(1).take(3).any(|line| options_of(&line.text).is_some());
    if !is_begin {
        return None;
    }
    let mut record = Record::default();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate().take(2000) {
        let text = line.text.trim();
        match options_of(text) {
            Some(options) => {
                add(options, &mut record);
                taken = place + 1;
            }
            None if text.is_empty() || text.starts_with('#') => {}
            None => break,
        }
    }
    settle(&mut record);
    let mut gathered = Gathered::default();
    gathered.push_job(job::nameless(&record));
    Some(Block { lines: taken.max(1), scene: gathered.scene(Format::JobScript), remarks: Vec::new() })
}

/// Adds what Slurm takes where a script does not say it: one task, on one node.
fn settle(record: &mut Record) {
    let number = |field: Field| record.get(field).and_then(count);
    let (tasks, nodes, on_each) =
        (number(Field::Tasks), number(Field::NodeCount), number(Field::TasksPerNode));
    let tasks = tasks.unwrap_or_else(|| nodes.unwrap_or(1).saturating_mul(on_each.unwrap_or(1)));
    record.put_first(Field::Tasks, &tasks.to_string());
    if nodes.is_none() && tasks == 1 {
        record.push(Field::NodeCount, "1");
    }
}

fn options_of(text: &str) -> Option<&str> {
    text.trim().strip_prefix("#SBATCH").filter(|rest| rest.starts_with(char::is_whitespace)).map(str::trim)
}

/// Adds the options of one line: `--gres=gpu:2 -c 8  # for the loaders`.
fn add(options: &str, record: &mut Record) {
    let options = options.split(" #").next().unwrap_or_default();
    let mut words = options.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let (name, value) = if let Some((name, value)) = word.split_once('=') {
            (name, Some(value))
        } else {
            let is_short = word.starts_with('-') && !word.starts_with("--");
            let (name, value) = word.split_at_checked(2).filter(|_| is_short).unwrap_or((word, ""));
            let next = words.next_if(|next| value.is_empty() && !next.starts_with('-'));
            (name, next.or(Some(value).filter(|value| !value.is_empty())))
        };
        let value = value.unwrap_or_default().trim_matches(['"', '\'']);
        match name {
            "--gpus" | "-G" => record.push(Field::GresPerJob, format!("gpu:{value}")),
            "--gpus-per-node" => record.push(Field::Gres, format!("gpu:{value}")),
            "--gpus-per-task" => record.push(Field::GresPerTask, format!("gpu:{value}")),
            "--exclusive" => record.push(Field::Exclusive, if value.is_empty() { "true" } else { value }),
            _ => {
                if let Some(field) = field(name) {
                    record.push(field, value);
                }
            }
        }
    }
}

fn field(option: &str) -> Option<Field> {
    let field = match option {
        "--job-name" | "-J" => Field::JobName,
        "--partition" | "-p" => Field::Partition,
        "--account" | "-A" => Field::Account,
        "--qos" | "-q" => Field::Qos,
        "--nodes" | "-N" => Field::NodeCount,
        "--ntasks" | "-n" => Field::Tasks,
        "--ntasks-per-node" => Field::TasksPerNode,
        "--cpus-per-task" | "-c" => Field::CpusPerTask,
        "--mem" => Field::MemoryPerNode,
        "--mem-per-cpu" => Field::MemoryPerCpu,
        "--time" | "-t" => Field::TimeLimit,
        "--gres" => Field::Gres,
        "--constraint" | "-C" => Field::Constraint,
        "--nodelist" | "-w" => Field::WantedNodes,
        "--exclude" | "-x" => Field::ExcludedNodes,
        "--dependency" | "-d" => Field::Dependency,
        "--begin" | "-b" => Field::BeginTime,
        "--reservation" => Field::Reservation,
        _ => return None,
    };
    Some(field)
}
