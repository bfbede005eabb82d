//! Why a finding is believed: what speaks for it, what against it, what else was ruled out.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::{Evidence, EvidenceSource};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_model::verdict::{Finding, RuledOut, Verdict};

use super::page::{Page, spaced};
use super::who;
use crate::source_name::source_name;
use crate::texts::answer;
use crate::values::NO_BREAK;
use crate::words::{Words, cause_text, signal_text};

/// Columns before a line of the block.
const INDENT: usize = 2;
/// Columns before the line that says who measured.
const SOURCE_INDENT: usize = 6;

/// Writes the why block of a finding; nothing where there is nothing to add to its head.
pub(super) fn write(page: &mut Page, verdict: &Verdict, finding: &Finding, words: &Words<'_>) {
    let excluded: Vec<&RuledOut> =
        verdict.ruled_out.iter().filter(|out| is_ruled_out_for(verdict, finding, out)).collect();
    let says_nothing = finding.evidence.is_empty()
        && finding.against.is_empty()
        && finding.fixes.len() < 2
        && excluded.is_empty()
        && explaining(verdict, finding).is_none();
    if finding.cause == Cause::Undetermined && says_nothing {
        return;
    }
    page.gap();
    let title = words.sentence(&answer::why(who::subject(verdict, finding)));
    let title = page.paint.strong(&title);
    page.line(&format!("{title}  [{}]", finding.cause));
    if let Some(explaining) = explaining(verdict, finding) {
        let label = who::subject(verdict, explaining);
        page.paragraph(INDENT, &words.flowing(&answer::explained_by(explaining.cause.id(), label)));
    }
    write_evidence(page, "", verdict, &finding.evidence, words);
    write_evidence(page, &spaced(&words.sentence(&answer::but())), verdict, &finding.against, words);
    let label = spaced(&words.sentence(&answer::further()));
    for fix in finding.fixes.iter().skip(1) {
        let step = match &fix.command {
            Some(command) => answer::step_by_command(command.as_str(), fix.summary.clone()),
            None => fix.summary.clone(),
        };
        page.labelled(INDENT, &label, &words.flowing(&step));
    }
    if !excluded.is_empty() {
        let label = spaced(&words.sentence(&answer::not()));
        page.labelled(INDENT, &label, &excluded_list(&excluded, words));
    }
}

/// Returns the finding from which this one follows.
pub(crate) fn explaining<'verdict>(
    verdict: &'verdict Verdict,
    finding: &Finding,
) -> Option<&'verdict Finding> {
    let place = verdict.findings.iter().position(|other| std::ptr::eq(other, finding))?;
    let explained = verdict.explained.iter().find(|explained| explained.finding == place)?;
    verdict.findings.get(explained.by)
}

/// Writes evidence; who measured stands once below all that it measured in a row.
fn write_evidence(page: &mut Page, label: &str, verdict: &Verdict, evidence: &[Evidence], words: &Words<'_>) {
    let named: Vec<(&Evidence, String)> =
        evidence.iter().map(|seen| (seen, measured_by(verdict, seen, words))).collect();
    for of_one_source in named.chunk_by(|(_, one), (_, next)| one == next) {
        for (seen, _) in of_one_source {
            page.labelled(INDENT, label, &words.flowing(&seen.text));
        }
        if let Some((longest, name)) = of_one_source.iter().max_by_key(|(seen, _)| seen.source.n) {
            page.quiet_paragraph(SOURCE_INDENT, &words.flowing(&looks(&longest.source, name)));
        }
    }
}

fn measured_by(verdict: &Verdict, seen: &Evidence, words: &Words<'_>) -> String {
    source_name(verdict, seen.signal, seen.source.reader, words)
}

/// Returns who measured, how often and over how long.
pub(crate) fn source(verdict: &Verdict, seen: &Evidence, words: &Words<'_>) -> Text {
    looks(&seen.source, &measured_by(verdict, seen, words))
}

fn looks(source: &EvidenceSource, name: &str) -> Text {
    match (source.n, source.span_s) {
        (Some(n), Some(span_s)) if n > 1 && span_s > 0.0 => {
            answer::source_over(n, name, Arg::Seconds(span_s))
        }
        (Some(n), _) if n > 1 => answer::source_looks(n, name),
        _ => answer::source(name),
    }
}

/// Returns whether a cause was ruled out for every card of a finding.
pub(crate) fn is_ruled_out_for(verdict: &Verdict, finding: &Finding, out: &RuledOut) -> bool {
    let Some(first) = finding.cards.first() else {
        return false;
    };
    // The entry of the first card stands for all.
    out.card == Some(*first)
        && finding.cards.iter().all(|card| {
            let same = |other: &RuledOut| {
                other.cause == out.cause && other.signal == out.signal && other.card == Some(*card)
            };
            verdict.ruled_out.iter().any(same)
        })
}

/// Returns ruled-out causes as one line, those of one signal together.
pub(crate) fn excluded_list(excluded: &[&RuledOut], words: &Words<'_>) -> String {
    let mut groups: Vec<(Signal, Vec<Cause>)> = Vec::new();
    for out in excluded {
        match groups.iter_mut().find(|(signal, _)| *signal == out.signal) {
            Some((_, causes)) if causes.contains(&out.cause) => {}
            Some((_, causes)) => causes.push(out.cause),
            None => groups.push((out.signal, vec![out.cause])),
        }
    }
    let parts: Vec<String> = groups
        .into_iter()
        .map(|(signal, causes)| {
            let causes = words.joined(causes.into_iter().map(|cause| words.sentence(&cause_text(cause))));
            words.flowing(&answer::excluded(causes, signal_text(signal)))
        })
        .collect();
    // No line begins with the point.
    parts.join(&format!("{NO_BREAK}· "))
}
