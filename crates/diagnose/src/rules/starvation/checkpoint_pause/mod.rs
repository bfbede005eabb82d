//! `checkpoint-pause`: the card rests again and again while the run writes its state.

use std::collections::BTreeMap;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{BytesPerSecond, Percent, Seconds, Unit};
use gpuwhy_model::verdict::Impact;

use super::partly_busy::{PartlyBusyCard, cards_at_work};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, reader, with_normal};
use crate::facts::waiting::{Places, Waiting};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/checkpoint_pause.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::CheckpointPause,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::ProcessList,
            Signal::ProcessIo,
            Signal::ProcessState,
        ],
    },
    check,
};

/// So many pauses prove a habit; fewer may be a coincidence.
const PAUSES_MIN: usize = 2;
/// As many pauses as prove it fully.
const PAUSES_FULL: usize = 4;
/// To see a habit, one looks for so many pauses.
const LOOK_FOR_PAUSES: f64 = 12.0;

/// What the programs of a card write and read, in bytes per second.
#[derive(Debug, Clone, Copy, Default)]
struct Traffic {
    written: f64,
    read: f64,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for work in cards_at_work(scene, limits, findings) {
        let Some(busy) = work.busy.filter(|busy| busy.n > 1 && busy.span_s > 0.0) else {
            continue;
        };
        let traffic = match traffic(scene, &work) {
            Ok(traffic) => traffic,
            Err(absence) => {
                if busy.dips.number >= PAUSES_MIN {
                    findings.blind(Signal::ProcessIo, absence);
                }
                continue;
            }
        };
        let writes = traffic.written > traffic.read;
        let length_s = busy.dips.length_s;
        let is_pause = (limits.checkpoint_dip_s_min..=limits.checkpoint_dip_s_max).contains(&length_s);
        let lost = (length_s * busy.dips.number as f64 / busy.span_s).min(1.0);
        let while_resting = if lost > 0.0 { traffic.written / lost } else { 0.0 };
        let has_habit = busy.dips.number >= PAUSES_MIN && is_pause;
        if has_habit && writes && while_resting >= limits.checkpoint_write_bytes_min {
            if lost >= limits.checkpoint_share_min {
                findings.report(judge(scene, &work, busy, lost, while_resting, limits));
            }
            continue;
        }
        let is_writing_now = writes
            && traffic.written >= limits.checkpoint_write_bytes_min
            && busy.mean.0 <= limits.starved_busy_percent_max
            && main_thread_waits(&work) >= limits.loader_blocked_share_min;
        if is_writing_now && !has_habit {
            findings.report(possible(scene, &work, busy, traffic, limits));
            continue;
        }
        findings.rule_out(
            if has_habit { Signal::ProcessIo } else { Signal::GpuBusyShape },
            Some(work.card.index),
        );
    }
}

/// Returns what the runs on a card write and read, to and from whatever file system: where one rank saves, the cards of
/// all ranks rest.
fn traffic(scene: &Scene, work: &PartlyBusyCard<'_>) -> Result<Traffic, Absence> {
    let mut traffic = Traffic::default();
    let mut is_any_known = false;
    let mut absence = Absence::Failed(Failure::NotInSource);
    for process in processes_of_runs(scene, work) {
        match process.io.known() {
            Some(io) => {
                is_any_known = true;
                // Writes to a network file system may count in one of the two only.
                traffic.written += io.written_bytes.0.max(io.written_chars.0);
                traffic.read += io.read_bytes.0.max(io.read_chars.0);
            }
            None => absence = process.io.absence().unwrap_or(absence),
        }
    }
    if is_any_known { Ok(traffic) } else { Err(absence) }
}

