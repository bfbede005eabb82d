//! What a client did lately, in tenths of a second.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::Instant;
use super::layout::index;

/// Length of one time bucket of a client.
pub const BUCKET_NS: u64 = 100_000_000;
/// Buckets kept per client: 128 seconds.
const BUCKETS: usize = 1280;

/// What a client did in one tenth of a second.
#[repr(C)]
#[derive(Debug)]
struct Bucket {
    /// Which tenth of a second since the machine started; a bucket with another number is stale.
    number: AtomicU32,
    busy_ns: AtomicU32,
    memory_ns: AtomicU32,
    communication_ns: AtomicU32,
}

/// The last buckets of a client.
#[repr(C)]
pub struct BucketRing {
    ring: [Bucket; BUCKETS],
}

impl BucketRing {
    /// Adds to the bucket of `at`.
    pub fn add(&self, at: Instant, busy_ns: f64, memory_ns: f64, communication_ns: f64) {
        let number = bucket_number(at);
        let bucket = &self.ring[index(u64::from(number), BUCKETS)];
        if bucket.number.load(Relaxed) != number {
            bucket.busy_ns.store(0, Relaxed);
            bucket.memory_ns.store(0, Relaxed);
            bucket.communication_ns.store(0, Relaxed);
            bucket.number.store(number, Relaxed);
        }
        for (field, value) in [
            (&bucket.busy_ns, busy_ns),
            (&bucket.memory_ns, memory_ns),
            (&bucket.communication_ns, communication_ns),
        ] {
            field.store(field.load(Relaxed).saturating_add(whole(value)), Relaxed);
        }
    }

    /// Forgets everything, for the next client of the slot.
    pub fn clear(&self) {
        for bucket in &self.ring {
            if bucket.number.load(Relaxed) != 0 {
                bucket.number.store(0, Relaxed);
            }
        }
    }

    /// Sums up the buckets that lie wholly between `after` and `until`; nothing when none of them has any
    /// work.
    pub fn sum(&self, after: Instant, until: Instant) -> Option<BucketSum> {
        let first = (after.div_ceil(BUCKET_NS)).max((until / BUCKET_NS).saturating_sub(BUCKETS as u64 - 1));
        let end = until / BUCKET_NS;
        let span_ns = end.saturating_sub(first) * BUCKET_NS;
        let mut sum = BucketSum { span_ns, busy_ns: 0, memory_ns: 0, communication_ns: 0, last_end: 0 };
        for number in first..end {
            let bucket = &self.ring[index(number, BUCKETS)];
            if u64::from(bucket.number.load(Relaxed)) != number || number == 0 {
                continue;
            }
            sum.busy_ns += u64::from(bucket.busy_ns.load(Relaxed));
            sum.memory_ns += u64::from(bucket.memory_ns.load(Relaxed));
            sum.communication_ns += u64::from(bucket.communication_ns.load(Relaxed));
            sum.last_end = (number + 1) * BUCKET_NS;
        }
        (sum.last_end > 0).then_some(sum)
    }
}

/// What a client did over several buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketSum {
    /// Length of all buckets that were looked at.
    pub span_ns: u64,
    /// Nanoseconds with a kernel.
    pub busy_ns: u64,
    /// Nanoseconds with memory traffic.
    pub memory_ns: u64,
    /// Nanoseconds with communication.
    pub communication_ns: u64,
    /// End of the last bucket with any work.
    pub last_end: Instant,
}

fn bucket_number(at: Instant) -> u32 {
    u32::try_from(at / BUCKET_NS).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range first")]
fn whole(value: f64) -> u32 {
    value.clamp(0.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_buckets_count_and_old_ones_are_forgotten() {
        let ring = BucketRing { ring: std::array::from_fn(|_| empty()) };
        let start = 5000 * BUCKET_NS;
        for bucket in 0..4 {
            ring.add(start + bucket * BUCKET_NS, 50e6, 10e6, 0.0);
        }
        let sum = ring.sum(start + 1, start + 4 * BUCKET_NS - 1).unwrap();
        assert_eq!((sum.span_ns, sum.busy_ns, sum.memory_ns), (2 * BUCKET_NS, 100_000_000, 20_000_000));
        assert_eq!(sum.last_end, start + 3 * BUCKET_NS);
        assert_eq!(ring.sum(start + 4 * BUCKET_NS, start + 9 * BUCKET_NS), None);
        ring.add(start + BUCKETS as u64 * BUCKET_NS, 1e6, 0.0, 0.0);
        let sum = ring.sum(start, start + (BUCKETS as u64 + 1) * BUCKET_NS).unwrap();
        assert_eq!(sum.busy_ns, 101_000_000);
        ring.clear();
        assert_eq!(ring.sum(0, u64::MAX / 2), None);
    }

    fn empty() -> Bucket {
        Bucket {
            number: AtomicU32::new(0),
            busy_ns: AtomicU32::new(0),
            memory_ns: AtomicU32::new(0),
            communication_ns: AtomicU32::new(0),
        }
    }
}
