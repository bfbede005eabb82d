//! A job out of what a record says.

use gpuwhy_model::command_line::{CommandLine, masked_text};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, Resources, Scheduler, WaitReason};
use gpuwhy_model::units::{Bytes, Seconds};

use super::field::Field;
use super::record::Record;
use super::words::{Per, count, memory, said, time};
use super::{hostlist, reason, state, tres, usage};

/// A plain number of a time limit counts minutes.
const MINUTE_S: f64 = 60.0;

/// Returns the job of a record; none when the record is of no job.
pub(super) fn job(record: &Record) -> Option<Job> {
    let (id, alike) = id(record)?;
    Some(Job { id, alike, ..nameless(record) })
}

/// Returns the job of a record that does not say which one it is.
pub(super) fn nameless(record: &Record) -> Job {
    let mut job = Job { scheduler: Scheduler::Slurm, ..Job::default() };
    job.name = text(record, Field::JobName).or(text(record, Field::Name)).map(|name| masked_text(&name));
    job.user = text(record, Field::User).map(|user| user.split('(').next().unwrap_or_default().to_owned());
    job.account = text(record, Field::Account);
    job.queues = list(record, Field::Partition);
    job.qos = text(record, Field::Qos);
    fill_state(record, &mut job);
    job.priority = record.get(Field::Priority).and_then(|text| text.parse().ok()).into();
    job.priority_parts = record
        .factors()
        .filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse::<f64>().ok()?)))
        .collect();
    fill_request(record, &mut job);
    job.exclusive = exclusive(record);
    job.constraint = text(record, Field::Constraint).or(text(record, Field::Features));
    job.reservation = text(record, Field::Reservation);
    job.dependency = text(record, Field::Dependency);
    job.wanted_nodes = nodes(record, Field::WantedNodes);
    job.excluded_nodes = nodes(record, Field::ExcludedNodes);
    job.submitted = text(record, Field::SubmitTime);
    job.begins = text(record, Field::BeginTime);
    if job.phase == Reading::Known(JobPhase::Waiting) {
        job.expected_start = text(record, Field::StartTime);
    }
    job.elapsed = duration(record, Field::Elapsed);
    let command = record.get(Field::Command).map(|line| CommandLine::masked(line.split_whitespace()));
    job.command = command.into();
    job.usage = usage::of_record(record, &job);
    job
}

/// Returns the id, and how many further jobs it stands for: `8841`, `8841_3`, `8841_[7-20%4]`, `8841-8846`.
fn id(record: &Record) -> Option<(String, u64)> {
    let id = record.get(Field::JobId).or_else(|| record.get(Field::ArrayJob))?;
    if !is_id(id) {
        return None;
    }
    // A task of an array has a number of its own, and people know it by that of the array.
    let array = record.get(Field::ArrayJob).filter(|array| is_id(array) && !id.contains('_'));
    let id = match array.zip(record.get(Field::ArrayTask)) {
        Some((array, tasks)) if tasks.contains(['-', ',', '%', '[']) => {
            format!("{array}_[{}]", tasks.trim_matches(['[', ']']))
        }
        Some((array, task)) if task.bytes().all(|byte| byte.is_ascii_digit()) => format!("{array}_{task}"),
        _ => id.to_owned(),
    };
    let alike = match (id.split_once("_["), id.split_once('-')) {
        (Some((_, tasks)), _) => tasks_in(tasks.trim_end_matches(']')).saturating_sub(1),
        (None, Some((first, last))) => match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) if first <= last => (last - first).min(100_000),
            _ => 0,
        },
        _ => 0,
    };
    Some((id, alike))
}

/// Returns whether a text is the id of a job: a number, with the task of an array, a component or a range behind it.
pub(super) fn is_id(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_part = |byte: u8| byte.is_ascii_digit() || b"_[]-%,+:.".contains(&byte);
    let rest = &text[digits..];
    (1..=18).contains(&digits)
        && (rest.is_empty() || rest.starts_with(['_', '+', '-']) && text.len() > digits + 1)
        && rest.bytes().all(is_part)
}

/// Returns the number of tasks in `7-20%4`, `1,3,5-9`, `0-100:10`.
fn tasks_in(tasks: &str) -> u64 {
    let tasks = tasks.split('%').next().unwrap_or_default();
    let of_part = |part: &str| -> u64 {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<u64>(), last.parse::<u64>(), step.parse::<u64>()) {
            (Ok(first), Ok(last), Ok(step)) if first <= last && step > 0 => (last - first) / step + 1,
            _ => 0,
        }
    };
    tasks.split(',').map(of_part).fold(0, u64::saturating_add).min(1_000_000)
}

