//! `scontrol show job|node|partition|reservation|assoc_mgr`: names and values with `=` between them, over several lines
//! or, with `-o`, in one.

mod keys;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, QuotaHolder, Reservation, Scheduler};

use super::field::Field;
use super::gathered::Gathered;
use super::record::Record;
use super::{hostlist, job, words};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};
use keys::{Kind, field};

/// A longer line is no line of values.
const LENGTH_MAX: usize = 64 << 10;

/// Reads blocks of values, if one begins with the first of these lines, or if it is the middle of one.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let mut kind = start(first).or_else(|| middle(first))?;
    let mut gathered = Gathered::default();
    let mut record = Record::default();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.as_ref();
        if text.trim().is_empty() {
            continue;
        }
        if let Some(next) = start(text) {
            add(kind, &std::mem::take(&mut record), context, &mut gathered);
            kind = next;
        } else if !goes_on(text, kind) {
            break;
        }
        take_values(text, kind, &mut record);
        taken = place + 1;
    }
    add(kind, &record, context, &mut gathered);
    (taken > 0).then(|| Block { lines: taken, scene: gathered.scene(Format::Scontrol), remarks: Vec::new() })
}

/// What the first line of a record of each kind begins with.
const STARTS: &[(&str, Kind)] = &[
    ("JobId=", Kind::Job),
    ("NodeName=", Kind::Node),
    ("PartitionName=", Kind::Partition),
    ("ReservationName=", Kind::Reservation),
    ("ClusterName=", Kind::Association),
];

/// Returns what begins with a line, if anything does.
fn start(text: &str) -> Option<Kind> {
    let text = text.trim_start();
    let found = STARTS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, kind)| *kind);
    let is_quality = text.strip_prefix("QOS=").is_some_and(|rest| rest.trim_end().ends_with(')'));
    found.or(is_quality.then_some(Kind::Quality)).filter(|_| text.len() <= LENGTH_MAX)
}

/// Returns what a line is in the middle of, where the begin is cut off.
fn middle(text: &str) -> Option<Kind> {
    let text = text.trim_start();
    let has = |part: &str| text.contains(part);
    if text.len() > LENGTH_MAX || !text.contains('=') {
        None
    } else if text.starts_with("JobState=") || has("UserId=") && has("GroupId=") || is_of_job(text) {
        Some(Kind::Job)
    } else if text.starts_with("State=") && has("ThreadsPerCore=")
        || text.starts_with("CPUAlloc=") && has("CPUTot=")
        || text.starts_with("CfgTRES=")
        || text.starts_with("Gres=") && tres_value(text)
    {
        Some(Kind::Node)
    } else {
        None
    }
}

/// Returns whether a line has values that only a job has: people pick out single lines.
fn is_of_job(text: &str) -> bool {
    const OF_JOB: &[&str] = &[
        "ReqTRES=",
        "NumNodes=",
        "NumTasks=",
        "ReqNodeList=",
        "MinMemoryNode=",
        "MinMemoryCPU=",
        "TresPerNode=",
        "TresPerJob=",
    ];
    let begins_so = OF_JOB.iter().any(|key| text.starts_with(key));
    let value = text.split_once('=').map_or("", |(_, value)| value);
    begins_so && !value.trim().is_empty() || text.starts_with("RunTime=") && text.contains("TimeLimit=")
}

fn tres_value(text: &str) -> bool {
    text.split_whitespace()
        .next()
        .and_then(|word| word.split_once('='))
        .is_some_and(|(_, value)| super::tres::is_gres(value))
}

/// Returns whether a line goes on with the block before it.
fn goes_on(text: &str, kind: Kind) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let is_title = matches!(kind, Kind::Quality | Kind::Association)
        && (text.starts_with(char::is_whitespace) || text.ends_with("Records") || word == "No");
    text.len() <= LENGTH_MAX && command_after_prompt(text).is_none() && (key_of(word).is_some() || is_title)
}

/// Returns the name before the `=` of a word, if it is one.
fn key_of(word: &str) -> Option<&str> {
    let (key, _) = word.split_once('=')?;
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"/:._-&".contains(&byte);
    (key.len() <= 40
        && key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(is_sign))
    .then_some(key)
}

/// Keys whose values are what people or checks wrote: words with `=` may stand in them.
const FREE: &[&str] =
    &["Reason", "Comment", "JobName", "Command", "OS", "Extra", "AdminComment", "SubmitLine"];

