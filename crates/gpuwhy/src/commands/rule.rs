//! `gpuwhy rule [CAUSE]`: the page of a cause, or the list of the causes that can be found.

use std::io::{self, IsTerminal as _};

use gpuwhy_diagnose::{REGISTRY, Rule, page};
use gpuwhy_model::cause::Cause;
use gpuwhy_render::{explanation, message};

use crate::failure::Failure;
use crate::output;
use crate::similar::similar;
use crate::speech::Speech;

/// Prints the page or the list.
///
/// # Errors
/// Fails when there is no such cause or page, or standard output cannot be written.
pub(crate) fn run(cause: Option<&str>, speech: &Speech) -> Result<u8, Failure> {
    let text = match cause {
        Some(name) => explain(name, speech)?,
        None => list(speech),
    };
    output::data(&text)?;
    Ok(0)
}

fn explain(name: &str, speech: &Speech) -> Result<String, Failure> {
    let Some(cause) = Cause::from_id(name) else {
        let names = similar(name, Cause::ALL.iter().map(|cause| cause.id()));
        let failure = Failure::new(message::unknown_cause(name));
        let hint =
            if names.is_empty() { message::hint_list_causes() } else { message::hint_did_you_mean(names) };
        return Err(failure.hint(hint));
    };
    let Some(page) = page(cause, speech.language) else {
        return Err(Failure::new(message::no_page(name)).hint(message::hint_list_causes()));
    };
    // A pipe gets the page as it was written.
    let is_for_a_person = io::stdout().is_terminal();
    Ok(if is_for_a_person { explanation(page, &output::layout()) } else { format!("{}\n", page.trim_end()) })
}

fn list(speech: &Speech) -> String {
    let words = speech.words();
    let longest = REGISTRY.iter().map(|rule| rule.cause.id().len()).max().unwrap_or(0);
    let line = |rule: &&Rule| format!("{:longest$}  {}\n", rule.cause.id(), words.cause(rule.cause));
    REGISTRY.iter().map(line).collect()
}
