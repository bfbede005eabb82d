//! From what people hand over (files, archives, compressed logs) to texts: found by content, within limits, and nothing
//! is written anywhere.
//!
//! Memory stays bounded whatever comes in: a short text is kept whole, of a long one its ends and the lines that could
//! matter.

mod captured;
mod kind;
mod long_text;
mod meter;
mod opener;
mod tape;
mod utf_16;
mod zipped;

#[cfg(test)]
mod tests;

pub use captured::Captured;
pub use long_text::marks;
pub use opener::Unpacker;

/// How much is unpacked at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all texts together, as they are unpacked.
    pub bytes: u64,
    /// Files and members of archives.
    pub members: u64,
    /// How deep archives and compressed files may lie in each other.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 2 << 30, members: 10_000, depth: 2 }
    }
}

/// One thing that came out: a text, or the reason why there is none.
#[derive(Debug)]
pub struct Unpacked {
    /// The file, and the member within it: `bundle.tar.gz/var/log/kern.log`.
    pub name: String,
    /// What it holds.
    pub content: Content,
    /// What should be said of it.
    pub problems: Vec<Problem>,
}

/// What a file or member holds.
#[derive(Debug)]
pub enum Content {
    /// A text, perhaps an empty one.
    Text(Captured),
    /// A recording of samples, which is not for reading but for replaying.
    Recording,
    /// Packed in a way that is not unpacked here, by name.
    PackedBy(&'static str),
    /// No text.
    Binary,
    /// Nothing could be had of it; the problems say why.
    Nothing,
}

/// What went wrong, or a limit that was hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// All texts together are longer than this; the rest was left out.
    TooManyBytes(u64),
    /// There are more files and members than this; the rest was left out.
    TooManyMembers(u64),
    /// It lies deeper than this in archives, and was not opened.
    TooDeep(u32),
    /// An archive that must be held in memory is larger than this, and was not opened.
    TooLargeForMemory(u64),
    /// A document is longer than this; its end was left out.
    DocumentCut(u64),
    /// So many lines are longer than they may be; their ends were left out.
    LinesCut {
        /// How many.
        count: u64,
        /// The first one, from 1.
        first: u64,
        /// How many bytes of each are left.
        bytes: u64,
    },
    /// It is long: its ends were read, and the lines between that could matter.
    OnlyWhatMatters {
        /// Lines in all.
        lines: u64,
        /// Lines that were read.
        kept: u64,
        /// Lines that could matter and were left out, because there are so many.
        dropped: u64,
    },
    /// It cannot be read, or is damaged, from some place on.
    Broken(String),
    /// It needs a password.
    Encrypted,
}
