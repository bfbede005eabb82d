//! What the kernel says about the processor time of children that have ended.
#![expect(unsafe_code, reason = "getrusage has no safe form in the libraries that we use")]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// Returns the processor time, user and system, of every ended and awaited child of this process and of theirs.
///
/// # Errors
/// Fails when the kernel refuses.
pub(super) fn of_ended_children() -> Result<Duration> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writing one `rusage`, which is all that the call does with it.
    let result = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    ensure!(result == 0, "getrusage: {}", std::io::Error::last_os_error());
    // SAFETY: all zeros are a valid `rusage`, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    Ok(length(usage.ru_utime)? + length(usage.ru_stime)?)
}

fn length(time: libc::timeval) -> Result<Duration> {
    let seconds = u64::try_from(time.tv_sec).context("negative processor time")?;
    let microseconds = u64::try_from(time.tv_usec).context("negative processor time")?;
    Ok(Duration::from_secs(seconds) + Duration::from_micros(microseconds))
}