fn fill_state(record: &Record, job: &mut Job) {
    job.state = text(record, Field::State);
    job.phase = record.get(Field::State).and_then(state::phase).into();
    let last = record.get(Field::NodesOrReason);
    let bracketed = last.filter(|text| text.starts_with('('));
    let reason_of_its_own = record.raw(Field::Reason).and_then(reason::reason);
    let found = bracketed.and_then(reason::reason).or(reason_of_its_own);
    let is_waiting_reason = found.as_ref().is_some_and(|reason| reason.word != "None");
    if !job.phase.is_known() && is_waiting_reason {
        job.phase = Reading::Known(JobPhase::Waiting);
    }
    if let Some(mut found) = found {
        let note = record.get(Field::ReasonNote).map(masked_text);
        found.note = found.note.or(note);
        let says_something = is_waiting_reason || job.phase == Reading::Known(JobPhase::Waiting);
        if says_something {
            job.reason = Reading::Known(found.word.clone());
            job.reasons = vec![found];
        }
    }
    job.nodes = nodes(record, Field::NodeName);
    if let Some(list) = last.filter(|text| !text.starts_with('(')) {
        job.nodes = hostlist::names(list);
    }
}

/// Returns a reason that stands for several in a list: `(Priority):152`.
pub(super) fn counted_reason(text: &str) -> Option<(WaitReason, u64)> {
    let (word, number) = text.trim().rsplit_once([':', '=', ' '])?;
    let word = word.trim().trim_end_matches([':', '=']).trim();
    Some((reason::known_reason(word)?, count(number.trim())?))
}

fn fill_request(record: &Record, job: &mut Job) {
    let mut asked = record.get(Field::AskedTres).and_then(tres::resources).unwrap_or_default();
    let given = record.get(Field::GivenTres).and_then(tres::resources);
    let one_of_both = record.get(Field::Tres).and_then(tres::resources);
    let has_place = matches!(
        job.phase,
        Reading::Known(JobPhase::Running | JobPhase::Starting | JobPhase::Suspended | JobPhase::Ending)
    );
    if let Some(tres) = one_of_both {
        if has_place { job.given = tres } else { asked = or(asked, tres) }
    }
    job.given = or(given.unwrap_or_default(), std::mem::take(&mut job.given));
    let mut per_node = Resources::default();
    if let Some(gres) = record.all(Field::Gres).find_map(tres::gres) {
        per_node.cards = gres.cards;
        per_node.card_kinds = gres.card_kinds;
    }
    per_node.cards = per_node.cards.or(number(record, Field::CardsPerNode));
    per_node.cpus = number(record, Field::CpusPerNode).map(tres::cores);
    asked.nodes = asked.nodes.or(number(record, Field::NodeCount));
    asked.cpus = asked.cpus.or(number(record, Field::Cpus).map(tres::cores));
    let nodes = asked.nodes.known().copied();
    if let Some(gres) = record.get(Field::GresPerJob).and_then(tres::gres) {
        asked.cards = asked.cards.or(gres.cards);
        asked.card_kinds.extend(gres.card_kinds);
    }
    fill_cards_per_task(record, &mut asked);
    // A table made by hand may write TRES where the tool writes GRES.
    if let Some(tres) = record.get(Field::Gres).and_then(tres::resources) {
        per_node = or(per_node, tres);
    }
    asked.cards = asked.cards.or(number(record, Field::Cards));
    if let (Some(cards), Some(nodes)) = (per_node.cards.known().copied(), nodes) {
        asked.cards = asked.cards.or(cards.checked_mul(nodes).into());
    }
    if asked.card_kinds.is_empty()
        && let Some(nodes) = nodes
    {
        let of_all =
            per_node.card_kinds.iter().map(|(kind, number)| (kind.clone(), number.saturating_mul(nodes)));
        asked.card_kinds = of_all.collect();
    }
    if nodes == Some(1) {
        per_node.cards = per_node.cards.or(asked.cards.clone());
        per_node.cpus = per_node.cpus.or(asked.cpus.clone());
    }
    fill_memory(record, &mut asked, &mut per_node);
    asked.time = record.get(Field::TimeLimit).and_then(|text| time(text, MINUTE_S)).unwrap_or_default();
    job.asked = asked;
    job.asked_per_node = per_node;
}

