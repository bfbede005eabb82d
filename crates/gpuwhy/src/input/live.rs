//! Samples of this machine, now.

use std::ops::ControlFlow;

use gpuwhy_model::sample::Sample;
use gpuwhy_render::message;
use gpuwhy_sources::{Look, Observer, Options, Progress, Roots, look};

use crate::arguments::PlaceOptions;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::progress::LookingLine;
use crate::recording::Recording;
use crate::speech::Speech;

/// Begins to look at this machine.
pub(crate) fn observer(places: &PlaceOptions, configuration: &Configuration) -> Observer {
    start(places, configuration, Options::default())
}

/// Begins to look at this machine, and to measure what that costs.
pub(crate) fn measuring_observer(places: &PlaceOptions, configuration: &Configuration) -> Observer {
    start(places, configuration, Options { measures: true, ..Options::default() })
}

fn start(places: &PlaceOptions, configuration: &Configuration, options: Options) -> Observer {
    let usual = Roots::default();
    let roots = Roots {
        proc: places.proc.clone().unwrap_or(usual.proc),
        sys: places.sys.clone().unwrap_or(usual.sys),
        dev: places.dev.clone().unwrap_or(usual.dev),
        system: usual.system,
        passwd: usual.passwd,
        nvml_library: places.nvml_lib.clone(),
        kernel_log: places.journal.clone(),
    };
    let command_lines_are_open = configuration.command_lines_are_open;
    Observer::start(roots, Options { command_lines_are_open, ..options })
}

/// Looks at this machine, keeps each sample as it is taken, and says on a terminal how long it still takes.
///
/// # Errors
/// Fails when a sample cannot be kept, or when somebody interrupts a look that is recorded: what was kept until then
/// stays.
pub(crate) fn samples(
    observer: &mut Observer,
    wanted: &Look,
    kept: Option<(Interruption, Recording)>,
    speech: &Speech,
) -> Result<Vec<Sample>, Failure> {
    let mut line = LookingLine::new(wanted.window, speech);
    let Some((interruption, mut recording)) = kept else {
        let samples = look(observer, wanted, &mut |progress| {
            line.show(&progress);
            ControlFlow::Continue(())
        });
        line.clear();
        return Ok(samples);
    };
    let mut failure = None;
    let samples = look(observer, wanted, &mut |progress| {
        line.show(&progress);
        if let Progress::Sampled { sample, .. } = progress {
            failure = recording.add(sample).err();
        }
        if failure.is_some() || interruption.happened() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    line.clear();
    if let Some(failure) = failure {
        return Err(failure);
    }
    let kept = recording.samples();
    recording.end()?;
    if interruption.happened() {
        return Err(Failure::new(message::interrupted(kept)));
    }
    Ok(samples)
}
