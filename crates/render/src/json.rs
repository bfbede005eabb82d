//! The verdict as the report of the contract `gpuwhy.report/1`.

use std::fmt::Write as _;

use gpuwhy_model::action::Fix;
use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::report::{
    BlindSpotKind, REPORT_SCHEMA, Report, ReportAskNext, ReportBlindSpot, ReportCard, ReportCulprit,
    ReportEvidence, ReportFinding, ReportFix, ReportText, ReportUnnumberedCard,
};
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::{BlindSpot, CardVerdict, Culprit, Finding, Unnumbered, Verdict};

use crate::absence;
use crate::safe::is_unsafe;
use crate::words::Words;

/// Returns the report of a verdict, its texts in the words' language.
pub fn report(verdict: &Verdict, words: &Words<'_>) -> Report {
    let numbered = verdict.cards.iter().filter(|card| card.unnumbered.is_none());
    let is_unnumbered =
        |index: u32| verdict.cards.iter().any(|card| card.index == index && card.unnumbered.is_some());
    Report {
        schema: REPORT_SCHEMA.to_owned(),
        source: verdict.source,
        taken_at: verdict.taken_at,
        window_s: verdict.window_s,
        findings: verdict.findings.iter().map(|found| finding(found, words)).collect(),
        cards: numbered.map(card).collect(),
        unnumbered_cards: verdict.cards.iter().filter_map(unnumbered_card).collect(),
        explained: verdict.explained.clone(),
        // What is excluded for a card is said by its number.
        ruled_out: (verdict.ruled_out.iter())
            .filter(|out| !out.card.is_some_and(is_unnumbered))
            .cloned()
            .collect(),
        blind_spots: verdict.blind_spots.iter().map(|spot| blind_spot(spot, words)).collect(),
        ask_next: verdict
            .ask_next
            .as_ref()
            .map(|ask| ReportAskNext { command: ask.command.clone(), separates: ask.separates.clone() }),
        limits_changed: verdict.limits_changed.clone(),
        notes: verdict.notes.iter().map(|note| text(note, words)).collect(),
        inputs: verdict.inputs.clone(),
    }
}

/// Returns a report as JSON that is safe to show on a terminal: characters that could steer one are escaped.
///
/// # Errors
/// Fails when the report cannot be written as JSON.
pub fn json_text(report: &Report) -> Result<String, serde_json::Error> {
    let plain = serde_json::to_string_pretty(report)?;
    let mut escaped = String::with_capacity(plain.len() + 1);
    for character in plain.chars() {
        // Outside strings JSON has only line feeds, inside it has none.
        if character != '\n' && is_unsafe(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped.push('\n');
    Ok(escaped)
}

fn finding(finding: &Finding, words: &Words<'_>) -> ReportFinding {
    let culprits: Vec<ReportCulprit> = finding.culprits.iter().map(culprit).collect();
    ReportFinding {
        cause: finding.cause,
        confidence: finding.confidence,
        severity: finding.severity,
        subject: finding.subject.clone(),
        impact: finding.impact,
        culprit: culprits.first().cloned(),
        culprits,
        summary: text(&finding.summary, words),
        evidence: finding.evidence.iter().map(|seen| evidence(seen, words)).collect(),
        against: finding.against.iter().map(|seen| evidence(seen, words)).collect(),
        fixes: finding.fixes.iter().map(|step| fix(step, words)).collect(),
        detail: finding.detail.clone(),
    }
}

fn culprit(culprit: &Culprit) -> ReportCulprit {
    ReportCulprit {
        pid: culprit.pid.map(|pid| pid.0),
        start_ticks: culprit.process.as_ref().map(|process| process.start_ticks),
        user: culprit.user.clone(),
        command: culprit.command.as_ref().map(CommandLine::line).or_else(|| culprit.name.clone()),
        container: culprit.container.clone(),
        pod: culprit.pod.clone(),
        job: culprit.job.clone(),
        unit: culprit.unit.clone(),
        session: culprit.session.clone(),
        notebook: culprit.notebook.clone(),
    }
}

fn evidence(evidence: &Evidence, words: &Words<'_>) -> ReportEvidence {
    ReportEvidence {
        signal: evidence.signal,
        value: evidence.value.clone(),
        unit: evidence.unit,
        normal: evidence.normal.clone(),
        source: evidence.source.clone(),
        summary: Some(text(&evidence.text, words)),
    }
}

fn fix(fix: &Fix, words: &Words<'_>) -> ReportFix {
    ReportFix {
        action: fix.action,
        class: fix.class,
        targets: fix.targets.clone(),
        command: fix.command.clone(),
        summary: text(&fix.summary, words),
    }
}

fn card(card: &CardVerdict) -> ReportCard {
    ReportCard {
        index: card.index,
        uuid: card.uuid.clone(),
        name: card.name.clone(),
        state: card.state,
        holders: card.holders.iter().map(culprit).collect(),
        findings: card.findings.clone(),
    }
}

fn unnumbered_card(card: &CardVerdict) -> Option<ReportUnnumberedCard> {
    let called = match card.unnumbered.as_ref()? {
        Unnumbered::Called(name) => Some(name.clone()),
        Unnumbered::Nameless => None,
    };
    Some(ReportUnnumberedCard {
        called,
        uuid: card.uuid.clone(),
        name: card.name.clone(),
        state: card.state,
        holders: card.holders.iter().map(culprit).collect(),
        findings: card.findings.clone(),
    })
}

fn blind_spot(spot: &BlindSpot, words: &Words<'_>) -> ReportBlindSpot {
    ReportBlindSpot {
        signal: spot.signal,
        why: match spot.why {
            Absence::Unsupported => BlindSpotKind::Unsupported,
            Absence::Denied(_) => BlindSpotKind::Denied,
            Absence::Failed(_) => BlindSpotKind::Failed,
        },
        summary: text(&absence::blind_spot(spot), words),
    }
}

fn text(text: &Text, words: &Words<'_>) -> ReportText {
    ReportText { id: text.id.clone(), args: text.args.clone(), text: words.sentence(text) }
}
