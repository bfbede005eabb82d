//! A recording that is being written, sample by sample, to a file or to standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gpuwhy_formats::recording::{RecordingError, Writer};
use gpuwhy_model::sample::Sample;
use gpuwhy_render::message;

use crate::failure::Failure;
use crate::input::{is_standard, output_name};
use crate::new_file::NewFile;
use crate::output;

/// Whether somebody still reads what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Yes, or it is a file.
    There,
    /// The other end of the pipe was closed.
    Gone,
}

/// A recording that is being written.
pub(crate) struct Recording {
    path: PathBuf,
    writer: Writer<Box<dyn Write>>,
    /// None: standard output.
    file: Option<NewFile>,
    samples: u64,
}

impl Recording {
    /// Begins a recording in a new file that takes its name at the end, or on standard output.
    ///
    /// # Errors
    /// Fails when the file cannot be made, or would take the place of something that is no regular file of the caller.
    pub(crate) fn begin(path: &Path) -> Result<Self, Failure> {
        let file = if is_standard(path) { None } else { Some(NewFile::begin(path)?) };
        if file.is_none() && output::is_closed() {
            return Err(cannot_write(path).because_of(message::is_closed()));
        }
        let output: Box<dyn Write> = match &file {
            Some(file) => Box::new(file.handle()?),
            None => Box::new(io::stdout()),
        };
        let writer = Writer::new(output).map_err(|error| cannot_write(path).because(&error))?;
        Ok(Self { path: path.to_owned(), writer, file, samples: 0 })
    }

    /// Returns how many samples were written.
    pub(crate) const fn samples(&self) -> u64 {
        self.samples
    }

    /// Writes one sample.
    ///
    /// # Errors
    /// Fails when the file cannot be written. What was written before stays.
    pub(crate) fn add(&mut self, sample: &Sample) -> Result<Reader, Failure> {
        match self.writer.write(sample) {
            Ok(()) => {
                self.samples += 1;
                Ok(Reader::There)
            }
            Err(error) if is_broken_pipe(&error) => Ok(Reader::Gone),
            Err(error) => Err(failed(&self.path, &error, self.file.as_mut(), self.samples)),
        }
    }

    /// Ends the recording properly. One without a sample is none, and leaves what was there before.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub(crate) fn end(self) -> Result<(), Failure> {
        let Self { path, writer, mut file, samples } = self;
        match writer.finish() {
            Ok(_) => {}
            Err(error) if is_broken_pipe(&error) => {}
            Err(error) => return Err(failed(&path, &error, file.as_mut(), samples)),
        }
        match file {
            Some(file) if samples > 0 => file.settle(),
            _ => Ok(()),
        }
    }
}

/// Makes a failure of an error, and keeps what was written before it.
fn failed(path: &Path, error: &RecordingError, file: Option<&mut NewFile>, samples: u64) -> Failure {
    let failure = cannot_write(path).because(error);
    match file {
        Some(file) if samples > 0 => failure.hint(message::hint_kept(file.leave().display().to_string())),
        _ => failure,
    }
}

fn is_broken_pipe(error: &RecordingError) -> bool {
    matches!(error, RecordingError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

fn cannot_write(path: &Path) -> Failure {
    Failure::new(message::cannot_write(output_name(path)))
}
