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

/// Calm ticks between the two full looks: what is read at every third or fourth of them has its share in the mean.
const TICKS: usize = 12;

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
    let mut calm = Vec::with_capacity(TICKS);
    for tick in 1..=u32::try_from(TICKS).unwrap_or(u32::MAX) {
        wait_until(begun + interval * tick);
        calm.push(measured(&mut observer, Depth::Calm));
    }
    wait_until(begun + interval * u32::try_from(TICKS + 1).unwrap_or(u32::MAX));
    let full = measured(&mut observer, Depth::Full);
    let report = CostReport::new(&calm, full, observer.footprint());
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