/// Adds the values of a line to a record.
fn take_values(text: &str, kind: Kind, record: &mut Record) {
    let mut open: Option<(&str, String)> = None;
    for word in text.split_whitespace() {
        let key = key_of(word).filter(|key| match &open {
            // Only a name that surely is one ends what somebody wrote.
            Some((before, _)) if FREE.contains(before) => {
                field(kind, key).is_some() || ENDS_FREE.contains(key)
            }
            _ => true,
        });
        match key {
            Some(key) => {
                push(kind, open.take(), record);
                open = Some((key, word[key.len() + 1..].to_owned()));
            }
            None => {
                if let Some((_, value)) = &mut open {
                    value.push(' ');
                    value.push_str(word);
                }
            }
        }
    }
    push(kind, open, record);
}

/// Keys that stand behind free text and are of no use themselves.
const ENDS_FREE: &[&str] = &[
    "UserId",
    "GroupId",
    "MCS_label",
    "Nice",
    "Requeue",
    "WorkDir",
    "StdErr",
    "StdIn",
    "StdOut",
    "Boards",
    "Dependency",
];

fn push(kind: Kind, pair: Option<(&str, String)>, record: &mut Record) {
    if let Some((key, value)) = pair
        && let Some(field) = field(kind, key)
    {
        record.push(field, value);
    }
}

/// Returns what the command asked to be shown: `scontrol show job 8841 | grep TRES`.
fn asked_for<'text>(context: &Context<'text>, what: &[&str]) -> Option<&'text str> {
    let mut words = context.command?.split(|sign: char| sign.is_whitespace() || "=|;".contains(sign));
    words.find(|word| what.iter().any(|name| word.eq_ignore_ascii_case(name)))?;
    words.find(|word| !word.is_empty())
}

fn add(kind: Kind, record: &Record, context: &Context<'_>, gathered: &mut Gathered) {
    if *record == Record::default() {
        return;
    }
    match kind {
        Kind::Job => {
            if let Some(job) = job::job(record) {
                gathered.push_job(job);
            } else {
                let id = asked_for(context, &["job", "jobid", "jobs"])
                    .filter(|id| job::is_id(id))
                    .unwrap_or_default();
                gathered.push_job(Job { id: id.to_owned(), ..job::nameless(record) });
            }
        }
        Kind::Node => {
            let mut record = record.clone();
            if record.get(Field::NodeName).is_none() {
                match asked_for(context, &["node", "nodes"]).filter(|name| hostlist::is_list(name)) {
                    Some(name) => record.put_first(Field::NodeName, name),
                    None => record.push(Field::NodeCount, "1"),
                }
            }
            gathered.nodes.add(&record);
        }
        Kind::Partition => {
            gathered.queues.add(record);
        }
        Kind::Reservation => gathered.reservations.extend(reservation(record)),
        Kind::Quality => {
            gathered.add_quotas(&without_number(record, Field::Qos), QuotaHolder::Qos);
        }
        Kind::Association => {
            gathered.add_quotas(&without_number(record, Field::User), QuotaHolder::Account);
        }
    }
}

/// Takes the number in brackets off a name: `gpu(5)`.
fn without_number(record: &Record, field: Field) -> Record {
    let mut record = record.clone();
    if let Some(name) = record.get(field).and_then(|name| name.split('(').next()).map(str::to_owned) {
        record.put_first(field, &name);
    }
    record
}

pub(super) fn reservation(record: &Record) -> Option<Reservation> {
    let text = |field: Field| -> Reading<String> { record.get(field).map(str::to_owned).into() };
    let flags = record.get(Field::Flags).unwrap_or_default().to_ascii_uppercase();
    let users = record.all(Field::Users).flat_map(|names| names.split(',')).filter_map(words::said);
    Some(Reservation {
        name: record.get(Field::ReservationName)?.to_owned(),
        scheduler: Scheduler::Slurm,
        nodes: record.get(Field::NodeName).map(hostlist::names).unwrap_or_default(),
        start: text(Field::StartTime),
        end: text(Field::EndTime),
        is_active: record.get(Field::State).map(|state| state.eq_ignore_ascii_case("active")).into(),
        is_maintenance: flags.split(',').any(|flag| flag == "MAINT"),
        users: users.map(str::to_owned).collect(),
    })
}
