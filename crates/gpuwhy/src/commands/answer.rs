//! From a scene to the answer on standard output and the exit code: the same way for every input.

use gpuwhy_diagnose::diagnose;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::Verdict;
use gpuwhy_render::{json_text, message, report, text};

use crate::failure::{COULD_NOT_LOOK, Failure};
use crate::output;
use crate::speech::Speech;
use crate::subject::{Subject, narrow};

/// Judges a scene, prints the answer and returns the exit code.
///
/// # Errors
/// Fails when the subject is not there, or standard output cannot be written.
pub(crate) fn answer(
    scene: &Scene,
    limits: &Limits,
    subject: Option<&Subject>,
    is_json: bool,
    speech: &Speech,
) -> Result<u8, Failure> {
    let mut verdict = diagnose(scene, limits);
    if let Some(subject) = subject {
        verdict = narrow(verdict, scene, limits, subject)?;
    }
    let shown = if is_json {
        json_text(&report(&verdict, &speech.words_of_report()))
            .map_err(|error| Failure::new(message::cannot_make_report()).because(&error))?
    } else {
        text(&verdict, &speech.words(), &output::layout())
    };
    output::data(&shown)?;
    Ok(exit_code(&verdict))
}

/// Reasons of an undetermined answer that mean that there was nothing to look at.
const NOTHING_TO_LOOK_AT: [&str; 2] = ["no-gpu", "no-view"];

/// Returns the exit code of an answer.
fn exit_code(verdict: &Verdict) -> u8 {
    let is_nothing_to_look_at = verdict.findings.iter().any(|finding| {
        let reason = finding.detail.get("reason").map(String::as_str);
        finding.cause == Cause::Undetermined
            && reason.is_some_and(|reason| NOTHING_TO_LOOK_AT.contains(&reason))
    });
    if is_nothing_to_look_at { COULD_NOT_LOOK } else { verdict.exit_code() }
}
