//! Samples of this machine, now.

use std::time::Duration;

use gpuwhy_model::sample::Sample;
use gpuwhy_sources::{Look, Observer, Options, Roots, look};

use crate::arguments::PlaceOptions;
use crate::progress::LookingLine;
use crate::speech::Speech;

/// How long is looked unless told otherwise.
pub(crate) const DEFAULT_WINDOW: Duration = Duration::from_secs(5);

/// Begins to look at this machine.
pub(crate) fn observer(places: &PlaceOptions) -> Observer {
    let usual = Roots::default();
    let roots = Roots {
        proc: places.proc.clone().unwrap_or(usual.proc),
        sys: places.sys.clone().unwrap_or(usual.sys),
        dev: places.dev.clone().unwrap_or(usual.dev),
        passwd: usual.passwd,
        nvml_library: places.nvml_lib.clone(),
        kernel_log: places.journal.clone(),
    };
    Observer::start(roots, Options::default())
}

/// Looks at this machine for a while, or once if the window is zero; says on a terminal how long it still takes.
pub(crate) fn samples(observer: &mut Observer, window: Duration, speech: &Speech) -> Vec<Sample> {
    let mut line = LookingLine::new(window, speech);
    let samples = look(observer, &Look { window, ..Look::default() }, &mut |progress| line.show(&progress));
    line.clear();
    samples
}
