//! Joins what one run shows on several cards into one finding.

use gpuwhy_model::verdict::{Finding, Impact};

use crate::draft::Draft;
use crate::findings::Findings;

/// A finding with the processes that it is about.
pub(super) struct Merged {
    pub(super) finding: Finding,
    pub(super) processes: Vec<gpuwhy_model::process::Pid>,
}

/// Takes the drafts out and returns the answers and the candidates, each merged over its group.
pub(super) fn merged(findings: &mut Findings) -> (Vec<Merged>, Vec<Merged>) {
    let drafts = std::mem::take(&mut findings.drafts);
    let (answers, candidates): (Vec<Draft>, Vec<Draft>) =
        drafts.into_iter().partition(|draft| findings.is_answer(draft));
    (by_group(answers), by_group(candidates))
}

fn by_group(drafts: Vec<Draft>) -> Vec<Merged> {
    let mut groups: Vec<Vec<Draft>> = Vec::new();
    for draft in drafts {
        let same = groups
            .iter_mut()
            .find(|group| group[0].cause() == draft.cause() && group[0].group == draft.group);
        match same {
            Some(group) => group.push(draft),
            None => groups.push(vec![draft]),
        }
    }
    groups.into_iter().filter_map(joined).collect()
}

/// Joins findings of one group: the surest gives the evidence, all give cards, culprits and cost.
fn joined(group: Vec<Draft>) -> Option<Merged> {
    let number = group.len() as f64;
    let mean = group.iter().map(|draft| draft.finding.confidence).sum::<f64>() / number;
    let impact = group.iter().map(|draft| draft.finding.impact).fold(Impact::default(), |sum, one| Impact {
        gpu_seconds: sum.gpu_seconds + one.gpu_seconds,
        bytes_held: sum.bytes_held.saturating_add(one.bytes_held),
        blocked: sum.blocked.max(one.blocked),
    });
    let mut cards: Vec<u32> = group.iter().flat_map(|draft| draft.finding.cards.iter().copied()).collect();
    cards.sort_unstable();
    cards.dedup();
    let mut processes: Vec<_> = group.iter().flat_map(|draft| draft.processes.iter().copied()).collect();
    processes.sort_unstable();
    processes.dedup();
    let mut culprits = Vec::new();
    let mut fixes = Vec::new();
    for draft in &group {
        for culprit in &draft.finding.culprits {
            if !culprits.contains(culprit) {
                culprits.push(culprit.clone());
            }
        }
        for fix in &draft.finding.fixes {
            if !fixes.contains(fix) {
                fixes.push(fix.clone());
            }
        }
    }
    // The first of equally sure ones, so that the same scene gives the same evidence.
    let surest = group
        .into_iter()
        .reduce(|best, next| if next.finding.confidence > best.finding.confidence { next } else { best })?;
    let mut finding = surest.finding;
    if cards.len() > 1
        && let Some(subject) = surest.group_subject
    {
        finding.subject = subject;
    }
    finding.confidence = (mean * 100.0).round() / 100.0;
    finding.impact = impact;
    finding.cards = cards;
    finding.culprits = culprits;
    finding.fixes = fixes;
    Some(Merged { finding, processes })
}
