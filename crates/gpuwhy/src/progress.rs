//! A line on standard error that says how long it still takes: only on a terminal, only after a second.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use gpuwhy_formats::unpack::Unpacked;
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_render::{input, message};
use gpuwhy_sources::Progress;

use crate::output;
use crate::speech::Speech;

/// What takes less shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// Goes to the begin of the line and empties it.
const EMPTY_LINE: &str = "\r\u{1b}[K";

/// The line that is rewritten while time passes.
struct Line<'speech> {
    speech: &'speech Speech,
    /// Whether somebody looks on, at a terminal that can empty a line.
    is_watched: bool,
    shown: String,
}

impl<'speech> Line<'speech> {
    fn new(speech: &'speech Speech) -> Self {
        Self {
            speech,
            is_watched: io::stderr().is_terminal() && !output::is_dumb_terminal(),
            shown: String::new(),
        }
    }

    fn show(&mut self, passed: Duration, text: &Text) {
        if !self.is_watched || passed < PATIENCE {
            return;
        }
        let line = self.speech.words().sentence(text);
        if line != self.shown {
            output::talk(&format!("{EMPTY_LINE}{line}"));
            self.shown = line;
        }
    }

    fn clear(&mut self) {
        if !self.shown.is_empty() {
            output::talk(EMPTY_LINE);
            self.shown.clear();
        }
    }
}

/// Says how long a look still takes.
pub(crate) struct LookingLine<'speech> {
    line: Line<'speech>,
    window: Duration,
}

impl<'speech> LookingLine<'speech> {
    /// Makes the line for a look of this length.
    pub(crate) fn new(window: Duration, speech: &'speech Speech) -> Self {
        Self { line: Line::new(speech), window }
    }

    /// Shows how far the look has come.
    pub(crate) fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::DriverStarts(passed) => {
                self.line.show(*passed, &message::starting_driver(whole_seconds(*passed)));
            }
            Progress::Sampled { passed, .. } => {
                // The last second counts as a whole one.
                let left = whole_seconds(self.window.saturating_sub(*passed) + Duration::from_secs(1));
                let window = Arg::Seconds(self.window.as_secs_f64());
                self.line.show(*passed, &message::looking(left, window));
            }
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
    }
}

/// Says how long a recording has run.
pub(crate) struct RecordingLine<'speech>(Line<'speech>);

impl<'speech> RecordingLine<'speech> {
    /// Makes the line.
    pub(crate) fn new(speech: &'speech Speech) -> Self {
        Self(Line::new(speech))
    }

    /// Shows for how long the driver has been starting.
    pub(crate) fn show_driver_start(&mut self, passed: Duration) {
        self.0.show(passed, &message::starting_driver(whole_seconds(passed)));
    }

    /// Shows for how long has been recorded.
    pub(crate) fn show(&mut self, passed: Duration) {
        self.0.show(passed, &message::recording(whole_seconds(passed)));
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Says which text is read.
pub(crate) struct ReadingLine<'speech> {
    line: Line<'speech>,
    started: Instant,
}

impl<'speech> ReadingLine<'speech> {
    /// Makes the line.
    pub(crate) fn new(speech: &'speech Speech) -> Self {
        Self { line: Line::new(speech), started: Instant::now() }
    }

    /// Shows what came in last.
    pub(crate) fn show(&mut self, unpacked: &Unpacked) {
        let passed = self.started.elapsed();
        self.line.show(passed, &input::reading(unpacked.name.as_str(), whole_seconds(passed)));
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
    }
}

fn whole_seconds(duration: Duration) -> Arg {
    Arg::Seconds(duration.as_secs() as f64)
}
