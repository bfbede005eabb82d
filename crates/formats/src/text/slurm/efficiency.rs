//! What a job made of what it was given: `seff`, and the summaries that sites print (`jobstats` and its like).

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, Scheduler};
use gpuwhy_model::units::{Percent, Seconds, Share};

use super::gathered::Gathered;
use super::words::{count, memory, percent, time};
use super::{job, state, tres, usage};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// Lines of a report that are not understood before it is taken to have ended.
const STRANGERS_MAX: usize = 2;

/// Reads a report about one job, if it begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let begins = |line: Option<&Line<'_>>| line.is_some_and(|line| is_banner(&line.text));
    let is_begin = is_job_line(first) || is_banner(first) || is_bar(first) && begins(lines.get(1));
    if !is_begin {
        return None;
    }
    let mut job = Job { scheduler: Scheduler::Slurm, ..Job::default() };
    let (mut taken, mut strangers, mut understood) = (0, 0, 0);
    for (place, line) in lines.iter().enumerate().take(400) {
        let text = line.text.as_ref();
        if command_after_prompt(text).is_some() || place > 0 && !job.id.is_empty() && is_job_line(text) {
            break;
        }
        let is_frame = text.trim().is_empty() || is_bar(text) || is_banner(text);
        if is_frame || add(text, &mut job) {
            understood += usize::from(!is_frame);
            strangers = 0;
            taken = place + 1;
            continue;
        }
        strangers += 1;
        if strangers > STRANGERS_MAX {
            break;
        }
    }
    // A number of a job and nothing else is no report.
    (understood >= 3).then(|| {
        let mut used = std::mem::take(&mut job.usage);
        usage::settle_shares(&mut used, &job);
        job.usage = used;
        let mut gathered = Gathered::default();
        gathered.push_job(job);
        Block { lines: taken, scene: gathered.scene(Format::JobEfficiency), remarks: Vec::new() }
    })
}

fn is_job_line(text: &str) -> bool {
    let id = text.trim_start().strip_prefix("Job ID:").map(str::trim);
    id.is_some_and(job::is_id)
}

fn is_banner(text: &str) -> bool {
    const TITLES: &[&str] = &[
        "Slurm Job Statistics",
        "Overall Utilization",
        "Detailed Utilization",
        "Job Efficiency",
        "Job Statistics",
    ];
    let text = text.trim();
    TITLES.iter().any(|title| text.eq_ignore_ascii_case(title))
}

fn is_bar(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 10 && text.bytes().all(|byte| byte == b'=' || byte == b'-')
}

/// Adds what a line says. Returns whether it was understood.
fn add(text: &str, job: &mut Job) -> bool {
    if let Some((name, share)) = measured_by_bar(text) {
        return add_measure(&name, share, job);
    }
    let Some((name, value)) = text.split_once(':') else {
        return false;
    };
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    match name.as_str() {
        "job id" => job::is_id(value).then(|| value.clone_into(&mut job.id)).is_some(),
        "array job id" | "cluster" | "job name" | "start time" | "time limit" | "submit time"
        | "end time" => true,
        "user/group" | "user" | "netid/account" | "user/account" => {
            let (user, account) = value.split_once('/').unwrap_or((value, ""));
            job.user = Reading::Known(user.trim().to_owned());
            if name.ends_with("account") && !account.is_empty() {
                job.account = Reading::Known(account.trim().to_owned());
            }
            true
        }
        "account" => set(&mut job.account, Some(value.to_owned())),
        "qos/partition" => {
            let (qos, partition) = value.split_once('/').unwrap_or((value, ""));
            job.qos = Reading::Known(qos.trim().to_owned());
            job.queues =
                Some(partition.trim().to_owned()).filter(|name| !name.is_empty()).into_iter().collect();
            true
        }
        "partition" => {
            job.queues = vec![value.to_owned()];
            true
        }
        "state" => {
            job.state = Reading::Known(value.to_owned());
            set(&mut job.phase, state::phase(value))
        }
        _ => add_amount(&name, value, job),
    }
}

