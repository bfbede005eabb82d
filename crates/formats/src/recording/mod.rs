//! The recording: Samples as JSON lines, one a line, compressed by zstd.
//!
//! Both ends work on pipes: each sample can be read as soon as it was written. Lines that are not compressed are read
//! too.

mod derived;
mod input;
mod masking;
mod reader;
mod validity;
mod writer;

pub(crate) use input::ZSTD_MAGIC;
pub use reader::{End, Reader};
pub use writer::Writer;

use std::io;

/// How the line of a sample begins.
pub(crate) const SAMPLE_START: &[u8] = br#"{"schema":"gpuwhy.sample/1""#;

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The system refused or failed.
    #[error("cannot write the recording")]
    Write(#[source] io::Error),
    /// The system refused or failed.
    #[error("cannot read the recording after {samples} samples")]
    Read {
        /// How many whole samples came before.
        samples: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The compressed data are damaged.
    #[error("the recording is damaged after {samples} samples")]
    Damaged {
        /// How many whole samples came before.
        samples: u64,
        /// What the decompressor said.
        #[source]
        source: io::Error,
    },
    /// The input is something else.
    #[error("not a recording: line {line} is no sample of gpuwhy")]
    Foreign {
        /// The line, from 1.
        line: u64,
        /// What was expected there.
        #[source]
        source: serde_json::Error,
    },
    /// The line follows another schema, perhaps of a newer version.
    #[error("line {line}: expected schema `{}`, found `{found}`", gpuwhy_model::sample::SAMPLE_SCHEMA)]
    Schema {
        /// The line, from 1.
        line: u64,
        /// The schema it names.
        found: String,
    },
    /// A line in the middle is broken.
    #[error("the recording is broken at line {line}")]
    Syntax {
        /// The line, from 1.
        line: u64,
        /// What was expected there.
        #[source]
        source: serde_json::Error,
    },
    /// A number cannot be.
    #[error("the recording is broken at line {line}: `{field}` cannot be {value}")]
    Impossible {
        /// The line, from 1.
        line: u64,
        /// The field, with its place in a sample.
        field: &'static str,
        /// The number.
        value: String,
    },
    /// There is not one whole sample.
    #[error("the recording holds no whole sample")]
    Empty,
    /// A line is longer than any sample can be.
    #[error("line {line} is longer than {most} bytes")]
    LineTooLong {
        /// The line, from 1.
        line: u64,
        /// The longest that is read.
        most: u64,
    },
    /// There is more than will be read.
    #[error("the recording is larger than {most} bytes unpacked")]
    TooLarge {
        /// The most that is read.
        most: u64,
    },
}
