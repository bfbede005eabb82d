//! `wrong-process-count`: a job started fewer or more processes than it has cards.

mod promise;

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::ClientKind;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use self::promise::{Promise, promise};
use crate::draft::Draft;
use crate::evidence::{busy, once, reader};
use crate::facts::cards::{Activity, Holder, activity, holders, is_worth_naming};
use crate::facts::culprit;
use crate::facts::peers::{Job, jobs, member_number};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/wrong_process_count.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::WrongProcessCount,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::ProcessEnvironment,
            Signal::ProcessCount,
            Signal::GpuBusy,
            Signal::VramByProcess,
            Signal::GpuWorkByProcess,
            Signal::ProcessAge,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for job in jobs(scene, limits).iter().filter(|job| job.is_certain) {
        if !works(scene, job, limits) {
            continue;
        }
        if let Some(promise) = promise(scene, job) {
            judge_unused(scene, job, &promise, limits, findings);
        }
        judge_crowded(scene, job, limits, findings);
    }
}

/// Returns whether a job works on at least one of its cards.
fn works(scene: &Scene, job: &Job<'_>, limits: &Limits) -> bool {
    job.cards(scene).into_iter().any(|card| activity(card, limits) == Activity::Works)
}

/// Looks for cards that a job was given and leaves alone.
fn judge_unused(scene: &Scene, job: &Job<'_>, promise: &Promise, limits: &Limits, findings: &mut Findings) {
    let used: BTreeSet<u32> = job.cards(scene).iter().map(|card| card.index).collect();
    let Some(first) = used.first().copied() else {
        return;
    };
    // A job on cards that it was not given: what the numbers mean is not what we take them for.
    if promise.cards.len() < 2 || !used.is_subset(&promise.cards) {
        return;
    }
    // A single program that looks at more cards than it needs keeps nobody off them, unless a scheduler gave them to it.
    if !promise.is_allocation && !job.is_collective() {
        return;
    }
    let unused: Vec<u32> = promise
        .cards
        .difference(&used)
        .copied()
        .filter(|index| is_left_alone(scene, *index, limits))
        .collect();
    let share = unused.len() as f64 / promise.cards.len() as f64;
    if unused.is_empty() || share < limits.unused_cards_share_min {
        findings.rule_out(Signal::GpuBusy, Some(first));
        return;
    }
    let number = promise.cards.len();
    let cards: Vec<u32> = promise.cards.iter().copied().collect();
    let (group, run) = culprit::run_of(scene, &job.members[0]);
    let unused_names: Vec<String> = unused.iter().map(u32::to_string).collect();
    let summary = text::summary_unused(number, unused_names.clone(), used.len());
    let mut draft = Draft::new(&RULE, run, group, cards, summary);
    let words = text::given(number, promise.variable);
    draft.agree(2.0, once(Signal::ProcessEnvironment, number, Unit::Count, Reader::ProcPid, words));
    let idle = unused.iter().filter_map(|index| scene.card(*index)?.busy.known());
    if let Some(busiest) = idle.max_by(|one, other| one.mean.0.total_cmp(&other.mean.0)) {
        let mut evidence = busy(scene, busiest, None);
        evidence.text = text::idle(busiest.mean);
        draft.agree(2.0, evidence);
        draft.rest_on(busiest);
    }
    let reader = reader(scene, Reader::Nvml);
    let words = text::left_alone(unused_names);
    draft.agree(1.0, once(Signal::VramByProcess, unused.len(), Unit::Count, reader, words));
    weigh_number(job, number, &mut draft);
    weigh_age(job, limits, &mut draft);
    draft.finding.detail.insert("cards_given".to_owned(), number.to_string());
    draft.finding.detail.insert("cards_used".to_owned(), used.len().to_string());
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * unused.len() as f64, bytes_held: 0, blocked: 0 };
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_more_processes(number));
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_fewer_cards(used.len()));
    finish(scene, job, draft, findings);
}

/// Returns whether nobody works on a card or holds memory worth naming on it.
fn is_left_alone(scene: &Scene, index: u32, limits: &Limits) -> bool {
    let Some(card) = scene.card(index) else {
        return false;
    };
    let all_small = holders(scene, card).iter().all(|holder| !is_worth_naming(holder.bytes(), card, limits));
    all_small && card.clients.is_known() && activity(card, limits) == Activity::Rests
}

