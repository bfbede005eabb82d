//! Burning CPU time for real, and what a thread has used.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Burns `amount` of CPU time of this thread on `bytes` and returns what was burnt, in seconds.
pub(super) fn burn(bytes: &[u8], amount: Duration) -> f64 {
    let start = thread_cpu_seconds();
    let mut spent = 0.0;
    burn_until(bytes, || {
        spent = thread_cpu_seconds() - start;
        spent >= amount.as_secs_f64()
    });
    spent
}

/// Burns CPU time of this thread on `bytes` until `is_done` says so; it is asked many times a millisecond.
pub(super) fn burn_until(bytes: &[u8], mut is_done: impl FnMut() -> bool) {
    let mut digest: u64 = 0;
    loop {
        for block in bytes.chunks(64).take(2048) {
            for &byte in block {
                digest = digest.rotate_left(5) ^ u64::from(byte).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
        }
        std::hint::black_box(digest);
        if is_done() {
            return;
        }
    }
}

/// CPU time that this thread has used, in seconds.
pub(super) fn thread_cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
