//! `idle-reserved`: a live owner holds a card's memory and does no work.

mod accounted;

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Bytes, Seconds};
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::{Draft, card_subject};
use crate::evidence::{alive, busy, holds, idle as idle_evidence, normal, tree_cores};
use crate::facts::cards::{Holder, holders, is_worth_naming, seconds_lost, whole_cards, why_not_in_proc};
use crate::facts::idle::{
    Idle, IdleSource, idle, is_for_want_of_looks, tree_cores as cores_of_tree, tree_left_storage_alone,
};
use crate::facts::kin::Kin;
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/idle_reserved.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::IdleReserved,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::VramByProcess,
            Signal::GpuBusy,
            Signal::GpuIdleFor,
            Signal::GpuWorkByProcess,
            Signal::ProcessAge,
            Signal::ProcessCpu,
            Signal::ProcessIo,
            Signal::ParentAlive,
            Signal::ProcessList,
            Signal::JobUsage,
        ],
    },
    check,
};

/// How sure the processor time of a whole life is, beside having looked all the time.
const BY_PROCESSOR_TIME: f64 = 0.85;

/// How much an open doubt weighs whether the owner still wants what it holds.
const MAY_BE_OVER: f64 = 5.0;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    accounted::check(scene, limits, findings);
    let kin = Kin::of(scene);
    let mut runs: BTreeMap<String, Vec<Holder<'_>>> = BTreeMap::new();
    for card in whole_cards(scene) {
        for holder in holders(scene, card) {
            if may_be_idle(&kin, &holder, limits, findings) {
                runs.entry(culprit::run_of(scene, &holder).0).or_default().push(holder);
            }
        }
    }
    for (key, run) in runs {
        report(scene, key, &run, limits, findings);
    }
}

/// Returns whether a holder may hold its card for nothing; what excludes it is noted.
fn may_be_idle<'scene>(
    kin: &Kin<'scene>,
    holder: &Holder<'scene>,
    limits: &Limits,
    findings: &mut Findings,
) -> bool {
    let scene = kin.scene;
    let card = holder.card.parent.unwrap_or(holder.card.index);
    if !is_worth_naming(holder.bytes(), holder.card, limits) {
        return false;
    }
    let worked = holder.worked(limits);
    if worked == Some(true) {
        findings.rule_out(Signal::GpuBusy, Some(card));
        return false;
    }
    let is_claimed_by = |findings: &Findings, causes: &[Cause]| {
        let mut answers = findings.answers();
        answers.any(|draft| causes.contains(&draft.cause()) && draft.processes.contains(&holder.client.pid))
    };
    if is_claimed_by(findings, &[Cause::VramHeldByDeadProcess]) {
        findings.rule_out(Signal::ParentAlive, Some(card));
        return false;
    }
    // Work in progress that waits for data is no reservation.
    if is_claimed_by(findings, &[Cause::StarvedByStorage, Cause::StarvedByCpu, Cause::GpuLost]) {
        findings.rule_out(Signal::ProcessCpu, Some(card));
        return false;
    }
    // A run that works on another card is at work, however little it needs this one.
    if works_elsewhere(scene, holder, limits) {
        findings.rule_out(Signal::GpuWorkByProcess, Some(card));
        return false;
    }
    let moves_data =
        holder.process.is_some_and(|process| tree_left_storage_alone(kin, process, limits) == Ok(false));
    if moves_data {
        findings.rule_out(Signal::ProcessIo, Some(card));
        return false;
    }
    let worked_lately = idle(holder)
        .is_ok_and(|idle| idle.known_by == IdleSource::LastWork && idle.at_least_s < limits.idle_reserved_s);
    if worked_lately {
        findings.rule_out(Signal::GpuIdleFor, Some(card));
        return false;
    }
    worked == Some(false)
}

/// Returns whether the holder's run may be over, as far as could be seen.
fn may_be_over(holder: &Holder<'_>, findings: &Findings) -> bool {
    findings.candidates().any(|draft| {
        draft.cause() == Cause::VramHeldByDeadProcess && draft.processes.contains(&holder.client.pid)
    })
}

/// Returns whether the holder's run works on another card.
fn works_elsewhere(scene: &Scene, holder: &Holder<'_>, limits: &Limits) -> bool {
    let own = [holder.client.pid];
    let run = holder.workload.map_or(&own[..], |workload| &workload.gpu_processes);
    // Only the run's own cards are gone through: a machine may have many.
    let is_of_run = |card: &&Card| card.known_clients().iter().any(|client| run.contains(&client.pid));
    let cards: BTreeSet<u32> =
        scene.cards.iter().filter(is_of_run).map(|card| card.parent.unwrap_or(card.index)).collect();
    cards
        .iter()
        .filter_map(|index| scene.card(*index))
        .flat_map(|card| holders(scene, card))
        .any(|other| run.contains(&other.client.pid) && other.worked(limits) == Some(true))
}

