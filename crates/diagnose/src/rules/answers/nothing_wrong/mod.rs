//! `nothing-wrong`: every card is free, or works and shows nothing amiss, and enough was seen to say so.

mod served;

use gpuwhy_model::action::{Action, SubjectKind};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::sample::ClientKind;
use gpuwhy_model::scene::{Card, Process, Scene, SourceKind, Standing};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{busy, normal, once, reader};
use crate::facts::cards::{Activity, Holder, activity, holders, is_free, whole_cards, why_not_in_proc};
use crate::facts::effort::power_for_work;
use crate::facts::idle::{IdleSource, idle};
use crate::facts::kernel_log;
use crate::facts::kin::Kin;
use crate::facts::mps::is_of_mps;
use crate::facts::team::{LoaderKind, Team};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/nothing_wrong.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::NothingWrong,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::CardAnswers,
            Signal::GpuBusy,
            Signal::VramUsed,
            Signal::VramByProcess,
            Signal::ProcessState,
            Signal::KernelLog,
            Signal::ServerQueue,
            Signal::ServerCache,
            Signal::Profile,
            Signal::Stacks,
        ],
    },
    check,
};

/// A driver and a display keep up to this much for themselves, which no list names.
const HIDDEN_BYTES_MIN: u64 = 400 << 20;

/// A card that is shared through its server works at this share of the power at least that others need for it.
const SHARED_POWER: f64 = 0.6;

/// PyTorch names the threads so that it starts at the first backward pass.
const BACKWARD_THREADS: &str = "pt_autograd";

/// What a card without a finding does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Healthy {
    /// Nobody holds it.
    Free,
    /// It works most of the time.
    Works,
    /// It works now and then, as its owner needs it.
    LightlyUsed,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    served::check(scene, limits, findings);
    let kin = Kin::of(scene);
    let mut healthy: Vec<(&Card, Healthy)> = Vec::new();
    for card in whole_cards(scene) {
        if findings.answers().any(|draft| draft.finding.cards.contains(&card.index)) {
            continue;
        }
        if let Some(state) = healthy_state(&kin, card, limits, findings) {
            healthy.push((card, state));
            continue;
        }
        findings.undecided.insert(card.index);
        if holders(scene, card).iter().any(|holder| holder.process.is_none()) {
            findings.blind(Signal::ProcessState, why_not_in_proc(scene));
        }
    }
    let is_everything = findings.undecided.is_empty()
        && findings.answers().next().is_none()
        && !a_program_failed(scene, findings)
        && !a_card_may_be_missing(scene, findings);
    if healthy.is_empty() || !is_everything {
        return;
    }
    findings.report(judge(scene, &healthy, limits));
}

/// Returns whether a card that no list has may be one that the driver lost.
fn a_card_may_be_missing(scene: &Scene, findings: &Findings) -> bool {
    findings.candidates().any(|draft| draft.is_about_an_unlisted_card(scene))
}

/// Returns whether a program ended by an error, or what it said may be one.
fn a_program_failed(scene: &Scene, findings: &Findings) -> bool {
    scene.program.iter().any(|line| line.standing == Some(Standing::Final))
        || findings.candidates().any(|draft| draft.finding.subject.kind == SubjectKind::Program)
}

/// Returns what a card does, if nothing about it is open.
fn healthy_state<'scene>(
    kin: &Kin<'scene>,
    card: &'scene Card,
    limits: &Limits,
    findings: &Findings,
) -> Option<Healthy> {
    let scene = kin.scene;
    // A full card is a remark; every other possibility leaves the card open.
    let is_open = findings
        .candidates()
        .any(|draft| draft.cause() != Cause::VramFull && draft.finding.cards.contains(&card.index));
    if is_open || !card.handle.is_known() {
        return None;
    }
    let holders = holders(scene, card);
    match activity(card, limits) {
        Activity::Works => working_state(kin, card, &holders, limits),
        Activity::Rests | Activity::Unknown if is_free(card, limits) => Some(Healthy::Free),
        Activity::Rests => rests_between_work(&holders, limits).then_some(Healthy::LightlyUsed),
        Activity::Unknown => None,
    }
}

