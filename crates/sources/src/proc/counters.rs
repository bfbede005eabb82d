//! Counters of one process that only grow.

use gpuwhy_formats::Malformed;
use gpuwhy_formats::proc;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::IoCounters;

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

/// Reads the resident memory in bytes.
pub(crate) fn resident(root: &mut ProcRoot, pid: Pid) -> Reading<u64> {
    let status = reading(parse(root, pid, "status", proc::status));
    // What is on its way out has no memory any more.
    status.and_then(|status| status.resident.map_or(Reading::Unsupported, Reading::Known))
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