fn report(scene: &Scene, key: String, run: &[Holder<'_>], limits: &Limits, findings: &mut Findings) {
    let Some(first) = run.first() else {
        return;
    };
    let bytes = Bytes(run.iter().map(|holder| holder.bytes().0).sum());
    let idle_s = |holder: &Holder<'_>| idle(holder).map_or(0.0, |idle| idle.at_least_s);
    let weakest = run.iter().min_by(|one, other| idle_s(one).total_cmp(&idle_s(other))).unwrap_or(first);
    let known_idle = idle(weakest);
    let mut cards: Vec<u32> =
        run.iter().map(|holder| holder.card.parent.unwrap_or(holder.card.index)).collect();
    cards.sort_unstable();
    cards.dedup();
    let subject = if cards.len() > 1 { culprit::run_of(scene, first).1 } else { card_subject(first.card) };
    let lost_s = seconds_lost(scene, &cards, limits);
    let mut draft = Draft::new(&RULE, subject, key, cards, summary(scene, first, bytes, &known_idle))
        .severity(Severity::Warn);

    draft.agree(2.0, holds(scene, first));
    for holder in &run[1..] {
        draft.mention(holds(scene, holder));
    }
    weigh_idle(scene, &known_idle, limits, &mut draft);
    if let Some(trend) = first.card.busy.known() {
        draft.mention(busy(scene, trend, normal(Comparison::Greater, limits.idle_percent_max)));
    }
    weigh_owner(scene, first, limits, &mut draft);
    if may_be_over(first, findings) {
        // What would show that the run is over could not be seen: this may be a dead run all the same.
        draft.silent(MAY_BE_OVER);
    }
    draft.balance.past_decides = true;
    draft.finding.impact = Impact { gpu_seconds: lost_s, bytes_held: bytes.0, blocked: 0 };
    advise(scene, first, &mut draft);
    let culprits = culprit::culprits(scene, run);
    findings.report(draft.culprits(culprits, culprit::pids(run)));
}

fn weigh_idle(scene: &Scene, known: &Result<Idle, Absence>, limits: &Limits, draft: &mut Draft) {
    match known {
        Ok(idle) => {
            let is_by_time = matches!(idle.known_by, IdleSource::ProcessorTime { .. });
            let strength = if is_by_time { BY_PROCESSOR_TIME } else { 1.0 };
            draft.agree_by(3.0, strength, idle_evidence(scene, *idle, limits.idle_reserved_s));
            if idle.at_least_s < limits.idle_reserved_s {
                draft.possible_until(limits.idle_reserved_s - idle.at_least_s + scene.window.span_s);
            }
        }
        Err(absence) => {
            draft.unseen(3.0, Signal::GpuIdleFor, absence.clone());
            draft.possible_until(limits.idle_reserved_s);
        }
    }
}

/// Weighs that the owner lives and does nothing.
fn weigh_owner(scene: &Scene, holder: &Holder<'_>, limits: &Limits, draft: &mut Draft) {
    let Some(process) = holder.process else {
        draft.unseen(2.5, Signal::ProcessList, why_not_in_proc(scene));
        return;
    };
    if holder.lives() {
        draft.agree(1.0, alive(process));
    } else {
        draft.silent(1.0);
    }
    match cores_of_tree(&Kin::of(scene), process) {
        Ok(cores) if cores <= limits.idle_cores_max => {
            draft.agree(1.5, tree_cores(scene, cores, normal(Comparison::Greater, limits.idle_cores_max)));
        }
        // Serving programs poll while they wait: less than one thread's worth says little.
        Ok(cores) if cores < limits.loader_cores_full => draft.silent(1.5),
        Ok(cores) => {
            draft
                .contradict(1.0, tree_cores(scene, cores, normal(Comparison::AtMost, limits.idle_cores_max)));
        }
        Err(absence) if is_for_want_of_looks(scene, &absence) => draft.silent(1.5),
        Err(absence) => draft.unseen(1.5, Signal::ProcessCpu, absence),
    }
}

fn summary(scene: &Scene, holder: &Holder<'_>, bytes: Bytes, idle: &Result<Idle, Absence>) -> Text {
    let who = match culprit::head(scene, holder) {
        Some(process) if names::is_notebook(process) => text::who_notebook(),
        Some(process) if names::is_server(process) => text::who_server(),
        _ => text::who_program(),
    };
    match idle {
        Ok(Idle { known_by: IdleSource::ProcessorTime { used_s, age_s }, .. }) => {
            text::summary_little_work(Seconds(*age_s), bytes, Seconds(*used_s), who)
        }
        Ok(idle) => text::summary(bytes, Seconds(idle.at_least_s), who),
        Err(_) => text::summary_unknown_idle(bytes, who),
    }
}

fn advise(scene: &Scene, holder: &Holder<'_>, draft: &mut Draft) {
    let step = match culprit::head(scene, holder) {
        Some(process) if names::is_notebook(process) => text::fix_notebook(),
        Some(process) if names::is_server(process) => text::fix_server(),
        _ => text::fix_program(),
    };
    draft.advise(Action::AskOwner, vec![culprit::target(holder.client.pid)], step);
}
