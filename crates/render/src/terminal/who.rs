//! What a finding is about, as a label: `GPU 0,1`, `this machine`, `job 8841`.

use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::{Finding, Unnumbered, Verdict};

use crate::texts::answer;

/// Returns the label of a finding's subject.
pub(crate) fn subject(verdict: &Verdict, finding: &Finding) -> Text {
    if is_about_the_machine(finding) {
        return if finding.cause == Cause::NvmlLostInContainer && verdict.source == SourceKind::Text {
            answer::the_container()
        } else {
            machine(verdict)
        };
    }
    if !finding.cards.is_empty() {
        return cards(verdict, &finding.cards);
    }
    let name = finding.subject.name.as_str();
    match (finding.subject.kind, name) {
        (SubjectKind::Card, "") => answer::a_card(),
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

/// Returns how a card is called where no text gives its number.
fn unnumbered(verdict: &Verdict, index: u32) -> Option<&Unnumbered> {
    verdict.cards.iter().find(|card| card.index == index)?.unnumbered.as_ref()
}

/// Returns whether a finding is about a card of which no text says which it is.
pub(super) fn is_nameless(verdict: &Verdict, finding: &Finding) -> bool {
    finding.cards.iter().any(|card| unnumbered(verdict, *card) == Some(&Unnumbered::Nameless))
}

/// Returns the label of cards: `GPU 0,1`, `GPU 0-3,6` or `GPU 0000:a1:00.0`.
pub(super) fn cards(verdict: &Verdict, indices: &[u32]) -> Text {
    let mut names: Vec<&str> = Vec::new();
    let mut numbers: Vec<u32> = Vec::new();
    let mut nameless = 0;
    for index in indices {
        match unnumbered(verdict, *index) {
            None => numbers.push(*index),
            Some(Unnumbered::Called(name)) => names.push(name.strip_prefix("GPU-").unwrap_or(name)),
            Some(Unnumbered::Nameless) => nameless += 1,
        }
    }
    let mut parts: Vec<String> = Vec::new();
    if !numbers.is_empty() {
        parts.push(runs(&numbers));
    }
    parts.extend(names.into_iter().map(str::to_owned));
    match (parts.is_empty(), nameless) {
        (true, 1) => answer::a_card(),
        (true, _) => answer::some_cards(),
        (false, 0) => answer::cards(parts.join(",")),
        (false, _) => answer::cards_and_others(parts.join(",")),
    }
}

/// Returns numbers as a short list: `0-3,6`.
fn runs(indices: &[u32]) -> String {
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
    runs.join(",")
}
