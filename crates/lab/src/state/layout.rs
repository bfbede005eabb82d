//! The fixed layout of the state file; zero is a valid value of every field.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::Instant;

/// Most cards of one box.
pub const MOST_CARDS: usize = 16;
/// Most clients (process and card pairs) of one box.
pub const MOST_CLIENTS: usize = 512;
/// Number of clock-event reasons that are counted (bit positions of NVML's mask).
pub const REASON_BITS: usize = 11;
/// Length of one time bucket of a client.
pub const BUCKET_NS: u64 = 100_000_000;
/// Buckets kept per client: 128 seconds.
const BUCKETS: usize = 1280;
/// Samples kept per card.
const SAMPLES: usize = 1280;

/// First word of every state file.
pub(super) const MAGIC: u64 = 0x6270_7567_7768_7931;
/// Changes with every change of this file.
pub(super) const VERSION: u32 = 1;

/// A number that is stored as its bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Real(AtomicU64);

impl Real {
    /// Reads the number.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    /// Writes the number.
    pub fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }
}

/// The whole file.
#[repr(C)]
pub struct Layout {
    /// What the file is and when the box came up.
    pub header: Header,
    /// One record per card.
    pub cards: [CardRecord; MOST_CARDS],
    /// One slot per client.
    pub slots: [ClientSlot; MOST_CLIENTS],
    /// What each client has done lately; apart from the slots, so that a search for clients touches few
    /// pages.
    pub buckets: [BucketRing; MOST_CLIENTS],
}

/// What the file is and when the box came up.
#[repr(C)]
pub struct Header {
    /// Written last when the file is made.
    pub(super) magic: AtomicU64,
    pub(super) version: AtomicU32,
    /// One more than the highest slot that was ever used.
    pub(super) slots_used: AtomicU32,
    pub(super) started: AtomicU64,
    pub(super) offset: AtomicU64,
    /// Inode of the pid namespace in which host pids are valid.
    pub(super) pid_namespace: AtomicU64,
}

/// What a card has done so far.
#[repr(C)]
pub struct CardRecord {
    /// The record is computed up to here.
    pub advanced_to: AtomicU64,
    /// When dead clients were looked for the last time.
    pub reaped_at: AtomicU64,
    /// Last instant at which a kernel ran.
    pub busy_at: AtomicU64,
    /// Degrees Celsius.
    pub temperature_c: Real,
    /// Mean of what the kernels would draw at full clock, in watts.
    pub demand_w: Real,
    /// Power of the last step, in watts.
    pub power_w: Real,
    /// SM clock over highest SM clock.
    pub clock_ratio: Real,
    /// Energy since the box came up, in joules.
    pub energy_j: Real,
    /// Bit mask of the clock-event reasons of the last step.
    pub reasons: AtomicU64,
    /// Nanoseconds that each reason was active.
    pub reason_ns: [AtomicU64; REASON_BITS],
    /// Nanoseconds below the base clock.
    pub below_base_ns: AtomicU64,
    /// Bytes from the host to the card.
    pub received_bytes: Real,
    /// Bytes from the card to the host.
    pub sent_bytes: Real,
    /// Nanoseconds with a kernel in the current sample period.
    pub sample_busy_ns: AtomicU64,
    /// Nanoseconds with memory traffic in the current sample period.
    pub sample_memory_ns: Real,
    /// Joules in the current power sample.
    pub sample_energy_j: Real,
    /// Utilization samples.
    pub engine: EngineSamples,
    /// Power and clock samples.
    pub power: PowerSamples,
}

/// Utilization of one sample period.
#[repr(C)]
#[derive(Debug)]
pub struct EngineSample {
    /// End of the period (monotonic).
    pub at: AtomicU64,
    /// Parts per million with a kernel.
    pub busy_ppm: AtomicU32,
    /// Parts per million with memory traffic.
    pub memory_ppm: AtomicU32,
}

/// Power and clocks of one sample.
#[repr(C)]
#[derive(Debug)]
pub struct PowerSample {
    /// End of the sample (monotonic).
    pub at: AtomicU64,
    /// Mean power in milliwatts.
    pub milliwatts: AtomicU32,
    /// SM clock in MHz.
    pub sm_mhz: AtomicU32,
    /// Memory clock in MHz.
    pub memory_mhz: AtomicU32,
    /// Clock-event reasons.
    pub reasons: AtomicU32,
}

/// The last utilization samples, oldest overwritten first.
#[repr(C)]
pub struct EngineSamples {
    written: AtomicU64,
    ring: [EngineSample; SAMPLES],
}

