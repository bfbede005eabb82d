//! Single lines that people copy out of Slurm's outputs: a reason, a limit, the GRES of a node, what a job used.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, QuotaHolder, Scheduler};

use super::field::{Field, column};
use super::gathered::Gathered;
use super::record::Record;
use super::words::between_commas;
use super::{job, reason, tres, usage};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// A longer line is no remark.
const LENGTH_MAX: usize = 4096;

/// Reads lines in a row that hold nothing but a reason in brackets.
pub(in crate::text) fn read_reasons(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let reasons = lines.iter().map_while(|line| {
        let text = line.text.trim();
        let is_alone = text.starts_with('(') && text.len() <= 16 * LENGTH_MAX;
        is_alone.then(|| reason::known_reason(text)).flatten().filter(|reason| reason.word != "None")
    });
    let mut gathered = Gathered::default();
    let mut taken = 0;
    for reason in reasons {
        gathered.push_job(Job {
            scheduler: Scheduler::Slurm,
            phase: Reading::Known(JobPhase::Waiting),
            reason: Reading::Known(reason.word.clone()),
            reasons: vec![reason],
            ..Job::default()
        });
        taken += 1;
    }
    (taken > 0).then(|| Block { lines: taken, scene: gathered.scene(Format::Squeue), remarks: Vec::new() })
}

/// Reads a line that names a limit and its amount: `QOS gpu: MaxTRESPerUser gres/gpu=2`.
pub(in crate::text) fn read_limit(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let text = lines.first()?.text.trim();
    if text.len() > LENGTH_MAX || !text.contains("TRES") {
        return None;
    }
    let words: Vec<&str> = text
        .split(|sign: char| sign.is_whitespace() || sign == ';')
        .filter(|word| !word.is_empty())
        .collect();
    let mut record = Record::default();
    for (place, word) in words.iter().enumerate() {
        let (name, value) =
            word.split_once(['=', ':']).filter(|(name, _)| limit(name).is_some()).unwrap_or((word, ""));
        let Some(field) = limit(name.trim_end_matches([':', '='])) else {
            continue;
        };
        let value = if value.is_empty() { words.get(place + 1).copied().unwrap_or_default() } else { value };
        let value = value.trim_start_matches(['=', ':']).trim_end_matches(['.', ')']);
        if tres::resources(value).is_some() {
            record.push(field, value);
        }
    }
    if record == Record::default() {
        return None;
    }
    let after = |wanted: &[&str]| {
        let place =
            words.iter().position(|word| wanted.iter().any(|name| word.eq_ignore_ascii_case(name)))?;
        words.get(place + 1).map(|name| name.trim_matches([':', ',', '"', '\'']))
    };
    let holder = match (after(&["qos", "quality"]), after(&["account", "association"])) {
        (Some(name), _) => {
            record.push(Field::Name, name);
            QuotaHolder::Qos
        }
        (None, Some(name)) => {
            record.push(Field::Account, name);
            QuotaHolder::Account
        }
        (None, None) => QuotaHolder::Qos,
    };
    let mut gathered = Gathered::default();
    gathered.add_quotas(&record, holder);
    Some(Block { lines: 1, scene: gathered.scene(Format::Sacctmgr), remarks: Vec::new() })
}

fn limit(name: &str) -> Option<Field> {
    let of_limits = [
        Field::GroupTres,
        Field::JobTres,
        Field::NodeTres,
        Field::UserTres,
        Field::AccountTres,
        Field::LeastTres,
    ];
    column(name).filter(|field| of_limits.contains(field))
}

/// Reads a line that names the cards of a node: `node: Gres=gpu:2 (2x A100)`.
pub(in crate::text) fn read_gres(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let text = lines.first()?.text.trim();
    if text.len() > LENGTH_MAX || !text.contains("Gres=gpu") {
        return None;
    }
    let gres = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix("Gres=").filter(|gres| tres::is_gres(gres)))?;
    let mut record = Record::default();
    record.push(Field::NodeCount, "1");
    record.push(Field::Gres, gres.trim_end_matches([',', ';']));
    let mut gathered = Gathered::default();
    gathered.nodes.add(&record).then(|| Block {
        lines: 1,
        scene: gathered.scene(Format::Scontrol),
        remarks: Vec::new(),
    })
}

/// Reads a line that holds nothing but what a job used: `cpu=00:08:24,gres/gpuutil=10,mem=2G|`.
pub(in crate::text) fn read_used(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let text = lines.first()?.text.trim();
    if text.len() > LENGTH_MAX || !text.contains("gres/gpuutil=") {
        return None;
    }
    let list = text.split('|').find(|cell| cell.contains("gres/gpuutil="))?;
    tres::pairs(list)?;
    let mut job = job::nameless(&Record::default());
    let mut used = std::mem::take(&mut job.usage);
    for (name, value) in between_commas(list).into_iter().filter_map(|part| part.trim().split_once('=')) {
        usage::add(&mut used, name, value, &job);
    }
    job.usage = used;
    let mut gathered = Gathered::default();
    gathered.push_job(job);
    Some(Block { lines: 1, scene: gathered.scene(Format::Sacct), remarks: Vec::new() })
}
