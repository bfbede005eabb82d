//! From a scene to the answer on standard output and the exit code: the same way for every input.

use gpuwhy_diagnose::diagnose;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::input::TextRead;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::redaction::Redactor;
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::Verdict;
use gpuwhy_render::{html, input_lines, json_text, markdown, message, report, text};

use crate::arguments::{OutputFormat, OutputOptions};
use crate::failure::{COULD_NOT_LOOK, Failure};
use crate::output;
use crate::speech::Speech;
use crate::subject::{Subject, narrow};

/// What is asked about a scene, and how the answer is written.
pub(crate) struct Question<'question> {
    /// The limits to judge by.
    pub(crate) limits: &'question Limits,
    /// What the answer is about; none: everything.
    pub(crate) subject: Option<&'question Subject>,
    /// How it is written.
    pub(crate) output: &'question OutputOptions,
}

/// The texts that a scene was made of, and what is to be said of them.
pub(crate) struct Origin {
    /// Which outputs stand in which text.
    pub(crate) inputs: Vec<TextRead>,
    /// What should be said of them.
    pub(crate) notes: Vec<Text>,
}

/// Judges a scene, prints the answer and returns the exit code.
///
/// # Errors
/// Fails when the subject is not there, or standard output cannot be written.
pub(crate) fn answer(
    scene: &Scene,
    question: &Question<'_>,
    origin: Option<Origin>,
    speech: &Speech,
) -> Result<u8, Failure> {
    let mut verdict = diagnose(scene, question.limits);
    if let Some(subject) = question.subject {
        verdict = narrow(verdict, scene, question.limits, subject)?;
    }
    let said_of_texts = origin.as_ref().map(|origin| origin.notes.len());
    if let Some(Origin { inputs, notes }) = origin {
        verdict.inputs = inputs;
        verdict.notes.extend(notes);
    }
    if question.output.redact {
        verdict = Redactor::of(scene).verdict(verdict);
    }
    let format = question.output.format();
    // Who reads the answer on a terminal finds this at its end.
    if let Some(count) = said_of_texts
        && !(format == OutputFormat::Text && output::is_terminal())
    {
        say_what_was_read(&verdict, count, speech);
    }
    output::data(&written(&verdict, format, speech)?)?;
    Ok(exit_code(&verdict))
}

fn written(verdict: &Verdict, format: OutputFormat, speech: &Speech) -> Result<String, Failure> {
    Ok(match format {
        OutputFormat::Text => text(verdict, &speech.words(), &output::layout()),
        OutputFormat::Json => json_text(&report(verdict, &speech.words_of_report()))
            .map_err(|error| Failure::new(message::cannot_make_report()).because(&error))?,
        OutputFormat::Markdown => markdown(verdict, &speech.words()),
        OutputFormat::Html => html(verdict, &speech.words()),
    })
}

/// Says which texts were read, and the last notes, which are about them.
fn say_what_was_read(verdict: &Verdict, notes: usize, speech: &Speech) {
    let words = speech.words();
    for note in verdict.notes.iter().skip(verdict.notes.len().saturating_sub(notes)) {
        output::note(note.clone(), &words);
    }
    for line in input_lines(&verdict.inputs, &words) {
        output::talk(&format!("{line}\n"));
    }
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
    // A text that was understood was looked at, however little it says.
    if is_nothing_to_look_at && verdict.source != SourceKind::Text {
        COULD_NOT_LOOK
    } else {
        verdict.exit_code()
    }
}
