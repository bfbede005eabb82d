//! The head of the answer: for each finding what, who and what to do next; then the cards without a finding.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::scene::{Card, SourceKind};
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_model::verdict::{AskNext, CardState, CardVerdict, Finding, Severity, Verdict};

use super::page::{Page, spaced};
use super::who;
use crate::texts::answer;
use crate::values::NO_BREAK;
use crate::words::{Words, cause_text};
use crate::{culprit, flow};

/// A label that takes more columns has a line of its own.
const LABEL_COLUMNS_MAX: usize = 22;
/// Columns between the label, the words and the confidence.
const SPACE: usize = 2;
/// Columns of a confidence: `0.93`.
const CONFIDENCE_COLUMNS: usize = 4;

/// One entry of the head.
struct Entry {
    label: String,
    severity: Severity,
    summary: String,
    confidence: Option<f64>,
    who: Vec<String>,
    next: Option<String>,
}

/// Writes the head of the answer.
pub(super) fn write(page: &mut Page, verdict: &Verdict, words: &Words<'_>) {
    let mut entries: Vec<Entry> = Vec::new();
    for finding in answers(verdict) {
        if is_healthy_cards(finding) {
            let is_one_of_them = |card: &&CardVerdict| finding.cards.contains(&card.index);
            let cards = states(verdict, verdict.cards.iter().filter(is_one_of_them), words);
            let confidence = Some(finding.confidence);
            entries.extend(cards.into_iter().map(|entry| Entry { confidence, ..entry }));
        } else {
            entries.push(entry(verdict, finding, words));
        }
    }
    entries.extend(other_cards(verdict, words));

    let short_labels = entries.iter().map(|entry| flow::columns(&entry.label));
    let widest_label = short_labels.filter(|columns| *columns <= LABEL_COLUMNS_MAX).max().unwrap_or(0);
    let indent = widest_label + SPACE;
    let room = page.width - indent - SPACE - CONFIDENCE_COLUMNS;
    let broken: Vec<Vec<String>> = entries.iter().map(|entry| flow::lines(&entry.summary, room)).collect();
    let first_lines = entries.iter().zip(&broken).filter(|(entry, _)| entry.confidence.is_some());
    let widest_summary = first_lines.map(|(_, lines)| flow::columns(&lines[0])).max().unwrap_or(0);

    for (entry, lines) in entries.iter().zip(broken) {
        write_entry(page, entry, &lines, indent, widest_summary);
        for who in &entry.who {
            page.paragraph(indent, who);
        }
        if let Some(next) = &entry.next {
            page.labelled(indent, &spaced(&words.sentence(&answer::next())), next);
        }
    }
}

fn write_entry(page: &mut Page, entry: &Entry, lines: &[String], indent: usize, widest_summary: usize) {
    let mut start = page.paint.severity(entry.severity, &entry.label);
    let label_columns = flow::columns(&entry.label);
    if label_columns > LABEL_COLUMNS_MAX {
        page.line(&start);
        start = " ".repeat(indent);
    } else {
        start.push_str(&" ".repeat(indent - label_columns));
    }
    for (number, summary) in lines.iter().enumerate() {
        let mut line = format!("{start}{}", page.paint.strong(summary));
        if let Some(confidence) = entry.confidence.filter(|_| number == 0) {
            line.push_str(&" ".repeat(widest_summary - flow::columns(summary) + SPACE));
            // Writing to a string cannot fail.
            let _ = write!(line, "{confidence:.2}");
        }
        page.line(&line);
        start = " ".repeat(indent);
    }
}

/// Returns whether a finding says of single cards that nothing is wrong: then their states are the answer.
fn is_healthy_cards(finding: &Finding) -> bool {
    finding.cause == Cause::NothingWrong && !who::is_about_the_machine(finding)
}

/// Returns the findings that stand in the head: those that no other explains, and those that alone name a card.
fn answers(verdict: &Verdict) -> Vec<&Finding> {
    let explained: BTreeSet<usize> = verdict.explained.iter().map(|explained| explained.finding).collect();
    let mut named: BTreeSet<u32> = BTreeSet::new();
    for (place, finding) in verdict.findings.iter().enumerate() {
        if !explained.contains(&place) {
            named.extend(&finding.cards);
        }
    }
    let stands = |(place, finding): &(usize, &Finding)| {
        !explained.contains(place) || finding.cards.iter().any(|card| !named.contains(card))
    };
    verdict.findings.iter().enumerate().filter(stands).map(|(_, finding)| finding).collect()
}

fn entry(verdict: &Verdict, finding: &Finding, words: &Words<'_>) -> Entry {
    let label = words.sentence(&who::subject(verdict, finding));
    let who = culprit::lines(&finding.culprits, words);
    Entry {
        // Whom the label names already is not named again.
        who: who.into_iter().filter(|who| who.replace(NO_BREAK, " ") != label).collect(),
        label,
        severity: finding.severity,
        summary: words.flowing(&finding.summary),
        // An answer that decides nothing has no confidence to show.
        confidence: (finding.cause != Cause::Undetermined).then_some(finding.confidence),
        next: next(verdict, finding, words).map(|next| words.flowing(&next)),
    }
}

