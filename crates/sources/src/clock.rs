//! The one place of this crate that reads clocks.

use std::time::Duration;

use gpuwhy_model::sample::ReadTime;
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Returns the present moment on both clocks that a sample carries.
pub(crate) fn now() -> ReadTime {
    ReadTime { boot_ns: nanoseconds(ClockId::Boottime), wall: Timestamp::now() }
}

/// Returns a clock that only runs while the machine is awake, for waiting: a call does not hang while the machine
/// sleeps.
pub(crate) fn awake() -> Duration {
    Duration::from_nanos(nanoseconds(ClockId::Monotonic))
}

/// Returns the processor time that this thread has used.
pub(crate) fn thread_time() -> Duration {
    Duration::from_nanos(nanoseconds(ClockId::ThreadCPUTime))
}

/// Returns the processor time that this process has used.
pub(crate) fn process_time() -> Duration {
    Duration::from_nanos(nanoseconds(ClockId::ProcessCPUTime))
}

/// Returns the time that has passed since a moment of [`awake`].
pub(crate) fn since(moment: Duration) -> Duration {
    awake().saturating_sub(moment)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
