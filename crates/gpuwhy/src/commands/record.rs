//! `gpuwhy record FILE`: writes samples down as they are taken.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use gpuwhy_render::message;
use gpuwhy_sources::{Depth, Look};

use crate::arguments::{EverywhereOptions, RecordOptions};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::input::{is_standard, live};
use crate::interruption::Interruption;
use crate::output;
use crate::progress::RecordingLine;
use crate::recording::{Reader, Recording};
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
    // First of all: who interrupts leaves no begun file behind.
    let interruption = Interruption::listen();
    let mut recording = Recording::begin(&options.file)?;
    let mut observer = live::observer(&everywhere.places, &configuration);
    let mut line = RecordingLine::new(speech);
    let interval = Look::default().interval;
    let waits_since = Instant::now();
    while !interruption.happened() && !observer.wait_for_driver(interval) {
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
        if is_last || interruption.happened() {
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
        wait_until(next, &interruption);
    }
    line.clear();
    recording.end()?;
    if !is_standard(&options.file) && io::stderr().is_terminal() {
        output::note(message::recorded(options.file.display().to_string()), &speech.words());
    }
    Ok(0)
}

/// Returns whether a recording of this length is over; one of length zero never is.
fn is_over(elapsed: Duration, length: Duration) -> bool {
    !length.is_zero() && elapsed >= length
}

/// Waits until a moment, or until somebody interrupts.
fn wait_until(moment: Instant, interruption: &Interruption) {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() || interruption.happened() {
            return;
        }
        std::thread::sleep(left.min(INTERRUPT_CHECK));
    }
}
