//! For how long a holder has not worked, and how that is known.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::scene::{Process, Scene, SourceKind};

use super::cards::Holder;
use super::kin::Kin;

/// A process that used at most this share of its life on a processor has hardly worked in it.
const LITTLE_CPU_SHARE: f64 = 0.05;

/// For at least how long a holder has not worked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Idle {
    pub(crate) at_least_s: f64,
    pub(crate) known_by: IdleSource,
}

/// How it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum IdleSource {
    /// Its last work was seen: the time is exact.
    LastWork,
    /// No work in all that the driver's buffers hold and that was looked at.
    Buffers,
    /// It used hardly any processor time since it started.
    ProcessorTime {
        /// Processor seconds.
        used_s: f64,
        /// Seconds since its start.
        age_s: f64,
    },
}

/// Returns for at least how long a holder has not worked on its card, or why that is not known.
pub(crate) fn idle(holder: &Holder<'_>) -> Result<Idle, Absence> {
    let by_card = holder.card.idle_for.known().map(|seconds| seconds.0);
    let by_client = holder.client.idle_for.known().map(|seconds| seconds.0);
    let seen_s = match (by_card, by_client) {
        (Some(card), Some(client)) => Some(card.max(client)),
        (one, other) => one.or(other),
    };
    // While another client works on the card, only the client's own work tells.
    let last_work_was_seen = match by_client {
        Some(client) if by_card.is_none_or(|card| client >= card) => holder.client.seen_working,
        _ => holder.card.seen_working,
    };
    let seen = seen_s.map(|at_least_s| Idle {
        at_least_s,
        known_by: if last_work_was_seen { IdleSource::LastWork } else { IdleSource::Buffers },
    });
    if last_work_was_seen && let Some(seen) = seen {
        return Ok(seen);
    }
    let by_processor_time = holder.process.and_then(by_processor_time);
    match (seen, by_processor_time) {
        (Some(seen), Some(by_time)) if by_time.at_least_s > seen.at_least_s => Ok(by_time),
        (Some(seen), _) => Ok(seen),
        (None, Some(by_time)) => Ok(by_time),
        (None, None) => {
            Err(holder.client.idle_for.absence().unwrap_or(Absence::Failed(Failure::NotInSource)))
        }
    }
}

/// Judges by processor time: work on a card needs some, so a process with hardly any has hardly worked.
fn by_processor_time(process: &Process) -> Option<Idle> {
    let (used_s, age_s) = (process.cpu_time.known()?.0, process.age.known()?.0);
    let is_little = used_s <= age_s * LITTLE_CPU_SHARE;
    is_little.then_some(Idle {
        at_least_s: (age_s - used_s).max(0.0),
        known_by: IdleSource::ProcessorTime { used_s, age_s },
    })
}

/// Returns the processor cores that a process and all below it used in the window, or why that is not known.
pub(crate) fn tree_cores<'scene>(kin: &Kin<'scene>, process: &'scene Process) -> Result<f64, Absence> {
    let mut sum = 0.0;
    for member in kin.tree(process) {
        match member.cores.known() {
            Some(cores) => sum += cores.0,
            None => return Err(member.cores.absence().unwrap_or(Absence::Failed(Failure::TooFewSamples))),
        }
    }
    Ok(sum)
}

/// Returns whether a rate is missing only because a live machine was looked at once.
pub(crate) fn is_for_want_of_looks(scene: &Scene, absence: &Absence) -> bool {
    let is_single = scene.window.samples < 2 && scene.provenance.source != SourceKind::Text;
    is_single && matches!(absence, Absence::Failed(Failure::TooFewSamples | Failure::NotInSource))
}

/// Returns whether a process and all below it left storage alone in the window; none when that is not known.
pub(crate) fn tree_left_storage_alone<'scene>(
    kin: &Kin<'scene>,
    process: &'scene Process,
    limits: &Limits,
) -> Result<bool, Absence> {
    let places = super::waiting::Places::default();
    let mut is_quiet = true;
    for member in kin.tree(process) {
        let blocked = super::waiting::Waiting::of_main_thread(member, &places).storage;
        is_quiet &= blocked < limits.loader_blocked_share_min;
        match member.io.known() {
            Some(io) => is_quiet &= io.read_bytes.0 + io.written_bytes.0 < limits.quiet_io_bytes as f64,
            None => return Err(member.io.absence().unwrap_or(Absence::Failed(Failure::TooFewSamples))),
        }
    }
    Ok(is_quiet)
}