/// Adds an amount that was given or used.
fn add_amount(name: &str, value: &str, job: &mut Job) -> bool {
    let first = value.split_whitespace().next().unwrap_or_default();
    match name {
        "nodes" => set(&mut job.given.nodes, count(first)),
        "cores" | "cpu cores" | "cpus" => set(&mut job.given.cpus, count(first).map(tres::cores)),
        "cores per node" => {
            let nodes = job.given.nodes.known().copied().unwrap_or(1);
            set(&mut job.given.cpus, count(first).and_then(|cores| cores.checked_mul(nodes)).map(tres::cores))
        }
        "gpus" | "number of gpus" => set(&mut job.given.cards, count(first)),
        "gpus reserved" | "gpu type" | "gpus allocated" => add_reserved(value, job),
        "cpu memory" | "memory" => set(&mut job.given.memory, amount_of_memory(value)),
        "cpu utilized" => set(&mut job.usage.cpu_time, seconds(first)),
        "job wall-clock time" | "wall-clock time" | "run time" | "walltime" => {
            set(&mut job.elapsed, seconds(first))
        }
        "memory utilized" | "max memory utilized" => set(&mut job.usage.memory, amount_of_memory(value)),
        "cpu efficiency" | "cpu utilization" => add_measure("cpu utilization", first, job),
        "memory efficiency" => {
            if let Some((_, given)) = value.split_once(" of ") {
                set(&mut job.given.memory, amount_of_memory(given));
            }
            add_measure("cpu memory usage", first, job)
        }
        "gpu utilized" | "gpu utilization" | "gpu efficiency" => add_measure("gpu utilization", first, job),
        "gpu vram utilized" | "gpu memory utilized" | "max gpu memory utilized" => match percent(first) {
            Some(share) => set(&mut job.usage.gpu_memory_share, Some(Share(share / 100.0))),
            None => set(&mut job.usage.gpu_memory, amount_of_memory(value)),
        },
        "gpu memory efficiency" => add_measure("gpu memory usage", first, job),
        // Lines about single nodes and cards, and notes below them.
        _ => {
            name.contains("(gpu ")
                || value.contains("efficiency=")
                || value.contains("GB/")
                || value.contains("per ")
        }
    }
}

/// Takes `v100 (x1)` or `a100 (x2), v100 (x1)` apart.
fn add_reserved(value: &str, job: &mut Job) -> bool {
    let mut all = 0_u64;
    for part in value.split(',') {
        let (kind, number) = part.trim().split_once("(x").map_or((part.trim(), Some(1)), |(kind, rest)| {
            (kind.trim(), rest.strip_suffix(')').and_then(count))
        });
        let Some(number) = number else {
            return false;
        };
        job.given.card_kinds.insert(kind.to_ascii_lowercase(), number);
        all = all.saturating_add(number);
    }
    set(&mut job.given.cards, Some(all))
}

fn add_measure(name: &str, share: &str, job: &mut Job) -> bool {
    let Some(percent) = percent(share) else {
        return false;
    };
    let of_whole = Share(percent / 100.0);
    match name {
        "cpu utilization" => set(&mut job.usage.cpu_share, Some(of_whole)),
        "cpu memory usage" | "memory usage" => set(&mut job.usage.memory_share, Some(of_whole)),
        "gpu utilization" => set(&mut job.usage.gpu_busy, (percent <= 100.0).then_some(Percent(percent))),
        "gpu memory usage" => set(&mut job.usage.gpu_memory_share, Some(of_whole)),
        _ => false,
    }
}

/// Returns name and share of `CPU utilization  [||||     12%]`.
fn measured_by_bar(text: &str) -> Option<(String, &str)> {
    let (name, rest) = text.split_once('[')?;
    let bar = rest.strip_suffix(']')?;
    let share = bar.trim_start_matches(['|', '#', '=', ' ']).trim();
    percent(share).map(|_| (name.trim().to_ascii_lowercase(), share))
}

fn amount_of_memory(value: &str) -> Option<gpuwhy_model::units::Bytes> {
    let value = value.split('(').next().unwrap_or(value).trim();
    let amount = value.split("per ").next().unwrap_or(value).trim();
    memory(amount).map(|(bytes, _)| bytes)
}

fn seconds(value: &str) -> Option<Seconds> {
    time(value, 1.0).and_then(Reading::into_known)
}

fn set<T>(reading: &mut Reading<T>, value: Option<T>) -> bool {
    let is_read = value.is_some();
    if let Some(value) = value {
        *reading = Reading::Known(value);
    }
    is_read
}
