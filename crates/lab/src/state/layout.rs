//! The fixed layout of the state file; zero is a valid value of every field.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::Instant;
use super::buckets::BucketRing;
use super::ended::EndedClients;

/// Most cards of one box.
pub const MOST_CARDS: usize = 16;
/// Most clients (process and card pairs) of one box.
pub const MOST_CLIENTS: usize = 512;
/// Most MIG instances of one card.
pub const MOST_INSTANCES: usize = 7;
/// Number of clock-event reasons that are counted (bit positions of NVML's mask).
pub const REASON_BITS: usize = 11;
/// Samples kept per card.
const SAMPLES: usize = 1280;

/// First word of every state file.
pub(super) const MAGIC: u64 = 0x6270_7567_7768_7931;
/// Changes with every change of this file.
pub(super) const VERSION: u32 = 2;

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
    /// Clients that have gone, for accounting.
    pub ended: EndedClients,
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
    /// Persistence mode that somebody set: 0 nobody, 1 off, 2 on.
    pub set_persistence: AtomicU32,
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
    /// Bytes to other cards, and as many from them.
    pub exchanged_bytes: Real,
    /// What the engines did: of the whole card, then of each MIG instance.
    pub work: [EngineWork; MOST_INSTANCES + 1],
    /// When the card was reset the last time; 0 for never.
    pub reset_at: AtomicU64,
    /// Power limit that somebody set while the box was up, in milliwatts; 0 for nobody.
    pub set_power_limit_mw: AtomicU64,
    /// Highest SM clock that somebody set while the box was up, in MHz; 0 for nobody.
    pub set_clock_limit_mhz: AtomicU32,
    /// Compute mode that somebody set while the box was up, plus one; 0 for nobody.
    pub set_compute_mode: AtomicU32,
    /// Utilization samples.
    pub engine: EngineSamples,
    /// Power and clock samples.
    pub power: PowerSamples,
}

/// What the engines of a card or of an instance did since the box came up: nanoseconds times the share that
/// was in use.
#[repr(C)]
#[derive(Debug, Default)]
pub struct EngineWork {
    /// A kernel ran.
    pub graphics: Real,
    /// Multiprocessors that had something to do.
    pub multiprocessors: Real,
    /// Places for threads that were taken.
    pub occupancy: Real,
    /// Matrix units.
    pub tensor: Real,
    /// Memory bandwidth.
    pub memory: Real,
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
    /// The MIG instance that it uses, counted from 1; 0 for the whole card.
    pub instance: AtomicU32,
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
    /// Bytes that the running kernel exchanges with other cards, per nanosecond of what is left of it.
    pub exchange_bytes_per_ns: Real,
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

/// Place of a counter in a ring.
pub(super) fn index(counter: u64, length: usize) -> usize {
    usize::try_from(counter % length as u64).unwrap_or(0)
}
