//! A look: the samples of a window.

use std::ops::ControlFlow;
use std::time::Duration;

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{MachineSample, Sample};

use crate::clock;
use crate::observer::{Depth, Observer};

/// How often somebody who waits is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// The driver is waited for no longer than this beyond the window, however slow each of its calls is.
const ANSWER_WITHIN: Duration = Duration::from_millis(2400);

/// How long and how often to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// From the first sample to the last; zero: one sample.
    pub window: Duration,
    /// From one sample to the next.
    pub interval: Duration,
    /// Whether the first sample stays the only one where it shows that there is nothing to watch.
    pub may_end_early: bool,
}

impl Look {
    /// One sample.
    pub const ONCE: Self =
        Self { window: Duration::ZERO, interval: Duration::from_millis(500), may_end_early: false };
}

impl Default for Look {
    /// Five seconds with eleven samples: enough for shares of states.
    fn default() -> Self {
        Self { window: Duration::from_secs(5), interval: Duration::from_millis(500), may_end_early: false }
    }
}

/// A moment of a look, for those who wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress<'sample> {
    /// The driver has been starting for this long.
    DriverStarts(Duration),
    /// A sample was taken.
    Sampled {
        /// The sample.
        sample: &'sample Sample,
        /// How much of the window has passed.
        passed: Duration,
    },
}

