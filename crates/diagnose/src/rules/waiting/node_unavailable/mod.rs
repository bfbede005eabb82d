//! `node-unavailable`: a job would fit, but nodes are drained, down or reserved.

mod closed;
mod words;

use gpuwhy_knowledge::WaitClass;
use gpuwhy_model::action::{SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{ClusterNode, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity, Subject};

use super::says;
use super::scheduler_pending::apart;
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::{Group, WaitingJobs, fit, folded, reader_of};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use closed::{Closed, closed_of_cluster};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/node_unavailable.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::NodeUnavailable,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::JobState,
            Signal::JobReason,
            Signal::QueueLength,
            Signal::NodeState,
            Signal::NodeResources,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let waiting = WaitingJobs::of(scene);
    let before = findings.mark();
    for group in waiting.groups.iter().filter(|group| !group.is_refused) {
        if !group.why.is_demand() {
            continue;
        }
        // What is wrong with a request itself is nothing about nodes.
        let Some(group) = apart(scene, group).others else {
            continue;
        };
        let draft = match group.why.class {
            WaitClass::Nodes => Some(of_reason(scene, &waiting, &group)),
            _ => of_demand(scene, &group, limits),
        };
        if let Some(draft) = draft {
            findings.report(draft);
        }
    }
    if findings.mark() == before
        && let Some(closed) = closed_of_cluster(scene)
    {
        findings.report(of_cluster(&waiting, &closed, limits));
    }
    if findings.mark() == before && scene.cluster.iter().any(|node| node.conditions.is_known()) {
        findings.rule_out(Signal::NodeState, None);
    }
}

/// Judges jobs to which the scheduler says that it is the nodes.
fn of_reason(scene: &Scene, waiting: &WaitingJobs<'_>, group: &Group<'_>) -> Draft {
    let job = group.example();
    let fit = fit(scene, job);
    let named = group.named_nodes();
    let closed = Closed::of(scene, &fit, &named);
    let mut draft = about_jobs(group, &closed, text::summary_reason(closed.counted()));
    let largest = waiting.largest().max(1);
    let strength = (group.size as f64 / largest as f64).clamp(0.5, 1.0);
    draft.agree_by(3.5, strength, says(group));
    let reader = reader_of(group.scheduler);
    if closed.nodes.is_empty() {
        if named.is_empty() {
            // It is also said of nodes that are only busy.
            draft.silent(1.5);
        } else {
            let words = text::named(folded(named.iter().copied()));
            draft.agree(0.5, once(Signal::JobReason, named.len(), Unit::Count, reader, words));
            draft.silent(0.7);
        }
        let open = fit.number_open();
        if open > 0 && fit.candidates.iter().all(|node| node.conditions.is_known()) {
            let words = text::all_open(open);
            draft.contradict(0.7, once(Signal::NodeState, open, Unit::Count, reader, words));
        }
    } else {
        closed.weigh(2.0, 1.0, &mut draft);
    }
    closed.mention_reasons(&mut draft);
    words::advise(&closed, group.targets(), job.asked.time.known().is_some(), &mut draft);
    draft
}

/// Judges jobs that wait for room, where closed nodes would give it.
fn of_demand(scene: &Scene, group: &Group<'_>, limits: &Limits) -> Option<Draft> {
    let job = group.example();
    let fit = fit(scene, job);
    if !fit.lacks_closed_nodes() {
        return None;
    }
    let closed = Closed::of(scene, &fit, &[]);
    let mut draft = about_jobs(group, &closed, text::summary_demand(closed.counted()));
    let reader = reader_of(group.scheduler);
    let (shut, all) = (fit.number_closed() as f64, fit.number_suitable().max(1) as f64);
    let is_much = shut >= all * limits.closed_nodes_share_min;
    let would_serve = shut >= group.size as f64 * fit.need.nodes as f64;
    closed.weigh(3.0, 1.0, &mut draft);
    if !group.why.word().is_empty() {
        draft.agree(1.0, says(group));
    }
    draft.silent(0.8);
    if !is_much {
        let words = text::most_are_open(fit.number_suitable(), fit.number_closed());
        let weight = if would_serve { 0.5 } else { 1.5 };
        draft.contradict(weight, once(Signal::NodeState, fit.number_closed(), Unit::Count, reader, words));
    }
    closed.mention_reasons(&mut draft);
    words::advise(&closed, group.targets(), false, &mut draft);
    Some(draft)
}

/// Judges a cluster in which nobody is seen to wait for its closed nodes: some are closed in any large one.
fn of_cluster(waiting: &WaitingJobs<'_>, closed: &Closed<'_>, limits: &Limits) -> Draft {
    let mut draft = about_nodes(closed);
    let share = closed.number() as f64 / closed.of.max(1) as f64;
    let is_much = share >= limits.closed_nodes_share_most;
    closed.weigh(4.0, if is_much { 1.0 } else { share }, &mut draft);
    draft.silent(if is_much { 0.6 } else { 1.5 });
    if !waiting.groups.is_empty() {
        // The jobs that wait are told to wait for something else.
        draft.silent(2.0);
    }
    closed.mention_reasons(&mut draft);
    words::advise(closed, Vec::new(), false, &mut draft);
    draft
}

fn about_jobs(group: &Group<'_>, closed: &Closed<'_>, summary: gpuwhy_model::text::Text) -> Draft {
    let mut draft = super::about_group(&RULE, group, summary);
    detail(closed, &mut draft);
    draft
}

fn about_nodes(closed: &Closed<'_>) -> Draft {
    let names = folded(closed.names());
    // Many names are no label.
    let name = if names.len() > 60 { String::new() } else { names };
    let subject = Subject { kind: SubjectKind::Node, id: name.clone(), name };
    let summary = if closed.number() == 1 {
        words::summary_node(closed)
    } else {
        text::summary_nodes(closed.of, closed.number())
    };
    let mut draft =
        Draft::new(&RULE, subject, "cluster".to_owned(), Vec::new(), summary).severity(Severity::Warn);
    draft.balance.past_decides = true;
    draft.finding.impact = Impact { blocked: closed.cards(), ..Impact::default() };
    detail(closed, &mut draft);
    draft
}

fn detail(closed: &Closed<'_>, draft: &mut Draft) {
    if closed.number() > 0 {
        draft.finding.detail.insert("closed".to_owned(), closed.number().to_string());
    }
    if let Some(reason) = closed.reasons().first() {
        draft.finding.detail.insert("node_reason".to_owned(), reason.0.to_owned());
    }
}

/// Returns nodes as what a step acts on.
fn targets(nodes: &[&ClusterNode]) -> Vec<Target> {
    let named = nodes.iter().filter(|node| !node.name.is_empty()).take(8);
    named.map(|node| Target { kind: SubjectKind::Node, id: node.name.clone() }).collect()
}
