//! `starved-by-host-code`: one thread of the program itself is what the card waits for.

mod taking_turns;
mod traced;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Percent, Unit};

use super::partly_busy::{PartlyBusyCard, partly_busy_cards};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::hot::own_threads;
use crate::facts::kin::Kin;
use crate::facts::names;
use crate::facts::team::{LoaderKind, Team};
use crate::facts::traffic::{Copies, copies};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/starved_by_host_code.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::StarvedByHostCode,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ProcessList,
            Signal::ThreadCpu,
            Signal::ProcessState,
            Signal::PcieTraffic,
            Signal::Trace,
            Signal::Profile,
        ],
    },
    check,
};

/// Launchers of ranks whose libraries wait for the other ranks in a loop.
const POLLING_RANKS: [&str; 2] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"];

/// What of a program never rests.
struct Hot<'scene> {
    process: &'scene Process,
    /// Share of time in which it ran.
    ran: f64,
    /// The most that another thread ran.
    next: Option<f64>,
    words: Text,
    /// Whether one thread is hot, and not several in turn.
    is_one: bool,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    traced::check(scene, limits, findings);
    for mut work in partly_busy_cards(scene, limits, findings) {
        // Workers of model servers ask for requests in a loop: a hot thread proves nothing there.
        if work.processes().any(names::is_server) || waits_inside_kernels(&work, limits) {
            continue;
        }
        let Some(hot) = hottest(&work, limits) else {
            say_why_not(&work, findings);
            continue;
        };
        let fills_the_rest = |copies: Copies| {
            copies.share.max(work.copies_in_rest(&copies, limits)) >= limits.transfer_link_share_min
        };
        if copies(work.card).is_ok_and(fills_the_rest) {
            // The thread waits for its copies in a loop.
            findings.rule_out(Signal::PcieTraffic, Some(work.card.index));
            continue;
        }
        let others_work = work.holders.len() > 1;
        let hot_pid = hot.process.key.pid;
        work.holders.retain(|holder| holder.client.pid == hot_pid);
        findings.report(judge(scene, &work, &hot, others_work, limits));
    }
}

/// Returns whether a card is busy so evenly that its program's thread rather launches too many small kernels.
fn waits_inside_kernels(work: &PartlyBusyCard<'_>, limits: &Limits) -> bool {
    work.busy.is_some_and(|busy| {
        busy.mean.0 >= limits.host_code_busy_percent_max && busy.zeros < limits.starved_zeros_share_min
    })
}

/// Returns the program of a card whose thread runs most, if one thread of it never rests.
fn hottest<'scene>(work: &PartlyBusyCard<'scene>, limits: &Limits) -> Option<Hot<'scene>> {
    let processes = work.holders.iter().filter_map(|holder| holder.process);
    processes
        .filter_map(|process| hot(process, limits))
        .reduce(|best, next| if next.ran > best.ran { next } else { best })
}

/// Returns the one thread of a program that never rests: the main one, or one that gives the card its work.
fn hot<'scene>(process: &'scene Process, limits: &Limits) -> Option<Hot<'scene>> {
    let own = own_threads(process, limits)?;
    if own.is_one_hot() && (own.is_main || names::is_thread_that_gives_work(&own.name)) {
        let percent = Percent(own.hottest.min(1.0) * 100.0);
        let words = if own.is_main { text::main_thread(percent) } else { text::thread(own.name, percent) };
        return Some(Hot { process, ran: own.hottest.min(1.0), next: own.next, words, is_one: true });
    }
    let turns = taking_turns::taking_turns(process, limits)?;
    let words = text::taking_turns(turns.threads, Percent(turns.together * 100.0));
    Some(Hot { process, ran: turns.together, next: None, words, is_one: false })
}

fn say_why_not(work: &PartlyBusyCard<'_>, findings: &mut Findings) {
    let threads_are_known = work.processes().all(|process| process.threads.is_known());
    if threads_are_known && work.processes().next().is_some() {
        findings.rule_out(Signal::ThreadCpu, Some(work.card.index));
    } else if let Some(absence) = work.processes().find_map(|process| process.threads.absence()) {
        findings.blind(Signal::ThreadCpu, absence);
    }
}

fn judge(
    scene: &Scene,
    work: &PartlyBusyCard<'_>,
    hot: &Hot<'_>,
    others_work: bool,
    limits: &Limits,
) -> Draft {
    let mut draft = Draft::about_card(&RULE, work.card, text::summary());
    work.weigh_shape(scene, limits, &mut draft);
    weigh_thread(scene, work, hot, limits, &mut draft);
    weigh_loaders(scene, work, limits, &mut draft);
    let polls = names::rank_variable(hot.process)
        .known()
        .is_some_and(|name| name.is_some_and(|name| POLLING_RANKS.contains(&name)));
    if polls || others_work {
        draft.silent(2.0);
    }
    let pid = u64::from(hot.process.key.pid.0);
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_look(pid));
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_move_work());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_fewer_launches());
    draft.balance.rest_on(hot.process.states.n, scene.window.span_s);
    work.finish(scene, draft)
}

/// Weighs the thread: it must run while the card rests, and alone.
fn weigh_thread(scene: &Scene, work: &PartlyBusyCard<'_>, hot: &Hot<'_>, limits: &Limits, draft: &mut Draft) {
    let percent = hot.ran * 100.0;
    let evidence = once(Signal::ThreadCpu, percent, Unit::Percent, Reader::ProcTask, hot.words.clone());
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    let usual = normal(Comparison::Less, limits.hot_thread_cores_min * 100.0);
    // Several threads in turn may be a coincidence of sums.
    let certainty = if hot.is_one { 1.0 } else { 0.7 };
    let strength = if work.busy.is_some() { work.share_of_rest(hot.ran) } else { 0.7 };
    draft.agree_by(3.0, strength * certainty, with_normal(evidence, usual));
    match hot.next {
        Some(next) if next <= limits.other_threads_cores_max => {
            let percent = Percent(next * 100.0);
            let evidence = once(
                Signal::ThreadCpu,
                percent.0,
                Unit::Percent,
                Reader::ProcTask,
                text::others_rest(percent),
            );
            let evidence = over(evidence, scene.window.samples, scene.window.span_s);
            draft.agree(
                1.0,
                with_normal(evidence, normal(Comparison::Greater, limits.other_threads_cores_max * 100.0)),
            );
        }
        Some(_) => draft.silent(1.0),
        None if hot.is_one => {
            let absence = hot.process.threads.absence().unwrap_or(Absence::Failed(Failure::NotInSource));
            draft.unseen(1.0, Signal::ThreadCpu, absence);
        }
        None => {}
    }
}

/// Weighs the loaders, where there are any: resting ones have filled their queues.
fn weigh_loaders(scene: &Scene, work: &PartlyBusyCard<'_>, limits: &Limits, draft: &mut Draft) {
    let Some(team) = Team::of(&Kin::of(scene), &work.holders)
        .filter(|team| team.kind == LoaderKind::Processes && team.looks() > 0)
    else {
        return;
    };
    let occupied = team.mean(|loader| loader.waiting.occupied() + loader.waiting.network);
    if occupied >= limits.loader_idle_share_max {
        draft.silent(1.0);
        return;
    }
    let percent = Percent((1.0 - occupied).max(0.0) * 100.0);
    let words = text::loaders_rest(team.loaders.len(), percent);
    let evidence = once(Signal::ProcessState, percent.0, Unit::Percent, Reader::ProcTask, words);
    draft.agree(1.0, over(evidence, team.looks(), scene.window.span_s));
}