/// Weighs what the job itself says of its number of processes.
fn weigh_number(job: &Job<'_>, cards: usize, draft: &mut Draft) {
    let own = job.local_size().or(job.world_size()).and_then(|size| usize::try_from(size).ok());
    match own {
        Some(size) if size < cards => {
            let words = text::own_number(size);
            draft.agree(1.5, once(Signal::ProcessCount, size, Unit::Count, Reader::ProcPid, words));
        }
        // As many as cards: the others may still start, or have ended.
        Some(size) if size > job.process_number() => {
            let words = text::some_are_missing(job.process_number(), size);
            draft.contradict(1.5, once(Signal::ProcessCount, size, Unit::Count, Reader::ProcPid, words));
        }
        Some(_) | None => draft.silent(1.0),
    }
}

/// Weighs the age of the youngest process: a job that starts brings its processes one after the other.
fn weigh_age(job: &Job<'_>, limits: &Limits, draft: &mut Draft) {
    let ages = job.processes().into_iter().filter_map(|process| process.age.known()).map(|age| age.0);
    let youngest = ages.fold(f64::INFINITY, f64::min);
    if youngest < limits.job_start_s {
        draft.possible_until(limits.job_start_s);
    }
}

/// Looks for members of one job that share a card, one process beside another.
fn judge_crowded(scene: &Scene, job: &Job<'_>, limits: &Limits, findings: &mut Findings) {
    if !job.is_collective() {
        return;
    }
    let mut by_card: BTreeMap<u32, Vec<Holder<'_>>> = BTreeMap::new();
    for member in &job.members {
        // Members on instances of a card, or behind an MPS server, were put there on purpose.
        if member.client.kind == ClientKind::Compute && member.card.parent.is_none() {
            by_card.entry(member.card.index).or_default().push(*member);
        }
    }
    let crowded: Vec<(u32, Vec<Holder<'_>>)> =
        by_card.into_iter().filter(|(_, members)| are_members_of_their_own(members, limits)).collect();
    let Some((index, members)) = crowded.first() else {
        return;
    };
    let most = crowded.iter().map(|(_, members)| members.len()).max().unwrap_or(0);
    let cards: Vec<u32> = crowded.iter().map(|(index, _)| *index).collect();
    let (group, run) = culprit::run_of(scene, &members[0]);
    let shown = members[0].card.shown();
    let mut draft = Draft::new(&RULE, run, group, cards.clone(), text::summary_crowded(shown.clone(), most));
    let reader = reader(scene, Reader::Nvml);
    let words = text::share_a_card(shown, most);
    draft.agree(3.0, once(Signal::ProcessCount, most, Unit::Count, reader, words));
    if let Some(trend) = scene.card(*index).and_then(|card| card.busy.known()) {
        draft.agree(1.0, busy(scene, trend, None));
        draft.rest_on(trend);
    }
    match free_cards(scene, &cards, limits) {
        free if free.is_empty() => draft.silent(1.0),
        free => {
            let words = text::others_are_free(free.iter().map(u32::to_string).collect::<Vec<String>>());
            draft.agree(1.0, once(Signal::GpuBusy, free.len(), Unit::Count, reader, words));
        }
    }
    draft.finding.detail.insert("members_on_card".to_owned(), most.to_string());
    draft.finding.impact = Impact {
        gpu_seconds: scene.window.span_s * cards.len() as f64 * (1.0 - 1.0 / most as f64),
        bytes_held: 0,
        blocked: 0,
    };
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_own_card());
    finish(scene, job, draft, findings);
}

/// Returns whether processes on one card are different members of their job, each of which works there.
fn are_members_of_their_own(members: &[Holder<'_>], limits: &Limits) -> bool {
    let working: Vec<&Holder<'_>> = members
        .iter()
        .filter(|member| {
            member.client.sm.known().is_some_and(|work| work.mean.0 >= limits.contention_percent_min)
        })
        .collect();
    let numbers: BTreeSet<u32> = working.iter().filter_map(|member| member_number(member.process?)).collect();
    working.len() > 1 && numbers.len() == working.len()
}

/// Returns the cards beside some on which nobody works.
fn free_cards(scene: &Scene, beside: &[u32], limits: &Limits) -> Vec<u32> {
    let all = crate::facts::cards::whole_cards(scene).map(|card| card.index);
    all.filter(|index| !beside.contains(index) && is_left_alone(scene, *index, limits)).collect()
}

fn finish(scene: &Scene, job: &Job<'_>, draft: Draft, findings: &mut Findings) {
    let culprits = culprit::culprits(scene, &job.members);
    let draft = draft.severity(Severity::Warn).culprits(culprits, culprit::pids(&job.members));
    findings.report(draft);
}
