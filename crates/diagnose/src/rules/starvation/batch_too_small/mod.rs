//! `batch-too-small`: each step has too little work for the card, and there would be room for more.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};

use super::partly_busy::{PartlyBusyCard, partly_busy_cards};
use crate::draft::Draft;
use crate::evidence::{busy, normal, once, over, power, reader, with_normal};
use crate::facts::kin::Kin;
use crate::facts::team::{LoaderKind, Team, main_thread_ran};
use crate::facts::waiting::{Places, Waiting};
use crate::facts::{names, peers};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/batch_too_small.rs"));
}

/// The rule. It stands behind all that say what a card waits for.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::BatchTooSmall,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::PowerRatio,
            Signal::VramUsed,
            Signal::ProcessList,
            Signal::ProcessState,
            Signal::ThreadCpu,
        ],
    },
    check,
};

/// Causes beside which a card may well be little used: they hold or share it, and say nothing about its steps.
const BESIDE: &[Cause] = &[
    Cause::MemoryPreallocated,
    Cause::IdleReserved,
    Cause::VramFull,
    Cause::DisplayProcess,
    Cause::PersistenceOff,
    Cause::EccCorrectableStorm,
    Cause::RowRemapPending,
    Cause::PcieDegraded,
];

/// How one sees that the program itself sets the pace.
struct Pace {
    /// Number of loaders that rest, and share of time in which they do.
    resting_loaders: Option<(usize, f64)>,
    /// Share of the card's rest in which the main thread ran.
    main_ran_in_rest: f64,
    /// Share of time in which it ran.
    main_ran: f64,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let kin = Kin::of(scene);
    for work in partly_busy_cards(scene, limits, findings) {
        let index = work.card.index;
        let Some(busy) = work.busy.filter(|busy| work.is_in_progress == Some(true) && busy.n > 1) else {
            continue;
        };
        if busy.mean.0 > limits.small_batch_busy_percent_max {
            findings.rule_out(Signal::GpuBusy, Some(index));
            continue;
        }
        if busy.max.0 <= limits.idle_percent_max {
            // A program that still fills its card has no steps yet.
            continue;
        }
        let Some(peak) = peak_memory_share(work.card) else {
            continue;
        };
        if peak > limits.small_batch_memory_share_max {
            findings.rule_out(Signal::VramUsed, Some(index));
            continue;
        }
        if something_else_is_said(findings, index) || work.processes().any(waits_for_people) {
            continue;
        }
        if let Some(pace) = pace(&kin, &work, limits) {
            findings.report(judge(scene, &work, peak, &pace, limits));
        }
    }
}

/// Returns the largest share of a card's memory that was in use.
fn peak_memory_share(card: &Card) -> Option<f64> {
    let memory = card.memory.known()?;
    let peak = card.memory_used.known().map_or(memory.used, |used| used.max).max(memory.used);
    Some(peak.0 as f64 / memory.total.0.max(1) as f64)
}

/// Returns whether something else was said, or stays possible, of why the card is not busy.
fn something_else_is_said(findings: &Findings, card: u32) -> bool {
    findings
        .drafts
        .iter()
        .any(|draft| draft.finding.cards.contains(&card) && !BESIDE.contains(&draft.cause()))
}

/// Returns whether a process works when somebody asks it to.
fn waits_for_people(process: &Process) -> bool {
    names::is_server(process) || names::is_notebook(process)
}

/// Returns what shows that the program itself sets the pace: its loaders wait for it, or it works in the gaps.
fn pace<'scene>(kin: &Kin<'scene>, work: &PartlyBusyCard<'scene>, limits: &Limits) -> Option<Pace> {
    let team = Team::of(kin, &work.holders).filter(|team| team.looks() > 0)?;
    let places = Places::default();
    let waits_elsewhere = work.processes().any(|process| {
        let main = Waiting::of_main_thread(process, &places);
        main.storage + main.network + main.memory >= limits.loader_blocked_share_min
    });
    if waits_elsewhere {
        return None;
    }
    let occupied = team.mean(|loader| loader.waiting.occupied() + loader.waiting.network);
    let resting_loaders = (team.kind == LoaderKind::Processes && team.is_known_to_load)
        .then(|| (team.loaders.len(), (1.0 - occupied).max(0.0)))
        .filter(|(_, rest)| *rest > limits.loader_idle_share_max);
    let main_ran = work.processes().filter_map(main_thread_ran).fold(0.0, f64::max);
    if main_ran >= limits.hot_thread_cores_min {
        // It never rests: whatever it does all the time, that is the question.
        return None;
    }
    let main_ran_in_rest = work.share_of_rest(main_ran);
    let shows = resting_loaders.is_some() || main_ran_in_rest >= limits.loader_idle_share_max;
    shows.then_some(Pace { resting_loaders, main_ran_in_rest, main_ran })
}

fn judge(scene: &Scene, work: &PartlyBusyCard<'_>, peak: f64, pace: &Pace, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, work.card, text::summary());
    if let Some(trend) = work.busy {
        let usual = normal(Comparison::Greater, limits.small_batch_busy_percent_max);
        draft.agree(1.5, busy(scene, trend, usual));
        draft.rest_on(trend);
    }
    let percent = Percent(peak * 100.0);
    let evidence = once(
        Signal::VramUsed,
        percent.0,
        Unit::Percent,
        reader(scene, Reader::Nvml),
        text::memory_peak(percent),
    );
    let usual = normal(Comparison::Greater, limits.small_batch_memory_share_max * 100.0);
    draft.agree(1.5, with_normal(evidence, usual));
    weigh_pace(scene, pace, limits, &mut draft);
    if let Some(ratio) = work.card.power_ratio().into_known()
        && ratio < limits.false_busy_power_share_max
    {
        let usual = normal(Comparison::AtLeast, limits.false_busy_power_share_max * 100.0);
        draft.agree(0.5, power(scene, work.card, ratio, usual));
    }
    // How long a step is, and how large its batch, only the program knows.
    draft.silent(3.0);
    let is_one_of_several = peers::jobs(scene, limits).iter().any(|job| {
        job.is_collective() && job.members.iter().any(|member| member.card.index == work.card.index)
    });
    if is_one_of_several {
        // It may as well wait for the others.
        draft.silent(2.0);
    }
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_larger());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_fewer_calls());
    draft.advise(Action::MoveWork, Vec::new(), text::fix_share());
    work.finish(scene, draft)
}

/// Weighs that nobody brings data too slowly: loaders rest, and the main thread works in the gaps.
fn weigh_pace(scene: &Scene, pace: &Pace, limits: &Limits, draft: &mut Draft) {
    match pace.resting_loaders {
        Some((number, rest)) => {
            let percent = Percent(rest * 100.0);
            let words = text::loaders_rest(number, percent);
            let evidence = once(Signal::ProcessState, percent.0, Unit::Percent, Reader::ProcTask, words);
            draft.agree(2.0, over(evidence, scene.window.samples, scene.window.span_s));
        }
        None => draft.silent(1.0),
    }
    if pace.main_ran_in_rest < limits.loader_idle_share_max {
        draft.silent(1.0);
        return;
    }
    let percent = Percent(pace.main_ran * 100.0);
    let words = text::main_thread(percent);
    let evidence = once(Signal::ThreadCpu, percent.0, Unit::Percent, Reader::ProcTask, words);
    draft.agree(1.5, over(evidence, scene.window.samples, scene.window.span_s));
}
