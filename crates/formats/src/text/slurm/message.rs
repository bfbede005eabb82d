//! What `sbatch`, `srun` and `salloc` say of a job that they could not submit or that waits.

use gpuwhy_knowledge::{slurm_reason_word, slurm_sentence};
use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, Scheduler, WaitReason};

use super::gathered::Gathered;
use super::job;
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// The tools that submit jobs.
const TOOLS: &[&str] = &["sbatch: ", "srun: ", "salloc: "];

/// Reads messages in a row, if the first of these lines is one.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate().take(10_000) {
        match said(line.text.trim()) {
            Some(Said::Refused(reason)) => refuse(&mut jobs, reason),
            Some(Said::Of(id, phase)) => note(&mut jobs, id, phase),
            Some(Said::Nothing) => {}
            None => break,
        }
        taken = place + 1;
    }
    if jobs.is_empty() {
        return None;
    }
    let mut gathered = Gathered::default();
    for job in jobs {
        gathered.push_job(job);
    }
    Some(Block { lines: taken, scene: gathered.scene(Format::SlurmMessages), remarks: Vec::new() })
}

/// What a message says.
enum Said {
    /// The job was not taken, or not started at once, for this reason.
    Refused(WaitReason),
    /// How far a job has come.
    Of(String, JobPhase),
    /// Nothing that counts.
    Nothing,
}

fn said(text: &str) -> Option<Said> {
    if let Some(id) = text.strip_prefix("Submitted batch job ") {
        let id = id.split_whitespace().next().unwrap_or_default();
        return job::is_id(id).then_some(Said::Nothing);
    }
    let rest =
        TOOLS.iter().find_map(|tool| text.split_once(tool)).map(|(before, rest)| (before.trim(), rest));
    // A time or a host may stand before the tool.
    let (_, rest) = rest.filter(|(before, _)| before.len() <= 60)?;
    if let Some(error) = rest.strip_prefix("error: ").or_else(|| rest.strip_prefix("fatal: ")) {
        return refusal(error).map(Said::Refused);
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let id = words.iter().find(|word| job::is_id(word)).copied();
    let phase = match (id, rest) {
        (None, _) => return Some(Said::Nothing),
        (_, rest)
            if rest.contains("queued and waiting for resources")
                || rest.starts_with("Pending job allocation") =>
        {
            JobPhase::Waiting
        }
        (_, rest)
            if rest.contains("has been allocated resources")
                || rest.starts_with("Granted job allocation") =>
        {
            JobPhase::Running
        }
        _ => return Some(Said::Nothing),
    };
    Some(Said::Of(id.unwrap_or_default().to_owned(), phase))
}

/// Returns why a job was refused; none where the error is about something else.
fn refusal(error: &str) -> Option<WaitReason> {
    const INTROS: &[&str] = &[
        "Batch job submission failed: ",
        "Unable to allocate resources: ",
        "Job submit/allocate failed: ",
        "Failed to allocate resources: ",
    ];
    if let Some(word) = slurm_reason_word(error.trim()) {
        return Some(WaitReason { word: word.to_owned(), ..WaitReason::default() });
    }
    let sentence = INTROS.iter().find_map(|intro| error.strip_prefix(intro)).unwrap_or(error);
    let is_known = slurm_sentence(sentence).is_some();
    (is_known || sentence.len() < error.len())
        .then(|| WaitReason { word: masked_text(sentence.trim()), ..WaitReason::default() })
}

/// Adds a reason to the job that was refused last, or begins one: the word comes before the sentence.
fn refuse(jobs: &mut Vec<Job>, reason: WaitReason) {
    match jobs.last_mut().filter(|job| job.phase == Reading::Known(JobPhase::Refused)) {
        Some(job) if !job.reasons.contains(&reason) => job.reasons.push(reason),
        Some(_) => {}
        None => jobs.push(Job {
            scheduler: Scheduler::Slurm,
            phase: Reading::Known(JobPhase::Refused),
            reason: Reading::Known(reason.word.clone()),
            reasons: vec![reason],
            ..Job::default()
        }),
    }
}

fn note(jobs: &mut Vec<Job>, id: String, phase: JobPhase) {
    let phase = Reading::Known(phase);
    match jobs.iter_mut().find(|job| job.id == id) {
        Some(job) => job.phase = phase,
        None => jobs.push(Job { id, scheduler: Scheduler::Slurm, phase, ..Job::default() }),
    }
}
