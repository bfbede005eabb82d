//! The one thing to do next, where the signals do not decide.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Access, Reading};
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::verdict::{AskNext, Severity};

use super::{ask_of_text, fitting};
use crate::draft::Draft;
use crate::findings::Findings;
use crate::registry;

/// How long to look when no rule says how long it needs, in seconds.
const DEFAULT_LOOK_S: f64 = 60.0;
/// No longer look is asked for, in seconds.
const LONGEST_LOOK_S: f64 = 600.0;
/// A finding that is no surer than this is worth a second look.
const UNSURE: f64 = 0.5;

/// Returns the command that separates the causes that remain; none when nothing remains or nothing would help.
pub(super) fn next(scene: &Scene, limits: &Limits, findings: &Findings) -> Option<AskNext> {
    let unsure = findings.answers().filter(|draft| draft.finding.confidence <= UNSURE);
    let is_open_answer = |cause: &Cause| !matches!(cause, Cause::Undetermined | Cause::NothingWrong);
    // A full card on which nobody is seen to wait is a remark, not a question.
    let possible = findings.candidates().filter(|draft| draft.finding.severity != Severity::Note);
    let open: Vec<&Draft> = unsure.chain(possible).filter(|draft| is_open_answer(&draft.cause())).collect();
    let mut separates: Vec<Cause> = open.iter().map(|draft| draft.cause()).collect();
    if separates.is_empty() && findings.answers().any(|draft| draft.cause() == Cause::Undetermined) {
        separates = findings.unseen.values().flatten().copied().filter(is_open_answer).collect();
        separates.extend(still_possible(findings));
    }
    separates.sort_by_key(|cause| registry::place(*cause));
    separates.dedup();
    let is_undetermined = findings.answers().any(|draft| draft.cause() == Cause::Undetermined);
    // Who has only a text can always look at more.
    let asks_anyway = is_undetermined && scene.provenance.source == SourceKind::Text;
    if asks_anyway {
        separates = fitting::fitting(scene, limits, findings, separates);
    }
    if separates.is_empty() && !asks_anyway {
        return None;
    }
    Some(AskNext { command: command(scene, findings, &open, &separates)?, separates })
}

/// Returns the causes of a slow or held card that nothing has excluded on every card that is open.
fn still_possible(findings: &Findings) -> impl Iterator<Item = Cause> {
    const OF_A_CARD: [Cause; 4] =
        [Cause::StarvedByStorage, Cause::StarvedByCpu, Cause::IdleReserved, Cause::ComputeSaturated];
    OF_A_CARD.into_iter().filter(|cause| {
        findings
            .undecided
            .iter()
            .any(|card| !findings.ruled_out.iter().any(|out| out.cause == *cause && out.card == Some(*card)))
    })
}

fn command(scene: &Scene, findings: &Findings, open: &[&Draft], separates: &[Cause]) -> Option<String> {
    if scene.provenance.source == SourceKind::Text {
        return Some(ask_of_text::command(scene, separates));
    }
    let rights_would_help = findings.unseen.iter().any(|((_, why), causes)| {
        is_opened_by_root(why) && causes.iter().any(|cause| separates.contains(cause))
    });
    if rights_would_help && scene.machine.viewer.uid != Reading::Known(0) {
        return Some("sudo gpuwhy".to_owned());
    }
    // States and log lines stay what they are, however long one looks.
    let would_tell_more =
        |draft: &&Draft| draft.look_for_s.is_some() || draft.balance.trend_samples.is_some();
    if !open.is_empty() && !open.iter().any(would_tell_more) {
        return None;
    }
    let wanted = open.iter().filter_map(|draft| draft.look_for_s).fold(0.0, f64::max);
    let wanted = if wanted > 0.0 { wanted } else { DEFAULT_LOOK_S };
    let looked = scene.window.span_s;
    let longer = wanted.max(looked * 2.0).min(LONGEST_LOOK_S).ceil();
    (longer > looked).then(|| format!("gpuwhy --for {longer}s"))
}

fn is_opened_by_root(why: &Absence) -> bool {
    matches!(
        why,
        Absence::Denied(Access::Root | Access::RootOrOwner | Access::VisibleProcesses | Access::KernelLog)
    )
}
