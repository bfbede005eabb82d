//! Counters of one process that only grow.

use gpuwhy_formats::Malformed;
use gpuwhy_formats::proc::{self, Status};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{IoCounters, ProcessSample};

use super::files::{reading, unsupported_if_missing};
use super::root::ProcRoot;
use crate::file::ReadError;

/// Reads the I/O counters.
pub(crate) fn io(root: &mut ProcRoot, pid: Pid) -> Reading<IoCounters> {
    reading(parse(root, pid, "io", proc::io))
}

/// Reads how long the main thread has waited for a processor, in nanoseconds.
pub(crate) fn run_delay(root: &mut ProcRoot, pid: Pid) -> Reading<u64> {
    unsupported_if_missing(parse(root, pid, "schedstat", proc::run_delay))
}

/// Reads the status file.
pub(crate) fn status(root: &mut ProcRoot, pid: Pid) -> Reading<Status> {
    reading(parse(root, pid, "status", proc::status))
}

/// Writes what a status file says of memory and processors.
pub(crate) fn write_status(sample: &mut ProcessSample, status: &Reading<Status>) {
    // What is on its way out has no memory any more, and old kernels do not say everything.
    let value = |pick: fn(&Status) -> Option<u64>| {
        status.as_ref().and_then(|status| pick(status).map_or(Reading::Unsupported, Reading::Known))
    };
    sample.resident = value(|status| status.resident);
    sample.shared_resident = value(|status| status.shared_resident);
    sample.swapped = value(|status| status.swapped);
    sample.cpus_allowed =
        status.as_ref().and_then(|status| status.cpus_allowed.map_or(Reading::Unsupported, Reading::Known));
}

fn parse<T>(
    root: &mut ProcRoot,
    pid: Pid,
    name: &str,
    parse: impl FnOnce(&[u8]) -> Result<T, Malformed>,
) -> Result<T, ReadError> {
    parse(root.read_of(pid, name)?).map_err(|malformed| {
        let path = root.path_of(&format!("{pid}/{name}"));
        ReadError::Malformed { path, malformed }
    })
}
