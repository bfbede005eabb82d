//! `scheduler-pending`: a job cannot start because of its request, a limit, a policy or its place.

mod placeholders;
mod trouble;
mod words;

use gpuwhy_knowledge::WaitClass;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::{about_group, says};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::{Group, WaitingJobs, reader_of};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use trouble::Misfit;
pub(super) use trouble::{Trouble, apart};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/scheduler_pending.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::SchedulerPending,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::JobState,
            Signal::JobReason,
            Signal::JobRequest,
            Signal::JobLimits,
            Signal::QueueLength,
            Signal::QueueState,
            Signal::NodeState,
            Signal::NodeResources,
        ],
    },
    check,
};

/// What waits by somebody's choice is worth so much of a full signal, beside jobs that wait for the cluster.
const BY_CHOICE: f64 = 0.4;
/// So much of a full signal is left of a small group beside a large one.
const SMALLEST: f64 = 0.4;

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    let waiting = WaitingJobs::of(scene);
    for group in &waiting.groups {
        for (group, trouble) in apart(scene, group).troubled {
            findings.report(judge(scene, &waiting, &group, &trouble));
        }
    }
    let is_found = findings.drafts.iter().any(|draft| draft.cause() == Cause::SchedulerPending);
    if !waiting.groups.is_empty() && !is_found {
        findings.rule_out(Signal::JobReason, None);
    }
}

fn judge(scene: &Scene, waiting: &WaitingJobs<'_>, group: &Group<'_>, trouble: &Trouble<'_>) -> Draft {
    let severity = if group.why.is_by_choice() { Severity::Note } else { Severity::Warn };
    let mut draft = about_group(&RULE, group, words::summary(group, trouble)).severity(severity);
    let strength = strength(waiting, group);
    trouble.weigh(group, strength, &mut draft);
    weigh_others(waiting, group, trouble, &mut draft);
    if group.why.class == WaitClass::Failure && group.is_refused {
        // The scheduler itself may be the trouble, not this job.
        draft.only_possible();
    }
    words::advise(scene, group, trouble, &mut draft);
    placeholders::name(scene, group, &mut draft);
    draft
}

/// Returns how much a group's reason counts: the largest group is what the queue is about.
fn strength(waiting: &WaitingJobs<'_>, group: &Group<'_>) -> f64 {
    let largest = waiting.largest();
    if group.why.is_by_choice() {
        return if largest > 0 { BY_CHOICE } else { 1.0 };
    }
    (group.size as f64 / largest.max(1) as f64).clamp(SMALLEST, 1.0)
}

/// Weighs that others of the queue wait for room: without the limit these would wait too.
fn weigh_others(waiting: &WaitingJobs<'_>, group: &Group<'_>, trouble: &Trouble<'_>, draft: &mut Draft) {
    const FAR_MORE: f64 = 1.5;
    let is_of_limit = matches!(trouble, Trouble::Limit { .. } | Trouble::Reason(WaitClass::ArrayLimit));
    let demand = waiting.demand(group.queue);
    if !is_of_limit || demand as f64 <= group.size as f64 {
        return;
    }
    let weight = if demand as f64 >= group.size as f64 * FAR_MORE { 1.5 } else { 0.5 };
    let words = text::others_wait(demand);
    draft.contradict(
        weight,
        once(Signal::QueueLength, demand, Unit::Count, reader_of(group.scheduler), words),
    );
}

impl Trouble<'_> {
    /// Weighs what shows the trouble.
    fn weigh(&self, group: &Group<'_>, strength: f64, draft: &mut Draft) {
        let reader = reader_of(group.scheduler);
        match self {
            Trouble::Reason(_) => draft.agree_by(4.0, strength, says(group)),
            Trouble::Limit { reckoning } => {
                draft.agree_by(4.0, strength, says(group));
                match reckoning {
                    Some(reckoning) => {
                        let (gap, words) = words::reckoned(reckoning);
                        draft.agree_by(
                            2.0,
                            strength,
                            once(Signal::JobLimits, gap, Unit::Count, reader, words),
                        );
                        for (key, number) in [
                            ("need", reckoning.need),
                            ("have", Some(reckoning.most)),
                            ("used", reckoning.used),
                            ("gap", reckoning.gap()),
                        ] {
                            if let Some(number) = number {
                                draft.finding.detail.insert(key.to_owned(), number.to_string());
                            }
                        }
                    }
                    None => draft.silent(0.5),
                }
            }
            Trouble::NeverFits(misfit) => {
                let (need, have) = misfit.numbers();
                draft.finding.detail.extend([("need".to_owned(), need.clone()), ("have".to_owned(), have)]);
                let words = words::misfit(misfit);
                draft.agree(4.0, once(Signal::NodeResources, need, Unit::Text, reader, words));
                if !group.why.word().is_empty() {
                    draft.mention(says(group));
                }
                // Nodes that the text does not show may have more, and there may be more of them.
                draft.silent(if matches!(misfit, Misfit::Nodes { .. }) { 2.0 } else { 0.6 });
            }
            Trouble::Beside(squeeze) => {
                let free = squeeze.free();
                draft.agree(
                    3.0,
                    once(Signal::NodeResources, free, Unit::Count, reader, words::squeeze(squeeze)),
                );
                draft.agree(1.0, says(group));
                draft.silent(1.0);
            }
            Trouble::Place { nodes } => {
                draft.agree(1.5, says(group));
                let words = text::room(*nodes);
                draft.agree(1.0, once(Signal::NodeResources, *nodes, Unit::Count, reader, words));
                draft.silent(2.5);
            }
            Trouble::BeyondEveryNode { cards } => {
                draft.agree(3.0, says(group));
                let words = text::ending_others_does_not_help();
                draft.mention(once(Signal::JobReason, "not helpful", Unit::Text, reader, words));
                // One card is more than a node has only where none is offered at all.
                draft.silent(if cards.is_some_and(|cards| cards > 1) { 1.0 } else { 3.0 });
            }
            Trouble::WantedNodes { nodes } => {
                draft.agree(
                    3.0,
                    once(Signal::JobRequest, nodes.as_str(), Unit::Text, reader, text::wants(nodes.as_str())),
                );
                draft.agree(1.0, says(group));
                draft.silent(1.0);
            }
        }
    }
}
