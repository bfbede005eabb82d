//! `starved-by-network-input`: work waits for data that the program itself fetches over the network.

mod said;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{BytesPerSecond, Percent, Unit};

use super::waiting_card::{WaitingCard, cards_with_slow_loaders};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::peers::{Job, job_of, jobs};
use crate::facts::team::LoaderKind;
use crate::facts::traffic::{Input, input};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/starved_by_network_input.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::StarvedByNetworkInput,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ProcessList,
            Signal::ProcessState,
            Signal::WaitChannel,
            Signal::ThreadCpu,
            Signal::Network,
            Signal::Sockets,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// Loaders that wait three times as long as the limit prove it fully.
const FULL_PROOF: f64 = 3.0;

/// What comes in, or why that is not known.
type Seen<'scene> = Result<Input<'scene>, Absence>;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    let seen = input(scene, BytesPerSecond(limits.network_input_bytes_min));
    let jobs = jobs(scene, limits);
    let shares = |waiting: &WaitingCard<'_>| {
        let network = network_share(waiting, &seen, &jobs, limits);
        (network, waiting.storage + waiting.processor + network)
    };
    for waiting in cards_with_slow_loaders(scene, limits, findings, Signal::WaitChannel, shares) {
        // A main thread may wait for other ranks, or for requests, as well as for data.
        if waiting.team.kind != LoaderKind::MainThread {
            findings.report(judge(scene, &waiting, &seen, &jobs, limits));
        }
    }
}

/// Returns whether the link on which most comes in is full.
fn is_full(seen: &Seen<'_>, limits: &Limits) -> bool {
    seen.as_ref().is_ok_and(|input| input.share.is_some_and(|share| share >= limits.network_link_share_min))
}

/// Returns which share of their time the loaders wait for the network. Connections with a time-out show as a wait for
/// anything: where the link is full and the loaders have connections, that is a wait for the network too. A member of a
/// job on several machines fills the link by itself, and its loaders inherit its connections.
fn network_share(waiting: &WaitingCard<'_>, seen: &Seen<'_>, jobs: &[Job<'_>], limits: &Limits) -> f64 {
    let has_connections = connections(waiting).is_some_and(|number| number > 0);
    let exchanges_over_it = job_of(jobs, &waiting.work.holders)
        .is_some_and(|job| job.is_collective() && job.spans_nodes() != Some(false));
    if is_full(seen, limits) && has_connections && !exchanges_over_it && waiting.work.spins.is_none() {
        return (1.0 - waiting.storage - waiting.processor).max(waiting.network);
    }
    waiting.network
}

/// Returns how many network connections the loaders have open, as far as that could be seen.
fn connections(waiting: &WaitingCard<'_>) -> Option<u64> {
    let known: Vec<u64> = waiting
        .team
        .loaders
        .iter()
        .filter_map(|loader| loader.process.open_sockets.known().copied())
        .collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

fn judge(
    scene: &Scene,
    waiting: &WaitingCard<'_>,
    seen: &Seen<'_>,
    jobs: &[Job<'_>],
    limits: &Limits,
) -> Draft {
    let mut draft = Draft::about_card(&RULE, waiting.work.card, text::summary());
    waiting.weigh_card(scene, limits, &mut draft);
    weigh_waiting(scene, waiting, network_share(waiting, seen, jobs, limits), limits, &mut draft);
    weigh_other_reasons(scene, waiting, &mut draft);
    weigh_input(scene, waiting, seen, limits, &mut draft);
    weigh_connections(waiting, &mut draft);
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_more_at_once());
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_nearer());
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_link());
    waiting.finish(scene, draft)
}

/// Weighs how much of their time the loaders wait for the network.
fn weigh_waiting(scene: &Scene, waiting: &WaitingCard<'_>, share: f64, limits: &Limits, draft: &mut Draft) {
    let percent = Percent(share * 100.0);
    let number = waiting.team.loaders.len();
    let is_direct = waiting.network >= limits.loader_blocked_share_min;
    let (signal, words) = if is_direct {
        (Signal::WaitChannel, text::loaders_wait(number, percent))
    } else {
        (Signal::ProcessState, text::loaders_rest(number, percent))
    };
    let evidence = once(signal, percent.0, Unit::Percent, Reader::ProcTask, words);
    let usual = normal(Comparison::Less, limits.loader_blocked_share_min * 100.0);
    let evidence = with_normal(over(evidence, waiting.team.looks(), scene.window.span_s), usual);
    let strength = share / (limits.loader_blocked_share_min * FULL_PROOF);
    draft.agree_by(3.0, if is_direct { strength } else { strength.min(0.6) }, evidence);
}

/// Weighs storage and processors: where they take longer, the network is not the slow part.
fn weigh_other_reasons(scene: &Scene, waiting: &WaitingCard<'_>, draft: &mut Draft) {
    let others = waiting.storage + waiting.processor;
    let percent = Percent(others * 100.0);
    let evidence =
        once(Signal::ProcessState, percent.0, Unit::Percent, Reader::ProcTask, text::other_reasons(percent));
    let evidence = over(evidence, waiting.team.looks(), scene.window.span_s);
    if others > waiting.network.max(1.0 - others) {
        draft.contradict(1.5, evidence);
    } else {
        draft.agree_by(1.0, 1.0 - others, evidence);
    }
}

/// Weighs what comes in over the network.
fn weigh_input(
    scene: &Scene,
    waiting: &WaitingCard<'_>,
    seen: &Seen<'_>,
    limits: &Limits,
    draft: &mut Draft,
) {
    let input = match seen {
        Ok(input) => input,
        Err(absence) => {
            draft.unseen(2.0, Signal::Network, absence.clone());
            return;
        }
    };
    let evidence = |words| once(Signal::Network, input.rate.0, Unit::BytesPerSecond, Reader::SysNet, words);
    let over_window = |evidence| over(evidence, scene.window.samples, scene.window.span_s);
    match input.share {
        Some(share) if share >= limits.network_link_share_min => {
            let words = text::link_is_full(input.interface, Percent((share * 100.0).min(100.0)), input.rate);
            draft.agree(2.0, over_window(evidence(words)));
        }
        _ if input.rate.0 >= limits.network_input_bytes_min => {
            let words = text::comes_in(input.interface, input.rate);
            draft.agree_by(2.0, 0.6, over_window(evidence(words)));
        }
        _ => {
            draft.contradict(1.5, over_window(evidence(text::nothing_comes_in(input.rate))));
            if waiting.network < limits.loader_idle_share_max {
                draft.only_possible();
            }
        }
    }
}

/// Weighs the connections of the loaders.
fn weigh_connections(waiting: &WaitingCard<'_>, draft: &mut Draft) {
    match connections(waiting) {
        Some(0) => {
            let evidence =
                once(Signal::Sockets, 0_usize, Unit::Count, Reader::ProcPid, text::no_connections());
            draft.contradict(1.5, evidence);
        }
        Some(number) => {
            let evidence =
                once(Signal::Sockets, number, Unit::Count, Reader::ProcPid, text::connections(number));
            draft.agree(0.5, evidence);
        }
        None => draft.silent(0.5),
    }
}
