//! `gpuwhy record FILE`: writes samples down as they are taken.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpuwhy_formats::recording::{RecordingError, Writer};
use gpuwhy_model::sample::Sample;
use gpuwhy_render::message;
use gpuwhy_sources::{Depth, Look};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::arguments::{EverywhereOptions, RecordOptions};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::input::{is_standard, live, output_name};
use crate::output;
use crate::progress::RecordingLine;
use crate::speech::Speech;

/// How often is looked whether the recording was interrupted.
const INTERRUPT_CHECK: Duration = Duration::from_millis(50);

/// Records; returns the exit code.
///
/// # Errors
/// Fails when the file cannot be written. A reader of standard output that went away ends the recording well.
pub(crate) fn run(
    options: &RecordOptions,
    everywhere: &EverywhereOptions,
    speech: &Speech,
) -> Result<u8, Failure> {
    let configuration = Configuration::read(everywhere.config.as_deref())?;
    for note in &configuration.notes {
        output::note(note.clone(), &speech.words());
    }
    let mut recording = Recording::begin(&options.file)?;
    let is_interrupted = interruption();
    let mut observer = live::observer(&everywhere.places, &configuration);
    let mut line = RecordingLine::new(speech);
    let interval = Look::default().interval;
    let waits_since = Instant::now();
    while !observer.wait_for_driver(interval) {
        line.show_driver_start(waits_since.elapsed());
    }
    let started = Instant::now();
    let mut depth = Depth::Full;
    loop {
        let began = Instant::now();
        if recording.add(&observer.sample(depth))? == Reader::Gone {
            return Ok(0);
        }
        let is_last = depth == Depth::Full && is_over(began - started, options.duration);
        if is_last || is_interrupted.load(Ordering::Relaxed) {
            break;
        }
        line.show(started.elapsed());
        // A recording ends with a full look, as it began.
        let end = started + options.duration;
        let mut next = began + interval;
        depth = Depth::Calm;
        if !options.duration.is_zero() && next + interval / 2 > end {
            next = end;
            depth = Depth::Full;
        }
        wait_until(next, &is_interrupted);
    }
    line.clear();
    recording.end()?;
    Ok(0)
}

/// Returns whether a recording of this length is over; one of length zero never is.
fn is_over(elapsed: Duration, length: Duration) -> bool {
    !length.is_zero() && elapsed >= length
}

/// Returns a flag that is set when somebody asks the program to end.
fn interruption() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the program at once, should the first not be heard.
        let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag));
        // Without a handler the signal ends the program, and the recording counts as cut.
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    flag
}

/// Waits until a moment, or until the flag is set.
fn wait_until(moment: Instant, flag: &AtomicBool) {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() || flag.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(left.min(INTERRUPT_CHECK));
    }
}

/// Whether somebody still reads what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Yes, or it is a file.
    There,
    /// The other end of the pipe was closed.
    Gone,
}

/// A recording that is being written.
pub(super) struct Recording {
    path: PathBuf,
    writer: Writer<Box<dyn Write>>,
}

impl Recording {
    /// Begins a recording in a file that only its owner can read, or on standard output.
    ///
    /// # Errors
    /// Fails when the file cannot be made.
    pub(super) fn begin(path: &Path) -> Result<Self, Failure> {
        let output: Box<dyn Write> = if is_standard(path) {
            Box::new(io::stdout())
        } else {
            // Root sees everybody's arguments; who may read them later is for root to decide.
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
            Box::new(file.map_err(|error| cannot_write(path).because(&error))?)
        };
        let writer = Writer::new(output).map_err(|error| cannot_write(path).because(&error))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Writes one sample.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub(super) fn add(&mut self, sample: &Sample) -> Result<Reader, Failure> {
        match self.writer.write(sample) {
            Ok(()) => Ok(Reader::There),
            Err(error) if is_broken_pipe(&error) => Ok(Reader::Gone),
            Err(error) => Err(cannot_write(&self.path).because(&error)),
        }
    }

    /// Ends the recording properly.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub(super) fn end(self) -> Result<(), Failure> {
        match self.writer.finish() {
            Ok(_) => Ok(()),
            Err(error) if is_broken_pipe(&error) => Ok(()),
            Err(error) => Err(cannot_write(&self.path).because(&error)),
        }
    }
}

fn is_broken_pipe(error: &RecordingError) -> bool {
    matches!(error, RecordingError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

fn cannot_write(path: &Path) -> Failure {
    Failure::new(message::cannot_write(output_name(path)))
}