/// Returns what to do next about a finding.
fn next(verdict: &Verdict, finding: &Finding, words: &Words<'_>) -> Option<Text> {
    let fix = finding.fixes.iter().find(|fix| fix.action != Action::Nothing);
    if let Some(fix) = fix {
        let mut step = fix.summary.clone();
        if let Some(command) = to_find_the_card(verdict, finding) {
            step = answer::find_first(command, step);
        }
        return Some(match &fix.command {
            Some(command) => answer::step_by_command(command.as_str(), step),
            None => answer::step_in_words(finding.cause.id(), step),
        });
    }
    if finding.severity == Severity::Ok {
        return None;
    }
    if asks_next(finding) && verdict.ask_next.is_some() {
        return decide(verdict, words);
    }
    Some(answer::read_rule(finding.cause.id()))
}

/// Returns the command that shows which card a finding is about, where no text says it and a step needs its number.
pub(crate) fn to_find_the_card(verdict: &Verdict, finding: &Finding) -> Option<&'static str> {
    let to_find = Arg::Raw(Card::NUMBER_TO_FIND.to_owned());
    let needs_number = finding.fixes.iter().any(|fix| fix.summary.args.values().any(|arg| *arg == to_find));
    if !needs_number || !who::is_nameless(verdict, finding) {
        return None;
    }
    Some(match finding.cause {
        Cause::EccUncorrectable | Cause::EccCorrectableStorm | Cause::RowRemapPending | Cause::XidHwFault => {
            "nvidia-smi -q -d ECC,ROW_REMAPPER"
        }
        Cause::ThermalThrottle | Cause::FanFailed => "nvidia-smi -q -d PERFORMANCE,TEMPERATURE",
        Cause::PowerThrottle | Cause::HwSlowdown | Cause::LowClocks => {
            "nvidia-smi -q -d PERFORMANCE,POWER,CLOCK"
        }
        _ => "nvidia-smi",
    })
}

/// Returns whether a finding itself says only what to ask next.
fn asks_next(finding: &Finding) -> bool {
    finding.cause == Cause::Undetermined && finding.fixes.iter().all(|fix| fix.action == Action::Nothing)
}

/// Returns the command that tells the causes apart that remain, if it does not stand in the head yet.
pub(super) fn decide_later(verdict: &Verdict, words: &Words<'_>) -> Option<Text> {
    if verdict.findings.iter().any(asks_next) { None } else { decide(verdict, words) }
}

fn decide(verdict: &Verdict, words: &Words<'_>) -> Option<Text> {
    let ask = verdict.ask_next.as_ref()?;
    let mut command = answer::command(ask.command.as_str());
    if is_for_the_machine(verdict, ask) {
        command = answer::there(command);
    }
    if ask.separates.is_empty() {
        return Some(command);
    }
    let causes = ask.separates.iter().map(|cause| words.sentence(&cause_text(*cause)));
    Some(answer::decide(words.joined(causes), command))
}

/// Returns whether a command is to be run on the machine that a text is about: who reads the text may sit at another.
pub(crate) fn is_for_the_machine(verdict: &Verdict, ask: &AskNext) -> bool {
    verdict.source == SourceKind::Text && ask.command.split(' ').any(|word| word == "gpuwhy")
}

/// Returns entries for the cards that no finding names.
fn other_cards(verdict: &Verdict, words: &Words<'_>) -> Vec<Entry> {
    let named: BTreeSet<u32> = verdict
        .findings
        .iter()
        .filter(|finding| !who::is_about_the_machine(finding))
        .flat_map(|finding| finding.cards.iter().copied())
        .collect();
    states(verdict, verdict.cards.iter().filter(|card| !named.contains(&card.index)), words)
}

/// Returns an entry for all cards that are in the same state by the same holders.
fn states<'verdict>(
    verdict: &Verdict,
    cards: impl Iterator<Item = &'verdict CardVerdict>,
    words: &Words<'_>,
) -> Vec<Entry> {
    let mut groups: Vec<(CardState, Vec<String>, Vec<u32>)> = Vec::new();
    for card in cards {
        let who = culprit::lines(&card.holders, words);
        match groups.iter_mut().find(|(state, holders, _)| *state == card.state && *holders == who) {
            Some((_, _, indices)) => indices.push(card.index),
            None => groups.push((card.state, who, vec![card.index])),
        }
    }
    groups
        .into_iter()
        .map(|(state, who, indices)| state_entry(state, who, &who::cards(verdict, &indices), words))
        .collect()
}

/// Makes the entry of cards in one state; a single line of holders stands right behind the state.
fn state_entry(state: CardState, mut who: Vec<String>, label: &Text, words: &Words<'_>) -> Entry {
    let mut summary = words.flowing(&Text::plain(&format!("state.{}", state.id())));
    if who.len() == 1
        && let Some(holder) = who.pop()
    {
        summary = words.flowing(&answer::state_by(Arg::Raw(summary), Arg::Raw(holder)));
    }
    Entry {
        label: words.sentence(label),
        severity: match state {
            CardState::Free | CardState::Busy => Severity::Ok,
            CardState::Held | CardState::Unknown => Severity::Note,
            CardState::Faulty => Severity::Fault,
        },
        summary,
        confidence: None,
        who,
        next: None,
    }
}
