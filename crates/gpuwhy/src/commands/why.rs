//! `gpuwhy`, `gpuwhy why`: looks at this machine or at a recording, and answers.

use std::path::Path;

use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::window::window;
use gpuwhy_render::message;
use gpuwhy_sources::Look;

use super::answer::{Question, answer};
use crate::arguments::{EverywhereOptions, WhyOptions};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::input::is_standard;
use crate::input::live;
use crate::input::recorded::{self, Cut};
use crate::interruption::Interruption;
use crate::output;
use crate::recording::Recording;
use crate::speech::Speech;
use crate::subject::Subject;

/// Looks and answers; returns the exit code.
///
/// # Errors
/// Fails when nothing could be looked at, or the subject is not there.
pub(crate) fn run(
    options: &WhyOptions,
    everywhere: &EverywhereOptions,
    speech: &Speech,
) -> Result<u8, Failure> {
    let configuration = Configuration::read(everywhere.config.as_deref())?;
    for note in &configuration.notes {
        output::note(note.clone(), &speech.words());
    }
    let subject = Subject::asked_for(&options.subject);
    let scene = match &options.replay {
        Some(path) => recorded_scene(path, options, speech)?,
        None => live_scene(options, everywhere, &configuration, speech)?,
    };
    let question =
        Question { limits: &configuration.limits, subject: subject.as_ref(), output: &options.output };
    answer(&scene, &question, None, speech)
}

fn recorded_scene(path: &Path, options: &WhyOptions, speech: &Speech) -> Result<Scene, Failure> {
    let cut = Cut { from: options.from.unwrap_or_default(), duration: options.duration };
    let mut scene = window(&recorded::samples(path, cut, speech)?);
    scene.provenance.source = SourceKind::Recording;
    Ok(scene)
}

fn live_scene(
    options: &WhyOptions,
    everywhere: &EverywhereOptions,
    configuration: &Configuration,
    speech: &Speech,
) -> Result<Scene, Failure> {
    if options.record.as_deref().is_some_and(is_standard) {
        return Err(Failure::new(message::record_needs_file()).hint(message::hint_record()));
    }
    // A file that cannot be written is found out before, not after looking.
    let kept = match &options.record {
        Some(path) => Some((Interruption::listen(), Recording::begin(path)?)),
        None => None,
    };
    let mut observer = live::observer(&everywhere.places, configuration);
    let samples = live::samples(&mut observer, &wanted_look(options), kept, speech)?;
    Ok(window(&samples))
}

/// Returns how to look. Who names a length gets it, also where there is nothing to watch: something may come.
fn wanted_look(options: &WhyOptions) -> Look {
    if options.once {
        return Look::ONCE;
    }
    match options.duration {
        Some(window) => Look { window, ..Look::default() },
        None => Look { may_end_early: true, ..Look::default() },
    }
}
