//! What the kernel says that children used which have ended: processor time and memory.
#![expect(unsafe_code, reason = "getrusage has no safe form in the libraries that we use")]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// What ended children used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Processor time, user and system, of all of them and of theirs.
    pub(super) processor: Duration,
    /// The most memory that one of them had at one time, in bytes; pages that it shares count whole. It is never less
    /// than what this process itself had when it started the child.
    pub(super) most_resident_bytes: u64,
}

/// Returns what every ended and awaited child of this process used, and theirs.
///
/// # Errors
/// Fails when the kernel refuses.
pub(super) fn of_ended_children() -> Result<Usage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writing one `rusage`, which is all that the call does with it.
    let result = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    ensure!(result == 0, "getrusage: {}", std::io::Error::last_os_error());
    // SAFETY: all zeros are a valid `rusage`, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let most_resident_kibibytes = u64::try_from(usage.ru_maxrss).context("negative memory")?;
    Ok(Usage {
        processor: length(usage.ru_utime)? + length(usage.ru_stime)?,
        most_resident_bytes: most_resident_kibibytes * 1024,
    })
}

fn length(time: libc::timeval) -> Result<Duration> {
    let seconds = u64::try_from(time.tv_sec).context("negative processor time")?;
    let microseconds = u64::try_from(time.tv_usec).context("negative processor time")?;
    Ok(Duration::from_secs(seconds) + Duration::from_micros(microseconds))
}
