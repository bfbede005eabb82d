//! `gpuwhy read [FILE…]`: answers from what other tools printed, wrote into logs or packed into bundles.

use gpuwhy_formats::unpack::Limits;
use gpuwhy_model::process::Pid;

use super::answer::{Origin, Question, answer};
use crate::arguments::{EverywhereOptions, ReadOptions};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::input::texts::{Texts, texts};
use crate::output;
use crate::speech::Speech;
use crate::subject::Subject;

/// Reads and answers; returns the exit code.
///
/// # Errors
/// Fails when an input cannot be read, nothing in any of them is understood, or the subject is not in it.
pub(crate) fn run(
    options: &ReadOptions,
    everywhere: &EverywhereOptions,
    speech: &Speech,
) -> Result<u8, Failure> {
    let configuration = Configuration::read(everywhere.config.as_deref())?;
    for note in &configuration.notes {
        output::note(note.clone(), &speech.words());
    }
    let usual = Limits::default();
    let limits = Limits {
        bytes: options.max_bytes.unwrap_or(usual.bytes),
        members: options.max_files.unwrap_or(usual.members),
        depth: options.max_depth.unwrap_or(usual.depth),
    };
    let Texts { scene, inputs, notes } = texts(&options.files, limits, speech)?;
    let subject =
        options.gpu.map(Subject::Card).or_else(|| options.pid.map(|pid| Subject::Process(Pid(pid))));
    let question =
        Question { limits: &configuration.limits, subject: subject.as_ref(), output: &options.output };
    answer(&scene, &question, Some(Origin { inputs, notes }), speech)
}
