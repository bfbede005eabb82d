//! What must be found in a scene: one expectation a line.
//!
//! ```text
//! CAUSE [>=N|<=N] [cards A,B] [culprit PID] [severity WORD] [on NAME]   a finding; those given are all, in rank order
//! candidate CAUSE · explained CAUSE by CAUSE · ruled-out CAUSE SIGNAL · blind SIGNAL · ask COMMAND · separates CAUSE,CAUSE
//! state CARD WORD · note ID · detail KEY=VALUE · exit CODE · summary ID · fix ID (the first step)
//! ```

use std::error::Error;
use std::fmt::Write as _;

use gpuwhy_model::cause::Cause;
use gpuwhy_model::verdict::{Finding, Verdict};

/// All lines of a `findings` fence.
pub(crate) struct Expectation {
    lines: Vec<Vec<String>>,
}

impl Expectation {
    pub(crate) fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let lines: Vec<Vec<String>> = text
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>())
            .filter(|words| !words.is_empty())
            .collect();
        if !lines.iter().any(|words| Cause::from_id(&words[0]).is_some()) {
            return Err("no finding is expected; a verdict is never empty".into());
        }
        Ok(Self { lines })
    }

    /// Returns what of the expectation a verdict misses.
    pub(crate) fn misses(&self, verdict: &Verdict) -> Vec<String> {
        let mut misses = Vec::new();
        let findings: Vec<&Vec<String>> =
            self.lines.iter().filter(|words| Cause::from_id(&words[0]).is_some()).collect();
        if findings.len() != verdict.findings.len() {
            misses.push(format!("{} findings expected", findings.len()));
        }
        for (words, finding) in findings.iter().zip(&verdict.findings) {
            if !finding_is(finding, words) {
                misses.push(format!("expected `{}`", words.join(" ")));
            }
        }
        for words in self.lines.iter().filter(|words| Cause::from_id(&words[0]).is_none()) {
            if !is_met(verdict, words) {
                misses.push(format!("expected `{}`", words.join(" ")));
            }
        }
        misses
    }
}

fn finding_is(finding: &Finding, words: &[String]) -> bool {
    if finding.cause.id() != words[0] {
        return false;
    }
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        let is_met = if let Some(least) = word.strip_prefix(">=") {
            finding.confidence >= number(least)
        } else if let Some(most) = word.strip_prefix("<=") {
            finding.confidence <= number(most)
        } else {
            let value = rest.next().map_or("", String::as_str);
            match word.as_str() {
                "cards" => {
                    let cards: Vec<String> = finding.cards.iter().map(u32::to_string).collect();
                    cards.join(",") == value
                }
                "culprit" => {
                    let culprit = finding.culprits.first().and_then(|culprit| culprit.pid);
                    culprit.is_some_and(|pid| pid.to_string() == value)
                }
                "on" => finding.subject.name == value,
                "severity" => finding.severity.id() == value,
                _ => false,
            }
        };
        if !is_met {
            return false;
        }
    }
    true
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

fn is_met(verdict: &Verdict, words: &[String]) -> bool {
    let word = |place: usize| words.get(place).map_or("", String::as_str);
    let cause_at = |place: usize| verdict.findings.get(place).map(|finding| finding.cause.id());
    match word(0) {
        "candidate" => verdict.candidates.iter().any(|finding| finding.cause.id() == word(1)),
        "explained" => verdict
            .explained
            .iter()
            .any(|pair| cause_at(pair.finding) == Some(word(1)) && cause_at(pair.by) == Some(word(3))),
        "ruled-out" => {
            verdict.ruled_out.iter().any(|out| out.cause.id() == word(1) && out.signal.id() == word(2))
        }
        "blind" => verdict.blind_spots.iter().any(|spot| spot.signal.id() == word(1)),
        "ask" => verdict.ask_next.as_ref().is_some_and(|ask| ask.command == words[1..].join(" ")),
        "separates" => verdict.ask_next.as_ref().is_some_and(|ask| {
            let causes: Vec<&str> = ask.separates.iter().map(|cause| cause.id()).collect();
            causes.join(",") == word(1)
        }),
        "state" => {
            verdict.cards.iter().any(|card| card.index.to_string() == word(1) && card.state.id() == word(2))
        }
        "note" => verdict.notes.iter().any(|note| note.id == word(1)),
        "summary" => verdict.findings.iter().any(|finding| finding.summary.id == word(1)),
        "fix" => verdict
            .findings
            .iter()
            .any(|finding| finding.fixes.first().is_some_and(|fix| fix.summary.id == word(1))),
        "exit" => verdict.exit_code().to_string() == word(1),
        "detail" => {
            let details = verdict.findings.iter().flat_map(|finding| &finding.detail);
            details.into_iter().any(|(key, value)| format!("{key}={value}") == word(1))
        }
        _ => false,
    }
}

/// Writes a verdict so that a failed case can be understood.
pub(crate) fn shown(verdict: &Verdict) -> String {
    let mut text = String::new();
    let named = [("", &verdict.findings), ("candidate ", &verdict.candidates)];
    for (kind, findings) in named {
        for finding in findings {
            let _ = writeln!(
                text,
                "{kind}{} {} cards {:?} culprit {:?} severity {} {:?}",
                finding.cause,
                finding.confidence,
                finding.cards,
                finding.culprits.first().and_then(|culprit| culprit.pid),
                finding.severity,
                finding.detail,
            );
            for evidence in &finding.evidence {
                let _ = writeln!(text, "    {} = {:?}", evidence.text.id, evidence.value);
            }
            for evidence in &finding.against {
                let _ = writeln!(text, "    against {} = {:?}", evidence.text.id, evidence.value);
            }
        }
    }
    for pair in &verdict.explained {
        let _ = writeln!(text, "explained {} by {}", pair.finding, pair.by);
    }
    for out in &verdict.ruled_out {
        let _ = writeln!(text, "ruled-out {} {} {:?}", out.cause, out.signal, out.card);
    }
    for spot in &verdict.blind_spots {
        let _ = writeln!(text, "blind {} {:?}", spot.signal, spot.why);
    }
    for card in &verdict.cards {
        let _ = writeln!(text, "state {} {}", card.index, card.state);
    }
    for note in &verdict.notes {
        let _ = writeln!(text, "note {}", note.id);
    }
    if let Some(ask) = &verdict.ask_next {
        let _ = writeln!(text, "ask {} {:?}", ask.command, ask.separates);
    }
    text
}
