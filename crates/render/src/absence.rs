//! Words for what could not be seen: why, and what opens it.

use gpuwhy_knowledge::nvml_error;
use gpuwhy_model::reading::{Absence, Access, Failure};
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_model::verdict::BlindSpot;

use crate::texts::absence as texts;
use crate::words::signal_text;

/// Returns why something could not be seen and what opens it.
pub(crate) fn reason(absence: &Absence) -> Text {
    match absence {
        Absence::Unsupported => texts::unsupported(),
        Absence::Denied(access) => opener(access),
        Absence::Failed(failure) => failed(failure),
    }
}

/// Returns one blind spot as a text: what could not be seen, and why.
pub(crate) fn blind_spot(spot: &BlindSpot) -> Text {
    texts::line(signal_text(spot.signal), reason(&spot.why))
}

/// Returns several things that could not be seen for the same reason as one text.
pub(crate) fn blind_spots(what: String, why: &Absence) -> Text {
    texts::line(Arg::Raw(what), reason(why))
}

fn opener(access: &Access) -> Text {
    match access {
        Access::Root => texts::root(),
        Access::RootOrOwner => texts::root_or_owner(),
        Access::VisibleProcesses => texts::visible_processes(),
        Access::MountedSys => texts::mounted_sys(),
        Access::DeviceFile(path) => texts::device_file(path.as_str()),
        Access::KernelLog => texts::kernel_log(),
        Access::PrivacySetting => texts::privacy_setting(),
    }
}

fn failed(failure: &Failure) -> Text {
    match failure {
        Failure::NotInSource => texts::not_in_source(),
        Failure::Missing { path } => texts::missing(path.as_str()),
        Failure::Io { path, error } => texts::io(error.as_str(), path.as_str()),
        Failure::Syntax { path, line, expected } => texts::syntax(expected.as_str(), *line, path.as_str()),
        Failure::Nvml { call, code } => match nvml_error(*code) {
            Some(known) => texts::nvml_known(call.as_str(), *code, known.name.as_str()),
            None => texts::nvml(call.as_str(), *code),
        },
        Failure::LibraryNotLoaded { error } => texts::library_not_loaded(error.as_str()),
        Failure::TimedOut { call, after_ms } => {
            texts::timed_out(Arg::Seconds(*after_ms as f64 / 1000.0), call.as_str())
        }
        Failure::NotReached => texts::not_reached(),
        Failure::Vanished => texts::vanished(),
        Failure::TooFewSamples => texts::too_few_samples(),
        Failure::Implausible { value } => texts::implausible(value.as_str()),
    }
}
