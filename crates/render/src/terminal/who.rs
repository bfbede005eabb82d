//! What a finding is about, as a label: `GPU 0,1`, `this machine`, `job 8841`.

use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::{Finding, Verdict};

use crate::texts::answer;

/// Returns the label of a finding's subject.
pub(crate) fn subject(verdict: &Verdict, finding: &Finding) -> Text {
    if is_about_the_machine(finding) {
        return machine(verdict);
    }
    if !finding.cards.is_empty() {
        return cards(&finding.cards);
    }
    let name = finding.subject.name.as_str();
    match (finding.subject.kind, name) {
        (SubjectKind::Card, _) => answer::cards(name),
        (SubjectKind::Job, "") => answer::a_job(),
        (SubjectKind::Job, _) => answer::job(name),
        (SubjectKind::Queue, "") => answer::the_queue(),
        (SubjectKind::Queue, _) => answer::queue(name),
        (SubjectKind::Program, "") => answer::the_program(),
        (SubjectKind::Program, _) => answer::program(name),
        (SubjectKind::Process | SubjectKind::Workload, _) => answer::process(name),
        (SubjectKind::Node, "") => answer::some_nodes(),
        (SubjectKind::Node, _) if name.contains([',', '[']) => answer::nodes(name),
        (SubjectKind::Node, _) => answer::node(name),
    }
}

/// Returns whether a finding is about the machine and not about single cards, jobs or nodes of its cluster.
pub(super) fn is_about_the_machine(finding: &Finding) -> bool {
    let is_of_the_cluster =
        matches!(finding.cause, Cause::NodeUnavailable | Cause::GpuNotAdvertised | Cause::GpuLost);
    finding.subject.kind == SubjectKind::Node && !is_of_the_cluster
}

fn machine(verdict: &Verdict) -> Text {
    if verdict.source == SourceKind::Live { answer::this_machine() } else { answer::the_machine() }
}

/// Returns the label of cards: `GPU 0,1` or `GPU 0-3,6`.
pub(super) fn cards(indices: &[u32]) -> Text {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for index in indices {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let runs: Vec<String> = runs
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    answer::cards(runs.join(","))
}