/// Returns whether every holder can be seen and worked so short a time ago that it may go on any moment.
fn rests_between_work(holders: &[Holder<'_>], limits: &Limits) -> bool {
    !holders.is_empty()
        && holders.iter().all(|holder| {
            holder.lives()
                && idle(holder).is_ok_and(|idle| {
                    idle.known_by == IdleSource::LastWork && idle.at_least_s < limits.idle_reserved_s
                })
        })
}

/// Returns whether everybody on a card only draws, and holds what is used of it.
fn is_drawn_on(card: &Card) -> bool {
    let clients = card.known_clients();
    let all_draw = !clients.is_empty() && clients.iter().all(|client| client.kind == ClientKind::Graphics);
    let none_is_hidden = card.unexplained.known().is_some_and(|bytes| bytes.0 < HIDDEN_BYTES_MIN);
    all_draw && none_is_hidden
}

/// Judges a card that works and that no rule found anything about.
fn working_state<'scene>(
    kin: &Kin<'scene>,
    card: &'scene Card,
    holders: &[Holder<'scene>],
    limits: &Limits,
) -> Option<Healthy> {
    let scene = kin.scene;
    let ratio = power_for_work(card).into_known();
    let is_busy = card.busy.known().is_some_and(|busy| busy.mean.0 >= limits.busy_percent_min);
    if is_busy {
        let least = limits.half_multiprocessors_percent_min;
        if card.activity.sm_active.known().is_some_and(|active| active.mean.0 < least) {
            return None;
        }
        // Busy at little power may be waiting inside a kernel.
        let least = limits.false_busy_power_share_max;
        // Who shares a card through its server is most often given a part of it.
        let least = if is_shared_by_server(scene, holders) { least * SHARED_POWER } else { least };
        return ratio.filter(|ratio| *ratio >= least).map(|_| Healthy::Works);
    }
    if holders.is_empty() && is_drawn_on(card) {
        // A desktop keeps its card a little busy.
        return Some(Healthy::LightlyUsed);
    }
    if holders.iter().any(|holder| holder.process.is_none()) {
        // Partly busy for a reason that cannot be seen.
        return None;
    }
    let team = Team::of(kin, holders)?;
    if team.computing.iter().any(|process| trains(process)) {
        // Nobody trains now and then: something keeps its card from being busy.
        return None;
    }
    // With loaders there is more to ask: what does the card wait for, if not for them?
    let is_simple = team.kind == LoaderKind::MainThread && team.looks() > 0 && !team.has_own_background;
    let is_calm = team.mean(|loader| loader.waiting.occupied()) < limits.loader_idle_share_max;
    // A hot thread in the program itself may be what holds the card back.
    let is_hot = team
        .computing
        .iter()
        .any(|process| process.cores.known().is_some_and(|cores| cores.0 >= limits.loader_cores_full));
    (is_simple && is_calm && !is_hot).then_some(Healthy::LightlyUsed)
}

/// Returns whether a paste shows everybody on a card in through the server that shares it (MPS).
fn is_shared_by_server(scene: &Scene, holders: &[Holder<'_>]) -> bool {
    let is_paste = scene.provenance.source == SourceKind::Text;
    is_paste && !holders.is_empty() && holders.iter().all(|holder| is_of_mps(holder.client))
}

/// Returns whether a process goes back over what it computed, which only training does.
fn trains(process: &Process) -> bool {
    process.threads.known().into_iter().flatten().any(|thread| thread.name.starts_with(BACKWARD_THREADS))
}

fn judge(scene: &Scene, healthy: &[(&Card, Healthy)], limits: &Limits) -> Draft {
    let numbers = |wanted: Healthy| -> Vec<String> {
        healthy.iter().filter(|(_, state)| *state == wanted).map(|(card, _)| card.called()).collect()
    };
    let free = numbers(Healthy::Free);
    let summary = match (free.len(), healthy) {
        (1, [(only, _)]) => text::summary_free_card(only.shown()),
        (number, _) if number == healthy.len() => text::summary_free(),
        _ => text::summary(),
    };
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Ok);
    draft.finding.cards = healthy.iter().map(|(card, _)| card.index).collect();
    let share = |number: usize| number as f64 / healthy.len() as f64;
    if !free.is_empty() {
        let number = free.len();
        let reader = reader(scene, Reader::Nvml);
        draft.agree(
            2.0 * share(number),
            once(Signal::VramUsed, number, Unit::Count, reader, text::free(free)),
        );
    }
    for (card, state) in healthy {
        weigh_work(scene, card, *state, 3.0 * share(1), limits, &mut draft);
    }
    weigh_log(scene, limits, &mut draft);
    tell_stuck_counters(scene, healthy, limits, &mut draft);
    if draft.finding.fixes.is_empty() {
        draft.advise(Action::Nothing, Vec::new(), text::fix());
    }
    draft
}

/// Says once of all cards of a text whose counter is stuck what stands at each of them, and how to be sure.
fn tell_stuck_counters(scene: &Scene, healthy: &[(&Card, Healthy)], limits: &Limits, draft: &mut Draft) {
    let is_stuck =
        |card: &Card| card.busy.known().is_some_and(|trend| trend.mean.0 > limits.idle_percent_max);
    let stuck: Vec<&Card> = healthy
        .iter()
        .filter(|(card, state)| *state == Healthy::Free && is_stuck(card) && !card.clients.is_known())
        .map(|(card, _)| *card)
        .collect();
    let loads = stuck.iter().filter_map(|card| card.busy.known()).map(|trend| trend.mean.0);
    let Some(busiest) = loads.reduce(f64::max).filter(|_| scene.provenance.source == SourceKind::Text) else {
        return;
    };
    let all_are_stuck = draft.finding.against.iter().all(|seen| seen.signal == Signal::GpuBusy);
    if let Some(mut told) = draft.finding.against.first().cloned().filter(|_| all_are_stuck) {
        told.text = text::stuck_counters(
            Percent(busiest),
            stuck.iter().map(|card| card.called()).collect::<Vec<_>>(),
        );
        draft.finding.against = vec![told];
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_stuck());
}

/// Weighs how a card works; a card that holds nothing is free whatever its counter says at one look.
fn weigh_work(scene: &Scene, card: &Card, state: Healthy, weight: f64, limits: &Limits, draft: &mut Draft) {
    let Some(trend) = card.busy.known() else {
        draft.silent(weight / 3.0);
        return;
    };
    match state {
        Healthy::Free if trend.mean.0 > limits.idle_percent_max => {
            let mut evidence = busy(scene, trend, normal(Comparison::AtMost, limits.idle_percent_max));
            evidence.text = text::stuck_counter(trend.mean, card.shown());
            draft.contradict(weight / 6.0, evidence);
        }
        Healthy::Free if trend.n >= limits.trend_samples_min => {
            let usual = normal(Comparison::AtMost, limits.idle_percent_max);
            draft.agree(weight / 3.0, busy(scene, trend, usual));
        }
        Healthy::Free => draft.silent(weight / 3.0),
        Healthy::Works => {
            draft.rest_on(trend);
            draft.agree_by(weight, 0.8, busy(scene, trend, None));
        }
        Healthy::LightlyUsed => {
            draft.rest_on(trend);
            draft.agree_by(weight, 0.6, busy(scene, trend, None));
        }
    }
}

/// Weighs the kernel log: a fresh error of the hardware is not nothing.
fn weigh_log(scene: &Scene, limits: &Limits, draft: &mut Draft) {
    let Some(lines) = scene.events.known() else {
        match scene.events.absence() {
            // An unread log is no log without errors.
            Some(absence @ Absence::Denied(_)) => draft.unseen(0.3, Signal::KernelLog, absence),
            _ => draft.silent(0.3),
        }
        return;
    };
    let fault = lines
        .iter()
        .rev()
        .filter(|line| kernel_log::is_fresh(scene, line, limits))
        .find(|line| kernel_log::is_fault(line));
    match fault {
        Some(line) => {
            let words = text::error_in_log(line.text.as_str());
            let weight = draft.balance.agreeing;
            draft.contradict(
                weight,
                once(Signal::KernelLog, line.text.as_str(), Unit::Text, Reader::KernelLog, words),
            );
        }
        None => draft.balance.agree(0.3, 1.0),
    }
}
