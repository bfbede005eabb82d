//! Whether a report says what an incident was.

use gpuwhy_model::action::{FixClass, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::report::{Report, ReportFinding};

use super::case::Case;
use crate::rightness::{CONFIDENT, Rightness};

/// Returns the word for the list.
pub(super) const fn word(judgement: Rightness) -> &'static str {
    match judgement {
        Rightness { is_harmful: true, .. } => "HARMFUL",
        Rightness { is_confident_wrong: true, .. } => "CONFIDENT",
        Rightness { is_strictly_first: true, .. } => "strictly",
        Rightness { is_first: true, .. } => "first",
        Rightness { is_in_three: true, .. } => "in-three",
        Rightness { is_undetermined: true, .. } => "undecided",
        _ => "MISS",
    }
}

/// Judges a report by what is known of the incident.
pub(super) fn judge(report: &Report, case: &Case) -> Rightness {
    let is_right = |finding: &ReportFinding| {
        finding.cause.id() == case.cause || case.accept.iter().any(|cause| cause == finding.cause.id())
    };
    let first = report.findings.first();
    let is_first = first.is_some_and(is_right);
    let gives_up = first.is_some_and(|first| first.cause == Cause::Undetermined);
    let is_true_too = first.is_some_and(|first| case.secondary.iter().any(|cause| cause == first.cause.id()));
    let is_wrong = !is_first && !gives_up && !is_true_too;
    Rightness {
        is_first,
        is_strictly_first: first.is_some_and(|first| first.cause.id() == case.cause),
        is_in_three: report.findings.iter().take(3).any(is_right),
        is_undetermined: gives_up && !is_first,
        is_confident_wrong: is_wrong && first.is_some_and(|first| first.confidence >= CONFIDENT),
        is_harmful: is_harmful(report, case),
    }
}

fn is_harmful(report: &Report, case: &Case) -> bool {
    let mut offered =
        report.findings.iter().flat_map(|finding| &finding.fixes).filter(|fix| fix.class != FixClass::Shown);
    let is_nothing_to_do =
        [Cause::NothingWrong, Cause::Undetermined].iter().any(|cause| cause.id() == case.cause);
    if is_nothing_to_do {
        return offered.next().is_some();
    }
    offered.flat_map(|fix| &fix.targets).any(|target| is_healthy(target, report, case))
}

/// Returns whether a target is one of those that were shown to be healthy: by its id, or as a card by its number.
fn is_healthy(target: &Target, report: &Report, case: &Case) -> bool {
    let card = report.cards.iter().find(|card| card.uuid.as_deref() == Some(target.id.as_str()));
    let index = card.map(|card| card.index.to_string());
    let is_card = target.kind == SubjectKind::Card;
    case.must_not_touch.iter().any(|healthy| {
        let number = healthy.trim_start_matches(|character: char| !character.is_ascii_digit());
        *healthy == target.id || is_card && (index.as_deref() == Some(number) || number == target.id)
    })
}
