//! Clients that have gone, for accounting.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::Instant;
use super::layout::{ClientSlot, Real, index};

/// Clients that are remembered.
const ENDED: usize = 128;

/// A client that has gone.
#[repr(C)]
#[derive(Debug)]
pub struct EndedClient {
    /// The card that it used.
    pub card: AtomicU32,
    /// Process id in the pid namespace of the box.
    pub host_pid: AtomicU32,
    /// When it attached.
    pub attached_at: AtomicU64,
    /// When it had gone.
    pub ended_at: AtomicU64,
    /// Most memory that it ever held.
    pub most_bytes: AtomicU64,
    /// Nanoseconds with a kernel.
    pub busy_ns: Real,
    /// Nanoseconds with memory traffic.
    pub memory_ns: Real,
}

/// The last clients that have gone, oldest overwritten first.
#[repr(C)]
pub struct EndedClients {
    written: AtomicU64,
    ring: [EndedClient; ENDED],
}

impl EndedClients {
    /// Remembers a client that goes now.
    pub fn push(&self, slot: &ClientSlot, now: Instant) {
        let entry = &self.ring[index(self.written.fetch_add(1, Relaxed), ENDED)];
        entry.card.store(slot.card.load(Relaxed), Relaxed);
        entry.host_pid.store(slot.host_pid.load(Relaxed), Relaxed);
        entry.attached_at.store(slot.attached_at.load(Relaxed), Relaxed);
        entry.most_bytes.store(slot.most_bytes.load(Relaxed), Relaxed);
        entry.busy_ns.set(slot.busy_ns.get());
        entry.memory_ns.set(slot.memory_ns.get());
        entry.ended_at.store(now, Relaxed);
    }

    /// The clients, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &EndedClient> {
        let written = self.written.load(Relaxed);
        (0..written.min(ENDED as u64)).map(move |back| &self.ring[index(written - 1 - back, ENDED)])
    }
}