fn fill_cards_per_task(record: &Record, asked: &mut Resources) {
    let Some(tasks) = record.get(Field::Tasks).and_then(count) else {
        return;
    };
    if let Some(cards) = record.get(Field::CardsPerTask).and_then(count) {
        asked.cards = asked.cards.clone().or(cards.checked_mul(tasks).into());
    }
    if let Some(gres) = record.get(Field::GresPerTask).and_then(tres::gres) {
        let cards = gres.cards.known().and_then(|cards| cards.checked_mul(tasks));
        asked.cards = asked.cards.clone().or(cards.into());
    }
    if let Some(cpus) = record.get(Field::CpusPerTask).and_then(count) {
        let cpus = cpus.checked_mul(tasks).map(tres::cores);
        asked.cpus = asked.cpus.clone().or(cpus.into());
    }
}

fn fill_memory(record: &Record, asked: &mut Resources, per_node: &mut Resources) {
    let times = |bytes: Bytes, number: Option<f64>| -> Option<Bytes> {
        let number = number.filter(|number| *number >= 1.0)?;
        memory_from(bytes.0 as f64 * number)
    };
    let (nodes, cpus) =
        (asked.nodes.known().map(|nodes| *nodes as f64), asked.cpus.known().map(|cpus| cpus.0));
    let cells =
        [(Field::Memory, Per::Unsaid), (Field::MemoryPerNode, Per::Node), (Field::MemoryPerCpu, Per::Cpu)];
    for (field, usual) in cells {
        // Nothing asked for is not zero: the whole node or the default counts then.
        let Some((bytes, said)) = record.get(field).and_then(memory).filter(|(bytes, _)| bytes.0 > 0) else {
            continue;
        };
        let per = if said == Per::Unsaid { usual } else { said };
        let (all, of_node) = match per {
            Per::Unsaid => (Some(bytes), None),
            Per::Node => (times(bytes, nodes), Some(bytes)),
            Per::Cpu => (times(bytes, cpus), None),
        };
        asked.memory = asked.memory.clone().or(all.into());
        per_node.memory = per_node.memory.clone().or(of_node.into());
    }
    if asked.nodes == Reading::Known(1) {
        per_node.memory = per_node.memory.clone().or(asked.memory.clone());
    }
}

fn memory_from(bytes: f64) -> Option<Bytes> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the size is checked")]
    (bytes < u64::MAX as f64).then_some(Bytes(bytes as u64))
}

/// Returns the first amounts where they are known, else the others.
fn or(one: Resources, other: Resources) -> Resources {
    Resources {
        nodes: one.nodes.or(other.nodes),
        cards: one.cards.or(other.cards),
        card_kinds: if one.card_kinds.is_empty() { other.card_kinds } else { one.card_kinds },
        cpus: one.cpus.or(other.cpus),
        memory: one.memory.or(other.memory),
        time: one.time.or(other.time),
        jobs: one.jobs.or(other.jobs),
    }
}

/// Returns whether a job wants its nodes for itself: `NO` over-subscribing is what `--exclusive` sets.
fn exclusive(record: &Record) -> Reading<bool> {
    let shared = record.get(Field::OverSubscribe).and_then(|text| match text.to_ascii_uppercase().as_str() {
        "NO" | "EXCLUSIVE" | "0" => Some(true),
        "OK" | "YES" | "USER" | "MCS" | "TOPO" => Some(false),
        _ => None,
    });
    let exclusive = record.get(Field::Exclusive).and_then(|text| match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "" => Some(true),
        "false" | "no" | "0" | "user" | "mcs" | "topo" => Some(false),
        _ => None,
    });
    exclusive.or(shared).into()
}

fn text(record: &Record, field: Field) -> Reading<String> {
    record.get(field).map(str::to_owned).into()
}

fn list(record: &Record, field: Field) -> Vec<String> {
    let parts = record.get(field).into_iter().flat_map(|text| text.split(','));
    parts.filter_map(|part| said(part.trim_end_matches('*'))).map(str::to_owned).collect()
}

fn nodes(record: &Record, field: Field) -> Vec<String> {
    record.get(field).map(hostlist::names).unwrap_or_default()
}

fn number(record: &Record, field: Field) -> Reading<u64> {
    record.get(field).and_then(count).into()
}

fn duration(record: &Record, field: Field) -> Reading<Seconds> {
    record.get(field).and_then(|text| time(text, MINUTE_S)).unwrap_or_default()
}
