//! Samples of this machine, now.

use gpuwhy_model::sample::Sample;
use gpuwhy_sources::{Look, Observer, Options, Roots, look};

use crate::arguments::PlaceOptions;
use crate::configuration::Configuration;
use crate::progress::LookingLine;
use crate::speech::Speech;

/// Begins to look at this machine.
pub(crate) fn observer(places: &PlaceOptions, configuration: &Configuration) -> Observer {
    let usual = Roots::default();
    let roots = Roots {
        proc: places.proc.clone().unwrap_or(usual.proc),
        sys: places.sys.clone().unwrap_or(usual.sys),
        dev: places.dev.clone().unwrap_or(usual.dev),
        passwd: usual.passwd,
        nvml_library: places.nvml_lib.clone(),
        kernel_log: places.journal.clone(),
    };
    let command_lines_are_open = configuration.command_lines_are_open;
    Observer::start(roots, Options { command_lines_are_open, ..Options::default() })
}

/// Looks at this machine and says on a terminal how long it still takes.
pub(crate) fn samples(observer: &mut Observer, wanted: &Look, speech: &Speech) -> Vec<Sample> {
    let mut line = LookingLine::new(wanted.window, speech);
    let samples = look(observer, wanted, &mut |progress| line.show(&progress));
    line.clear();
    samples
}
