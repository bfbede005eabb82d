//! `driver-hung`: calls or processes block inside the driver.

mod start;
mod tasks;

use gpuwhy_model::action::{Action, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessState, StuckCall};
use gpuwhy_model::scene::{Process, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Seconds, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::{Draft, card_subject};
use crate::evidence::{once, over};
use crate::facts::cards::only_on_the_bus;
use crate::facts::waiting::{Places, Waiting, is_driver};
use crate::facts::{culprit, kernel_log, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/driver_hung.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::DriverHung,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::DriverCalls,
            Signal::ProcessState,
            Signal::WaitChannel,
            Signal::KernelLog,
            Signal::ProgramLog,
            Signal::Persistence,
        ],
    },
    check,
};

/// A process that was found blocked in the driver in this share of looks is stuck there.
const STUCK_SHARE: f64 = 0.9;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    start::check(scene, limits, findings);
    let stuck = worst_first(scene.stuck_calls());
    let stuck = stuck.as_slice();
    let blocked = blocked_in_the_driver(scene);
    if stuck.is_empty() && blocked.is_empty() {
        if tasks::check(scene, limits, findings) {
            return;
        }
        // A text was made by calls that came back; it says nothing about now.
        if scene.machine.driver.library.is_known() && scene.provenance.source != SourceKind::Text {
            findings.rule_out(Signal::DriverCalls, None);
        }
        return;
    }
    let mut draft = draft(scene, stuck, &blocked);
    if let Some(call) = stuck.first() {
        weigh_call(call, &mut draft);
        weigh_our_process(scene, call, limits, &mut draft);
    } else {
        // Processes of others alone: our own calls came back.
        draft.agree(1.0, blocked_evidence(scene, &blocked));
        draft.silent(2.0);
    }
    if !stuck.is_empty() {
        match blocked.first() {
            Some(_) => draft.agree(1.0, blocked_evidence(scene, &blocked)),
            None => draft.silent(1.0),
        }
    }
    weigh_log(scene, limits, &mut draft);
    draft.finding.impact = Impact {
        gpu_seconds: scene.window.span_s,
        bytes_held: 0,
        blocked: (blocked.len() + stuck.len()) as u64,
    };
    let target = Target { kind: draft.finding.subject.kind, id: draft.finding.subject.id.clone() };
    draft.advise(Action::LookAgain, Vec::new(), text::fix_stop_polling());
    draft.advise(Action::Reboot, vec![target], text::fix_reboot());
    findings.report(draft);
}

/// Returns the calls, those that did not return before those that were only slow.
fn worst_first(calls: &[StuckCall]) -> Vec<StuckCall> {
    let mut calls = calls.to_vec();
    calls.sort_by_key(|call| call.has_returned);
    calls
}

/// Weighs a call that did not return, or that was only slow.
fn weigh_call(call: &StuckCall, draft: &mut Draft) {
    draft.agree_by(2.0, if call.has_returned { 0.5 } else { 1.0 }, stuck_evidence(call));
    if call.has_returned {
        // It came back: slow, and not stuck, unless something else says so.
        draft.silent(1.0);
    }
    if call.may_be_waking && !call.survived_kill {
        let words = text::may_be_waking();
        draft.contradict(
            1.0,
            once(Signal::DriverCalls, "may wake a card", Unit::Text, Reader::NvmlChild, words),
        );
    }
}

fn draft(scene: &Scene, stuck: &[StuckCall], blocked: &[&Process]) -> Draft {
    let summary = match stuck.first() {
        Some(StuckCall { call: Some(call), has_returned: true, .. }) => text::summary_slow(call.as_str()),
        Some(StuckCall { call: Some(call), .. }) => text::summary_call(call.as_str()),
        Some(_) => text::summary_earlier(),
        None => text::summary_processes(blocked.len()),
    };
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Fault);
    let mut cards: Vec<u32> = stuck.iter().filter_map(|call| call.card).collect();
    if cards.is_empty() && !scene.machine.driver.library.is_known() {
        cards = scene.cards.iter().filter(|card| card.parent.is_none()).map(|card| card.index).collect();
        cards.extend(only_on_the_bus(scene));
    }
    cards.extend(
        blocked
            .iter()
            .filter_map(|process| scene.workload_of(process.key.pid))
            .flat_map(|run| run.cards.iter()),
    );
    cards.sort_unstable();
    cards.dedup();
    if let [only] = cards[..]
        && let Some(card) = scene.card(only)
    {
        draft.finding.subject = card_subject(card);
    }
    draft.finding.cards = cards;
    let culprits = blocked.iter().map(|process| culprit::of_process(process)).collect();
    let pids = blocked.iter().map(|process| process.key.pid).collect();
    draft.culprits(culprits, pids)
}

