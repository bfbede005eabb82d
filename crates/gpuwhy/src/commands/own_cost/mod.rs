//! `gpuwhy self`: what a calm tick and a full look cost on this machine, by source.

mod report;
mod shown;

use std::time::{Duration, Instant};

use gpuwhy_render::message;
use gpuwhy_sources::{Depth, Look, Observer};

use crate::arguments::{EverywhereOptions, SelfOptions};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::input::live;
use crate::output;
use crate::progress::RecordingLine;
use crate::speech::Speech;
use report::{CostReport, Measured};

/// Full looks that are measured; the mean counts.
const FULL_LOOKS: u32 = 3;

/// Calm ticks before each full look: what is read at every third or fourth of them has its share in the mean.
const TICKS: u32 = 4;

/// Looks, measures, prints; returns the exit code.
///
/// # Errors
/// Fails when the settings cannot be read, or standard output cannot be written.
pub(crate) fn run(
    options: &SelfOptions,
    everywhere: &EverywhereOptions,
    speech: &Speech,
) -> Result<u8, Failure> {
    let configuration = Configuration::read(everywhere.config.as_deref())?;
    for note in &configuration.notes {
        output::note(note.clone(), &speech.words());
    }
    let mut observer = live::measuring_observer(&everywhere.places, &configuration);
    wait_for_driver(&mut observer, speech);
    let interval = Look::default().interval;
    let begun = Instant::now();
    // What is read once for good is no cost of a look: the first one is not counted.
    measured(&mut observer, Depth::Full);
    let (mut calm, mut full) = (Vec::new(), Vec::new());
    for number in 1..=FULL_LOOKS * (TICKS + 1) {
        wait_until(begun + interval * number);
        if number.is_multiple_of(TICKS + 1) {
            full.push(measured(&mut observer, Depth::Full));
        } else {
            calm.push(measured(&mut observer, Depth::Calm));
        }
    }
    let report = CostReport::new(&calm, &full, observer.footprint());
    let shown = if options.json {
        let json = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::new(message::cannot_make_report()).because(&error))?;
        format!("{json}\n")
    } else {
        shown::text(&report, &speech.words())
    };
    output::data(&shown)?;
    Ok(0)
}

fn wait_for_driver(observer: &mut Observer, speech: &Speech) {
    let mut line = RecordingLine::new(speech);
    let since = Instant::now();
    while !observer.wait_for_driver(Duration::from_millis(500)) {
        line.show_driver_start(since.elapsed());
    }
    line.clear();
}

/// Takes a sample and returns what it has cost.
fn measured(observer: &mut Observer, depth: Depth) -> Measured {
    let before = observer.driver_effort();
    let sample = observer.sample(depth);
    let after = observer.driver_effort();
    Measured::new(observer.costs(), &before, &after, &sample)
}

fn wait_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}
