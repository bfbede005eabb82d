//! `gpu-contention`: several programs take turns on one card, each slower than alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::sample::ClientKind;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, normal, once, over, reader, with_normal};
use crate::facts::cards::{Holder, holders, is_worth_naming, whole_cards};
use crate::facts::peers::{Job, jobs};
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/gpu_contention.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::GpuContention,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[Signal::GpuBusy, Signal::GpuWorkByProcess, Signal::VramByProcess],
    },
    check,
};

/// One program on a card: all its processes there, and how much of the card they used.
struct Program<'scene> {
    holders: Vec<Holder<'scene>>,
    work: f64,
}

/// A program with this much of a card's time is in the way of every other one.
const FULL_PART_PERCENT: f64 = 25.0;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let jobs = jobs(scene, limits);
    for card in whole_cards(scene) {
        let Some(trend) = card.busy.known() else {
            continue;
        };
        let holders = sharing(scene, card);
        if holders.len() < 2 {
            continue;
        }
        if trend.mean.0 < limits.saturated_busy_percent_min {
            // There is room for everybody.
            findings.rule_out(Signal::GpuBusy, Some(card.index));
            continue;
        }
        if holders.iter().any(|holder| !holder.client.sm.is_known()) {
            report_possible(scene, card, &holders, limits, findings);
            continue;
        }
        let programs = programs(scene, &holders, &jobs, limits);
        if programs.len() < 2 {
            findings.rule_out(Signal::GpuWorkByProcess, Some(card.index));
            continue;
        }
        report(scene, card, &programs, limits, findings);
    }
}

/// Returns the processes that take turns on a card: clients of one MPS server work side by side, instances are apart.
fn sharing<'scene>(scene: &'scene Scene, card: &'scene Card) -> Vec<Holder<'scene>> {
    let mut holders = holders(scene, card);
    holders.retain(|holder| {
        let is_service = holder.process.is_some_and(names::is_helper);
        holder.client.kind == ClientKind::Compute && holder.card.parent.is_none() && !is_service
    });
    holders
}

/// Returns the programs that take a notable part in filling a card, the busiest first. Members of one job are one.
fn programs<'scene>(
    scene: &Scene,
    holders: &[Holder<'scene>],
    jobs: &[Job<'scene>],
    limits: &Limits,
) -> Vec<Program<'scene>> {
    let job_of = |holder: &Holder<'_>| {
        jobs.iter().find(|job| job.has(holder.client.pid)).and_then(|job| job.members.first())
    };
    let mut by_run: BTreeMap<String, Program<'scene>> = BTreeMap::new();
    for holder in holders {
        let key = culprit::run_of(scene, job_of(holder).unwrap_or(holder)).0;
        let program = by_run.entry(key).or_insert_with(|| Program { holders: Vec::new(), work: 0.0 });
        program.holders.push(*holder);
        program.work += holder.client.sm.known().map_or(0.0, |work| work.mean.0);
    }
    let mut programs: Vec<Program<'scene>> =
        by_run.into_values().filter(|program| program.work >= limits.contention_percent_min).collect();
    programs.sort_by(|one, other| other.work.total_cmp(&one.work));
    programs
}

fn report(scene: &Scene, card: &Card, programs: &[Program<'_>], limits: &Limits, findings: &mut Findings) {
    let mut draft = Draft::about_card(&RULE, card, text::summary(programs.len()));
    if let Some(trend) = card.busy.known() {
        draft.agree(2.0, busy(scene, trend, normal(Comparison::Less, limits.saturated_busy_percent_min)));
        draft.rest_on(trend);
    }
    for (place, program) in programs.iter().enumerate() {
        let Some((first, trend)) =
            program.holders.first().and_then(|first| Some((first, first.client.sm.known()?)))
        else {
            continue;
        };
        let work = Percent(program.work);
        let words = text::takes(culprit::called(first), work, u64::from(first.client.pid.0));
        let reader = reader(scene, Reader::NvmlSamples);
        let evidence = once(Signal::GpuWorkByProcess, work.0, Unit::Percent, reader, words);
        let evidence = over(evidence, trend.n, trend.span_s);
        // Two are contention; more are only worth seeing.
        if place < 2 {
            let usual = normal(Comparison::Less, limits.contention_percent_min);
            draft.agree_by(1.5, program.work / FULL_PART_PERCENT, with_normal(evidence, usual));
            draft.rest_on(trend);
        } else {
            draft.mention(evidence);
        }
    }
    let largest = programs.first().map_or(100.0, |program| program.work.min(100.0));
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * (1.0 - largest / 100.0), bytes_held: 0, blocked: 0 };
    advise(&mut draft);
    let all: Vec<Holder<'_>> = programs.iter().flat_map(|program| program.holders.iter().copied()).collect();
    let culprits = culprit::culprits(scene, &all);
    findings.report(draft.culprits(culprits, culprit::pids(&all)));
}

/// Reports what may be where nobody says who of several works: two large holders of a full card.
fn report_possible(
    scene: &Scene,
    card: &Card,
    holders: &[Holder<'_>],
    limits: &Limits,
    findings: &mut Findings,
) {
    let absence = holders
        .iter()
        .find_map(|holder| holder.client.sm.absence())
        .unwrap_or(Absence::Failed(Failure::NotInSource));
    let mut large: Vec<Holder<'_>> =
        holders.iter().copied().filter(|holder| is_worth_naming(holder.bytes(), card, limits)).collect();
    large.sort_by_key(|holder| Reverse(holder.bytes()));
    let runs: BTreeSet<String> = large.iter().map(|holder| culprit::run_of(scene, holder).0).collect();
    if runs.len() < 2 {
        return;
    }
    if scene.provenance.source != SourceKind::Text {
        findings.blind(Signal::GpuWorkByProcess, absence.clone());
    }
    let mut draft = Draft::about_card(&RULE, card, text::summary_possible(runs.len()));
    if let Some(trend) = card.busy.known() {
        draft.agree(2.0, busy(scene, trend, normal(Comparison::Less, limits.saturated_busy_percent_min)));
        draft.rest_on(trend);
    }
    draft.unseen(3.0, Signal::GpuWorkByProcess, absence);
    draft.only_possible();
    advise(&mut draft);
    let culprits = culprit::culprits(scene, &large);
    findings.report(draft.culprits(culprits, culprit::pids(&large)));
}

fn advise(draft: &mut Draft) {
    draft.advise(Action::MoveWork, Vec::new(), text::fix_move());
    draft.advise(Action::ConfigureMig, Vec::new(), text::fix_divide());
}