fn stuck_evidence(call: &StuckCall) -> Evidence {
    let pid = u64::from(call.pid.0);
    let time = Seconds(call.for_s);
    let words = match (&call.call, call.card) {
        (Some(name), _) if call.has_returned => text::slow(name.as_str(), time),
        (Some(name), Some(card)) => text::stuck_on_card(name.as_str(), card, time),
        (Some(name), None) => text::stuck(name.as_str(), time),
        (None, _) => text::stuck_earlier(pid, time),
    };
    once(Signal::DriverCalls, call.for_s, Unit::Seconds, Reader::NvmlChild, words)
}

/// Weighs the state of our own process that made the call.
fn weigh_our_process(scene: &Scene, call: &StuckCall, limits: &Limits, draft: &mut Draft) {
    let pid = u64::from(call.pid.0);
    let place = call.wait_channel.known().cloned().unwrap_or_else(|| "?".to_owned());
    let is_blocked = call.state == Reading::Known(ProcessState::Blocked);
    if call.survived_kill {
        let words = text::survived_kill(pid, place.as_str());
        draft.agree(1.5, once(Signal::ProcessState, "survived SIGKILL", Unit::Text, Reader::ProcPid, words));
    } else if is_blocked {
        let words = text::our_process_blocked(pid, place.as_str());
        draft.agree(1.0, once(Signal::ProcessState, "D", Unit::Text, Reader::ProcPid, words));
    } else if call.has_returned {
        draft.silent(1.0);
    } else if call.state == Reading::Known(ProcessState::Running) && is_short_of_processors(scene, limits) {
        let words = text::our_process_may_wait_for_a_processor(pid);
        draft.contradict(2.0, once(Signal::ProcessState, "R", Unit::Text, Reader::ProcPid, words));
        draft.only_possible();
    } else {
        draft.silent(1.0);
    }
}

/// Returns whether tasks of the machine waited for processors so much that any process may have stood still.
fn is_short_of_processors(scene: &Scene, limits: &Limits) -> bool {
    scene.host.pressure.cpu_some.known().is_some_and(|share| share.0 >= limits.cpu_pressure_share_notice)
}

/// Returns the processes that sat inside the driver all the time.
fn blocked_in_the_driver(scene: &Scene) -> Vec<&Process> {
    let places = Places::default();
    scene
        .processes
        .iter()
        .filter(|process| process.state == Reading::Known(ProcessState::Blocked))
        .filter(|process| {
            let waiting = Waiting::of_main_thread(process, &places);
            waiting.looks > 0 && process.states.blocked >= STUCK_SHARE && waiting.driver >= STUCK_SHARE
        })
        .collect()
}

fn blocked_evidence(scene: &Scene, blocked: &[&Process]) -> Evidence {
    let names: Vec<String> =
        blocked.iter().map(|process| format!("{} {}", names::called(process), process.key.pid)).collect();
    let channels = blocked.iter().filter_map(|process| process.wait_channels.first());
    let mut places: Vec<String> =
        channels.filter(|channel| is_driver(&channel.name)).map(|channel| channel.name.clone()).collect();
    places.sort();
    places.dedup();
    let evidence = once(
        Signal::WaitChannel,
        blocked.len(),
        Unit::Count,
        Reader::ProcPid,
        text::blocked_processes(places, names),
    );
    over(evidence, scene.window.samples, scene.window.span_s)
}

fn weigh_log(scene: &Scene, limits: &Limits, draft: &mut Draft) {
    const WEIGHT: f64 = 1.75;
    let line = kernel_log::lines(scene)
        .iter()
        .rev()
        .filter(|line| kernel_log::is_fresh(scene, line, limits))
        .find(|line| kernel_log::shows_a_hang(line));
    if let Some(line) = line {
        draft.agree(
            WEIGHT,
            once(
                Signal::KernelLog,
                line.text.as_str(),
                Unit::Text,
                Reader::KernelLog,
                text::in_log(line.text.as_str()),
            ),
        );
        return;
    }
    match scene.events.absence() {
        Some(absence) => draft.unseen(WEIGHT, Signal::KernelLog, absence),
        None => draft.silent(WEIGHT),
    }
}
