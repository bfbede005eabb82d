//! Threads of one process.

use std::os::fd::OwnedFd;

use gpuwhy_formats::proc::{self, Stat};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessState, ThreadSample};

use super::files::{reading, wait_channel};
use super::root::{Place, ProcRoot};
use crate::file::{ReadError, read_record};

/// Reads the threads of a process, the oldest first, at most as many as given.
pub(crate) fn threads(proc: &mut ProcRoot, pid: Pid, wanted: ThreadsWanted) -> Reading<Vec<ThreadSample>> {
    let directory = match proc.open_directory(pid, "task") {
        Ok(directory) => directory,
        Err(error) => return reading(Err(error)),
    };
    let numbers = match proc.numbers_in(&directory, wanted.at_most) {
        Ok(numbers) => numbers,
        Err(errno) => return reading(Err(ReadError::Io { path: format!("{pid}/task"), errno })),
    };
    // A thread that ends while it is read is left out.
    Reading::Known(numbers.into_iter().filter_map(|tid| thread(proc, &directory, tid, wanted)).collect())
}

/// What is wanted of threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadsWanted {
    /// No more than so many.
    pub(crate) at_most: usize,
    /// How long each waited for a processor.
    pub(crate) run_delay: bool,
    /// Whether we have the right to see where they wait.
    pub(crate) may_look: bool,
}

fn thread(proc: &mut ProcRoot, directory: &OwnedFd, tid: Pid, wanted: ThreadsWanted) -> Option<ThreadSample> {
    let mut place = Place::default();
    let bytes = read_record(directory, place.of(tid, "stat"), &mut proc.buffer).ok()?;
    let stat = proc::stat(bytes).ok()?;
    let Stat { state, cpu_ticks, .. } = stat;
    let mut thread = ThreadSample {
        tid,
        name: stat.name(),
        state: state.map_or_else(Reading::default, Reading::Known),
        cpu_ticks,
        ..ThreadSample::default()
    };
    // A thread that runs waits nowhere.
    if state != Some(ProcessState::Running) {
        let place = place.of(tid, "wchan");
        let bytes = read_record(directory, place, &mut proc.buffer);
        thread.wait_channel = wait_channel(
            bytes.map_err(|errno| ReadError::Io { path: place.to_owned(), errno }),
            wanted.may_look,
        );
    }
    if wanted.run_delay
        && let Ok(bytes) = read_record(directory, place.of(tid, "schedstat"), &mut proc.buffer)
        && let Ok(nanoseconds) = proc::run_delay(bytes)
    {
        thread.run_delay_ns = Reading::Known(nanoseconds);
    }
    Some(thread)
}