/// Returns the processes that compute in the runs on a card, on this card or another, each once.
fn processes_of_runs<'scene>(scene: &'scene Scene, work: &PartlyBusyCard<'scene>) -> Vec<&'scene Process> {
    let members = work.holders.iter().flat_map(|holder| match holder.workload {
        Some(workload) => workload.gpu_processes.iter().filter_map(|pid| scene.process(*pid)).collect(),
        None => holder.process.into_iter().collect::<Vec<&Process>>(),
    });
    let by_pid: BTreeMap<Pid, &Process> = members.map(|process| (process.key.pid, process)).collect();
    by_pid.into_values().collect()
}

fn judge(
    scene: &Scene,
    work: &PartlyBusyCard<'_>,
    busy: &Trend<Percent>,
    lost: f64,
    while_resting: f64,
    limits: &Limits,
) -> Draft {
    let mut draft = Draft::about_card(&RULE, work.card, text::summary());
    let number = busy.dips.number;
    let words = text::pauses(Seconds(busy.dips.length_s), number, Percent(lost * 100.0));
    let reader = reader(scene, Reader::NvmlSamples);
    let evidence = once(Signal::GpuBusyShape, number, Unit::Count, reader, words);
    let evidence = over(evidence, busy.n, busy.span_s);
    draft.agree_by(2.5, 0.5 + 0.5 * (number.min(PAUSES_FULL) as f64 / PAUSES_FULL as f64), evidence);
    draft.rest_on(busy);
    let words = text::writes_in_pauses(BytesPerSecond(while_resting));
    let evidence = once(Signal::ProcessIo, while_resting, Unit::BytesPerSecond, Reader::ProcPid, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    let usual = normal(Comparison::Less, limits.checkpoint_write_bytes_min);
    draft.agree(3.0, with_normal(evidence, usual));
    weigh_main_threads(scene, work, lost, &mut draft);
    if work.is_in_progress == Some(false) {
        draft.only_possible();
    }
    finish(scene, work, lost, draft)
}

/// Makes a finding of writes beside a card that rests, while no habit could be seen yet.
fn possible(
    scene: &Scene,
    work: &PartlyBusyCard<'_>,
    busy: &Trend<Percent>,
    traffic: Traffic,
    limits: &Limits,
) -> Draft {
    let mut draft = Draft::about_card(&RULE, work.card, text::summary());
    let words = text::writes(BytesPerSecond(traffic.written));
    let evidence = once(Signal::ProcessIo, traffic.written, Unit::BytesPerSecond, Reader::ProcPid, words);
    draft.agree(3.0, over(evidence, scene.window.samples, scene.window.span_s));
    draft.rest_on(busy);
    draft.silent(2.5);
    draft.possible_until(limits.checkpoint_dip_s_min * LOOK_FOR_PAUSES);
    finish(scene, work, 1.0 - busy.mean.0 / 100.0, draft)
}

/// Weighs the main threads: one that writes by itself is blocked, or runs, in the pauses.
fn weigh_main_threads(scene: &Scene, work: &PartlyBusyCard<'_>, lost: f64, draft: &mut Draft) {
    let longest = main_thread_waits(work);
    if longest < lost / 2.0 {
        // It may write to the page cache, or through another thread.
        draft.silent(1.0);
        return;
    }
    let percent = Percent(longest * 100.0);
    let words = text::main_thread_waits(percent);
    let evidence = once(Signal::ProcessState, percent.0, Unit::Percent, Reader::ProcTask, words);
    draft.agree(1.0, over(evidence, scene.window.samples, scene.window.span_s));
}

/// Returns the largest share of time in which a main thread waited for storage.
fn main_thread_waits(work: &PartlyBusyCard<'_>) -> f64 {
    let places = Places::default();
    work.processes().map(|process| Waiting::of_main_thread(process, &places).storage).fold(0.0, f64::max)
}

fn finish(scene: &Scene, work: &PartlyBusyCard<'_>, lost: f64, mut draft: Draft) -> Draft {
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_beside());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_faster());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less());
    let mut draft = work.finish(scene, draft);
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s * lost, bytes_held: 0, blocked: 0 };
    draft
}
