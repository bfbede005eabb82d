//! What the texts say so far, while they come in one by one.

use gpuwhy_formats::text::{Met, Piece, Remark, understand_paste};
use gpuwhy_formats::unpack::{Captured, Content, Problem, Unpacked};
use gpuwhy_formats::{Format, FormatError, nvidia_smi_xml, recognise};
use gpuwhy_model::input::TextRead;
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::text::Text;
use gpuwhy_model::window::{Gathering, Merged};
use gpuwhy_render::{input, message};

use super::{Texts, notes};
use crate::failure::Failure;

/// So many notes are kept; of more the first ones tell enough.
const NOTES_MAX: usize = 20;

/// Texts of many machines disagree about everything.
const DISAGREEMENTS_MAX: usize = 5;

/// What the texts say so far.
#[derive(Default)]
pub(super) struct Gathered {
    scenes: Gathering,
    inputs: Vec<TextRead>,
    notes: Vec<Text>,
    /// Whether anything was understood.
    is_understood: bool,
    /// Why the first thing that came in was not understood.
    first_refusal: Option<Refusal>,
    /// How many things came in.
    count: usize,
}

/// Why something was not understood.
enum Refusal {
    Recording(String),
    /// It looks like a format and is broken.
    Broken(String, FormatError),
    /// What our words say.
    Said(Text),
}

impl Gathered {
    /// Adds what came in.
    pub(super) fn add(&mut self, unpacked: Unpacked) {
        let Unpacked { name, content, problems } = unpacked;
        for problem in &problems {
            self.note(notes::problem(problem, &name));
        }
        // A limit of all texts together is nobody's name.
        if !name.is_empty() {
            self.count += 1;
        }
        let refusal = match &content {
            Content::Text(captured) if !captured.is_empty() => self.understand(&name, captured),
            Content::Recording => {
                self.note(input::is_recording(name.as_str()));
                Some(Refusal::Recording(name.clone()))
            }
            Content::PackedBy(packer) => {
                self.note(input::packed_by(name.as_str(), *packer));
                notes::content(&content, &name).map(Refusal::Said)
            }
            Content::Text(_) | Content::Binary => {
                self.inputs.push(TextRead { name: name.clone(), ..TextRead::default() });
                notes::content(&content, &name).map(Refusal::Said)
            }
            Content::Nothing => {
                problems.first().map(|first: &Problem| Refusal::Said(notes::problem(first, &name)))
            }
        };
        if self.first_refusal.is_none() {
            self.first_refusal = refusal;
        }
    }

    /// Understands a text; returns why not, if nothing in it is known.
    fn understand(&mut self, name: &str, captured: &Captured) -> Option<Refusal> {
        let mut read = TextRead { name: name.to_owned(), ..TextRead::default() };
        captured.with_paste(|paste| {
            understand_paste(paste, &mut |met| match met {
                Met::Piece(piece) => self.add_piece(*piece, &mut read),
                Met::Unknown(line) => read.not_understood.add(line, line),
            });
        });
        let is_known = !read.formats.is_empty();
        self.inputs.push(read);
        if is_known {
            return None;
        }
        let whole = captured.whole().filter(|text| recognise(text.as_bytes()) == Some(Format::NvidiaSmiXml));
        let error = whole.and_then(|text| nvidia_smi_xml::read(&text).err());
        Some(match error {
            Some(error) => Refusal::Broken(name.to_owned(), error),
            None => Refusal::Said(input::nothing_known(name)),
        })
    }

    fn add_piece(&mut self, piece: Piece, read: &mut TextRead) {
        let Piece { format, first_line, last_line, scene, remarks } = piece;
        read.add_output(&format.to_string(), first_line, last_line);
        let mut not_understood: Vec<u64> = Vec::new();
        for remark in &remarks {
            if let Remark::NotUnderstood { line } = remark {
                not_understood.push(*line);
            }
            if let Some(note) = notes::remark(remark, &read.name) {
                self.note(note);
            }
        }
        not_understood.sort_unstable();
        for line in not_understood {
            read.not_understood.add(line, line);
        }
        self.scenes.add(scene);
        self.is_understood = true;
    }

    fn note(&mut self, note: Text) {
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Makes one scene of everything.
    ///
    /// # Errors
    /// Fails when nothing was understood.
    pub(super) fn finish(self) -> Result<Texts, Failure> {
        if !self.is_understood {
            return Err(self.failure());
        }
        let Self { scenes, inputs, mut notes, .. } = self;
        let Merged { mut scene, disagreements } = scenes.finish();
        scene.provenance.source = SourceKind::Text;
        notes.extend(disagreements.into_iter().take(DISAGREEMENTS_MAX).map(notes::disagreement));
        Ok(Texts { scene, inputs, notes })
    }

    fn failure(self) -> Failure {
        if self.count > 1 {
            return Failure::new(input::nothing_known_in_any(self.count))
                .hint(input::hint_known())
                .hint(input::hint_paste());
        }
        match self.first_refusal {
            Some(Refusal::Recording(name)) => {
                Failure::new(message::unknown_input(name.as_str())).hint(message::hint_replay(name.as_str()))
            }
            Some(Refusal::Broken(name, error)) => Failure::new(message::cannot_read(name.as_str()))
                .because(&error)
                .hint(message::hint_inputs("gpu.xml")),
            Some(Refusal::Said(why)) => Failure::new(why)
                .hint(input::hint_known())
                .hint(input::hint_paste())
                .hint(input::hint_make_one()),
            None => Failure::new(input::no_texts()).hint(input::hint_known()),
        }
    }
}