/// The last power samples, oldest overwritten first.
#[repr(C)]
pub struct PowerSamples {
    written: AtomicU64,
    ring: [PowerSample; SAMPLES],
}

impl EngineSamples {
    /// Adds a sample.
    pub fn push(&self, at: Instant, busy_ppm: u32, memory_ppm: u32) {
        let written = self.written.load(Relaxed);
        let sample = &self.ring[index(written, SAMPLES)];
        sample.at.store(at, Relaxed);
        sample.busy_ppm.store(busy_ppm, Relaxed);
        sample.memory_ppm.store(memory_ppm, Relaxed);
        self.written.store(written + 1, Relaxed);
    }

    /// The samples, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &EngineSample> {
        let written = self.written.load(Relaxed);
        (0..written.min(SAMPLES as u64)).map(move |back| &self.ring[index(written - 1 - back, SAMPLES)])
    }
}

impl PowerSamples {
    /// Adds a sample.
    pub fn push(&self, at: Instant, milliwatts: u32, sm_mhz: u32, memory_mhz: u32, reasons: u32) {
        let written = self.written.load(Relaxed);
        let sample = &self.ring[index(written, SAMPLES)];
        sample.at.store(at, Relaxed);
        sample.milliwatts.store(milliwatts, Relaxed);
        sample.sm_mhz.store(sm_mhz, Relaxed);
        sample.memory_mhz.store(memory_mhz, Relaxed);
        sample.reasons.store(reasons, Relaxed);
        self.written.store(written + 1, Relaxed);
    }

    /// The samples, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &PowerSample> {
        let written = self.written.load(Relaxed);
        (0..written.min(SAMPLES as u64)).map(move |back| &self.ring[index(written - 1 - back, SAMPLES)])
    }
}

/// One client: a process on a card.
#[repr(C)]
pub struct ClientSlot {
    /// See [`Occupancy`].
    pub occupancy: AtomicU32,
    /// The card that it uses.
    pub card: AtomicU32,
    /// Process id in the pid namespace of the box.
    pub host_pid: AtomicU32,
    /// Process id as the client itself sees it.
    pub own_pid: AtomicU32,
    /// Start time of the process in clock ticks since boot.
    pub start_ticks: AtomicU64,
    /// When the client attached.
    pub attached_at: AtomicU64,
    /// See [`UsageKind`].
    pub kind: AtomicU32,
    /// 1 while a kernel runs.
    pub running: AtomicU32,
    /// Memory held, context included.
    pub bytes: AtomicU64,
    /// Most memory that was ever held.
    pub most_bytes: AtomicU64,
    /// What is left of the running kernel, in nanoseconds at full clock and alone.
    pub remaining_ns: Real,
    /// Intensity of the running kernel's arithmetic.
    pub compute: Real,
    /// Intensity of the running kernel's memory traffic.
    pub memory: Real,
    /// Intensity of the running kernel's exchange with other cards.
    pub communication: Real,
    /// Share of the multiprocessors that the running kernel fills.
    pub sm_share: Real,
    /// When the last kernel ended.
    pub finished_at: AtomicU64,
    /// Bytes that are still to be copied to the card.
    pub receiving_bytes: Real,
    /// Bytes that are still to be copied to the host.
    pub sending_bytes: Real,
    /// Nanoseconds with a kernel since the client attached.
    pub busy_ns: Real,
    /// Nanoseconds with memory traffic since the client attached.
    pub memory_ns: Real,
}

/// Whether a slot is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Occupancy {
    /// Nobody.
    Free = 0,
    /// A client that is alive as far as we know.
    Live = 1,
    /// A dead client whose memory the board keeps.
    Residue = 2,
}

/// Which process list of NVML names a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum UsageKind {
    /// Compute.
    Compute = 0,
    /// Graphics.
    Graphics = 1,
}

impl ClientSlot {
    /// Whether the slot is taken, and by whom.
    pub fn occupancy(&self) -> Occupancy {
        match self.occupancy.load(Relaxed) {
            1 => Occupancy::Live,
            2 => Occupancy::Residue,
            _ => Occupancy::Free,
        }
    }

    /// Which process list names the client.
    pub fn kind(&self) -> UsageKind {
        if self.kind.load(Relaxed) == UsageKind::Graphics as u32 {
            UsageKind::Graphics
        } else {
            UsageKind::Compute
        }
    }

    /// Whether the slot is taken by somebody on `card`.
    pub fn is_on(&self, card: usize) -> bool {
        self.occupancy() != Occupancy::Free && self.card.load(Relaxed) as usize == card
    }
}

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

fn index(counter: u64, length: usize) -> usize {
    usize::try_from(counter % length as u64).unwrap_or(0)
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
