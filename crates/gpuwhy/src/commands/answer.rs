//! From a scene to the answer on standard output and the exit code: the same way for every input.

use gpuwhy_diagnose::diagnose;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
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
    Ok(if has_no_card(scene) { COULD_NOT_LOOK } else { verdict.exit_code() })
}

/// Returns whether it is known that there is no card of any vendor to look at.
fn has_no_card(scene: &Scene) -> bool {
    let on_bus = scene.machine.pci_cards.known();
    scene.cards.is_empty() && on_bus.is_some_and(Vec::is_empty)
}
