//! `gpuwhy read FILE`: answers from what another tool printed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use gpuwhy_formats::nvidia_smi_xml;
use gpuwhy_formats::text::Remark;
use gpuwhy_formats::{Format, decoded, recognise};
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::Scene;
use gpuwhy_render::message;

use super::answer::answer;
use crate::arguments::{EverywhereOptions, ReadOptions};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::input::{input_name, is_standard};
use crate::output;
use crate::speech::Speech;
use crate::subject::Subject;

/// More is no output of `nvidia-smi` that a machine could make.
const INPUT_MAX: u64 = 256 << 20;

/// Reads and answers; returns the exit code.
///
/// # Errors
/// Fails when the input cannot be read or understood, or the subject is not in it.
pub(crate) fn run(
    options: &ReadOptions,
    everywhere: &EverywhereOptions,
    speech: &Speech,
) -> Result<u8, Failure> {
    let configuration = Configuration::read(everywhere.config.as_deref())?;
    for note in &configuration.notes {
        output::note(note.clone(), &speech.words());
    }
    let (scene, remarks) = understood(&options.file, &bytes(&options.file)?)?;
    for remark in remarks {
        if let Remark::Cut { line, cards } = remark {
            output::note(message::cut_text(cards, line, input_name(&options.file)), &speech.words());
        }
    }
    let subject =
        options.gpu.map(Subject::Card).or_else(|| options.pid.map(|pid| Subject::Process(Pid(pid))));
    answer(&scene, &configuration.limits, subject.as_ref(), options.json, speech)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if is_standard(path) {
        io::stdin().lock().take(INPUT_MAX).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(INPUT_MAX).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::new(message::cannot_read(input_name(path))).because(&error)),
    }
}

fn understood(path: &Path, bytes: &[u8]) -> Result<(Scene, Vec<Remark>), Failure> {
    let unknown = || Failure::new(message::unknown_input(input_name(path)));
    match recognise(bytes) {
        Some(Format::NvidiaSmiXml) => nvidia_smi_xml::read_with_remarks(&decoded(bytes)).map_err(|error| {
            Failure::new(message::cannot_read(input_name(path)))
                .because(&error)
                .hint(message::hint_inputs("gpu.xml"))
        }),
        Some(Format::Recording) => Err(unknown().hint(message::hint_replay(input_name(path)))),
        Some(_) | None => Err(unknown().hint(message::hint_inputs("gpu.xml"))),
    }
}