/// Looks for a window, which begins when the driver is ready: everything at its ends, what changes quickly between.
///
/// Whoever is told of the progress can end the look; what was sampled until then is returned.
pub fn look(
    observer: &mut Observer,
    look: &Look,
    progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Vec<Sample> {
    let waits_since = clock::awake();
    while !observer.wait_for_driver(PROGRESS_EVERY) {
        if progress(Progress::DriverStarts(clock::since(waits_since))).is_break() {
            return Vec::new();
        }
    }
    let begun = clock::awake();
    let latest = begun + look.window + ANSWER_WITHIN;
    let first = if look.window.is_zero() { Depth::Alone } else { Depth::Full };
    let mut samples = vec![observer.sample_by(first, latest)];
    let go_on = progress(Progress::Sampled { sample: &samples[0], passed: clock::since(begun) });
    if go_on.is_break() || look.may_end_early && is_nothing_to_watch(&samples[0]) {
        return samples;
    }
    let mut due = Duration::ZERO;
    while due < look.window {
        due = next_due(due, clock::since(begun), look);
        std::thread::sleep((begun + due).saturating_sub(clock::awake()));
        let depth = if due >= look.window { Depth::Full } else { Depth::Calm };
        let sample = observer.sample_by(depth, latest);
        let go_on = progress(Progress::Sampled { sample: &sample, passed: clock::since(begun) });
        samples.push(sample);
        if go_on.is_break() {
            break;
        }
    }
    samples
}

/// Returns when the next sample is due. Those that a slow one has made impossible are left out, but never the last.
fn next_due(due: Duration, passed: Duration, look: &Look) -> Duration {
    let interval = look.interval.max(Duration::from_millis(1));
    let mut next = due + interval;
    while next < passed {
        next += interval;
    }
    // A rest that is shorter than half an interval belongs to the last one.
    if next + interval / 2 > look.window { look.window } else { next }
}

/// `NVML_ERROR_DRIVER_NOT_LOADED`
const DRIVER_NOT_LOADED: u32 = 9;

/// Returns whether no card is served here and nothing but the loading of a driver could change that.
///
/// A driver that hangs or gives another error may still move, and so may one that is being loaded: its module is
/// listed from the first moment on. Where a device file is, somebody may hold it, unless no driver stands behind it.
fn is_nothing_to_watch(sample: &Sample) -> bool {
    let Some(machine) = sample.machine.value.known() else {
        return false;
    };
    let module_is_absent = is_without_module(machine);
    let is_without_cards = match &sample.nvml.value {
        Reading::Failed(Failure::LibraryNotLoaded { .. }) => true,
        Reading::Failed(Failure::Nvml { code: DRIVER_NOT_LOADED, .. }) => module_is_absent,
        Reading::Known(nvml) => {
            nvml.cards.is_empty() && nvml.card_count == Reading::Known(0) && module_is_absent
        }
        _ => false,
    };
    // A container may have files of a driver whose module it cannot see.
    let is_on_the_host = machine.container == Reading::Unsupported;
    let has_no_files = machine.device_files.known().is_some_and(Vec::is_empty);
    sample.stuck_calls.is_empty() && is_without_cards && (has_no_files || module_is_absent && is_on_the_host)
}

/// Returns whether the driver's module surely is not loaded, nor being loaded.
fn is_without_module(machine: &MachineSample) -> bool {
    let is_listed = match &machine.modules {
        Reading::Known(modules) => modules.iter().any(|module| module == "nvidia"),
        // A kernel without modules.
        Reading::Unsupported => false,
        Reading::Denied(_) | Reading::Failed(_) => true,
    };
    machine.driver_module == Reading::Unsupported && !is_listed
}

#[cfg(test)]
mod tests {
    use super::{Look, is_nothing_to_watch, next_due};
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::sample::{MachineSample, NvmlSample, ReadTime, Sample, StuckCall};
    use std::time::Duration;

    fn dues(look: &Look, mut passed: impl FnMut(Duration) -> Duration) -> Vec<u128> {
        let mut dues = Vec::new();
        let mut due = Duration::ZERO;
        while due < look.window {
            due = next_due(due, passed(due), look);
            dues.push(due.as_millis());
        }
        dues
    }

    #[test]
    fn a_window_ends_with_a_sample() {
        let millis = Duration::from_millis;
        assert_eq!(dues(&Look::default(), |due| due).len(), 10);
        let odd = Look { window: millis(1200), interval: millis(500), ..Look::default() };
        assert_eq!(dues(&odd, |due| due), [500, 1200]);
        let slow = Look { window: millis(2000), interval: millis(500), ..Look::default() };
        assert_eq!(dues(&slow, |due| due + millis(1100)), [1500, 2000]);
        assert_eq!(dues(&Look::ONCE, |due| due), [0_u128; 0]);
    }

    /// A machine that was seen as far as this matters: no module, no device file, no library.
    fn bare() -> Sample {
        let mut sample = Sample::empty(ReadTime::default());
        sample.machine.value = Reading::Known(MachineSample {
            driver_module: Reading::Unsupported,
            modules: Reading::Known(vec!["nouveau".to_owned()]),
            device_files: Reading::Known(Vec::new()),
            container: Reading::Unsupported,
            ..MachineSample::default()
        });
        sample.nvml.value = Reading::Failed(Failure::LibraryNotLoaded { error: "not found".to_owned() });
        sample
    }

    fn machine(sample: &mut Sample) -> &mut MachineSample {
        match &mut sample.machine.value {
            Reading::Known(machine) => machine,
            _ => panic!("the machine was seen"),
        }
    }

    fn stuck_call() -> StuckCall {
        StuckCall {
            pid: Pid(7),
            start_ticks: 1,
            call: None,
            card: None,
            for_s: 2.0,
            from_earlier_run: false,
            survived_kill: false,
            has_returned: false,
            may_be_waking: false,
            state: Reading::default(),
            wait_channel: Reading::default(),
        }
    }

    fn init_failed(code: u32) -> Reading<NvmlSample> {
        Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code })
    }

    #[test]
    fn without_any_driver_there_is_nothing_to_watch() {
        assert!(is_nothing_to_watch(&bare()));
        let mut unloaded = bare();
        unloaded.nvml.value = init_failed(9);
        machine(&mut unloaded).device_files = Reading::Known(vec!["nvidia0".to_owned()]);
        assert!(is_nothing_to_watch(&unloaded), "files that an unloaded driver left behind");
        let mut library_missing = bare();
        machine(&mut library_missing).driver_module = Reading::Known("580.95.05".to_owned());
        assert!(is_nothing_to_watch(&library_missing));
        let mut without_cards = bare();
        let none = NvmlSample { card_count: Reading::Known(0), ..NvmlSample::default() };
        without_cards.nvml.value = Reading::Known(none);
        assert!(is_nothing_to_watch(&without_cards));
    }

    #[test]
    fn what_may_still_move_is_watched() {
        let mut seen = Vec::new();
        let mut watched = |what: &'static str, change: &dyn Fn(&mut Sample)| {
            let mut sample = bare();
            change(&mut sample);
            seen.push((what, is_nothing_to_watch(&sample)));
        };
        watched("a driver that is being loaded", &|sample| {
            sample.nvml.value = init_failed(9);
            machine(sample).modules = Reading::Known(vec!["nvidia".to_owned()]);
        });
        watched("another error", &|sample| sample.nvml.value = init_failed(999));
        watched("a call that hangs", &|sample| sample.stuck_calls.push(stuck_call()));
        watched("cards in use that this library does not reach", &|sample| {
            machine(sample).driver_module = Reading::Known("580.95.05".to_owned());
            machine(sample).device_files = Reading::Known(vec!["nvidia0".to_owned()]);
        });
        watched("cards of a container that cannot see the module", &|sample| {
            machine(sample).container = Reading::Known("docker".to_owned());
            machine(sample).device_files = Reading::Known(vec!["nvidia0".to_owned()]);
        });
        watched("a machine that could not be seen", &|sample| {
            sample.nvml.value = init_failed(9);
            machine(sample).modules = Reading::default();
        });
        watched("nobody asked the driver", &|sample| sample.nvml.value = Reading::default());
        let missed: Vec<_> = seen.iter().filter(|(_, is_nothing)| *is_nothing).collect();
        assert!(missed.is_empty(), "{missed:?}");
    }
}
