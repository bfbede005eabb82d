//! One output of one tool inside a paste.

use gpuwhy_model::scene::Scene;

use crate::Format;
use crate::paste::Line;

/// A format that is found in lines of text.
pub(crate) struct TextFormat {
    /// Its name.
    pub(crate) format: Format,
    /// Reads the output that begins with the first of these lines, if one of this format does. A format that does not
    /// begin there must find that out from its first lines: it is asked at every line.
    pub(crate) read: fn(&[Line<'_>], &Context<'_>) -> Option<Block>,
}

/// What stands around the lines that a format is asked about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'text> {
    /// The command behind the last prompt, where the paste has prompts and nothing else was read since.
    pub command: Option<&'text str>,
}

/// What a format made of the first lines that it was given.
#[derive(Debug, Default)]
pub struct Block {
    /// How many lines it took; at least one.
    pub lines: usize,
    /// What they say. Values that are not there stay unknown.
    pub scene: Scene,
    /// What should be said of the text beside the answer.
    pub remarks: Vec<Remark>,
}

/// What should be said of a text beside the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    /// Its end is missing: only what is whole before it was read.
    Cut {
        /// The line, from 1, at which it ends.
        line: u64,
        /// How many whole cards there are.
        cards: usize,
    },
    /// Its begin is missing.
    HasNoBegin {
        /// The line, from 1, at which it begins.
        line: u64,
    },
    /// This line is not what this format has here; it was left out.
    NotUnderstood {
        /// The line, from 1.
        line: u64,
    },
    /// So much of one kind stands there that not all of it was kept: the first lines and the newest were.
    LeftOut {
        /// How many lines were not.
        lines: u64,
    },
}
