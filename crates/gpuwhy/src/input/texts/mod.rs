//! Texts of other tools, from files, folders, archives and standard input: all of them make one scene.

mod files;
mod gathered;
mod notes;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use gpuwhy_formats::unpack::{Limits, Unpacker};
use gpuwhy_model::input::TextRead;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::text::Text;
use gpuwhy_render::input;

use crate::failure::Failure;
use crate::input::is_standard;
use crate::output;
use crate::progress::ReadingLine;
use crate::speech::Speech;
use gathered::Gathered;

/// How standard input is called as a text among others.
const STANDARD_INPUT: &str = "stdin";

/// What was understood of texts.
pub(crate) struct Texts {
    /// What they say, together.
    pub(crate) scene: Scene,
    /// Which outputs stand in which of them.
    pub(crate) inputs: Vec<TextRead>,
    /// What went wrong, limits that were hit, where they disagree.
    pub(crate) notes: Vec<Text>,
}

/// Reads texts and makes one scene of everything that is understood in them.
///
/// # Errors
/// Fails when something that was named cannot be read, or nothing at all is understood.
pub(crate) fn texts(paths: &[PathBuf], limits: Limits, speech: &Speech) -> Result<Texts, Failure> {
    let mut gathered = Gathered::default();
    let mut line = ReadingLine::new(speech);
    let mut read = |unpacked| {
        line.show(&unpacked);
        gathered.add(unpacked);
    };
    let mut unpacker = Unpacker::new(limits, &mut read);
    let standard_input = [PathBuf::from("-")];
    for path in if paths.is_empty() { &standard_input } else { paths } {
        if is_standard(path) {
            if io::stdin().is_terminal() {
                output::note(input::paste_now(), &speech.words());
            }
            unpacker.stream(STANDARD_INPUT, io::stdin().lock());
        } else {
            files::read(path, &mut unpacker)?;
        }
    }
    line.clear();
    gathered.finish()
}
