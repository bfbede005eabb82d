//! A process that uses a card: it holds memory, runs kernels and copies. The workloads are built on this.

use std::fs::File;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::board::{BoxDirectory, Card};
use crate::cards::{Machine, MachineError, release};
use crate::state::{ClientSlot, Occupancy, ProcessIdentity, UsageKind};

/// A client looks at its kernel at least this often: others may have left the card meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// Why a client could not have what it asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The box is not usable.
    #[error("cannot use the box")]
    Machine(#[from] MachineError),
    /// There is no such card, it is lost, or its driver is not loaded.
    #[error("card {card} does not answer")]
    NoCard {
        /// The card that was asked for.
        card: usize,
    },
    /// The card's compute mode keeps this process out.
    #[error("card {card} is busy or unavailable")]
    Unavailable {
        /// The card that was asked for.
        card: usize,
    },
    /// The card has too little free memory.
    #[error("out of memory: asked for {asked} bytes, {free} are free")]
    OutOfMemory {
        /// Bytes that were asked for.
        asked: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The table of clients is full.
    #[error("the box has no room for another client")]
    NoSlot,
    /// The process cannot tell who it is.
    #[error("cannot read who this process is")]
    Identity(#[source] std::io::Error),
}

/// One piece of work for a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// Time that it takes alone on the card at the highest clock.
    pub duration: Duration,
    /// Intensity of its arithmetic, 0 to 1.
    pub compute: f64,
    /// Intensity of its memory traffic, 0 to 1.
    pub memory: f64,
    /// Intensity of its exchange with other cards, 0 to 1.
    pub communication: f64,
    /// Share of the multiprocessors that it fills, 0 to 1.
    pub sm_share: f64,
}

impl Kernel {
    /// A kernel of nothing but arithmetic on the whole card.
    pub fn of_arithmetic(duration: Duration) -> Self {
        Self { duration, compute: 1.0, memory: 0.25, communication: 0.0, sm_share: 1.0 }
    }

    /// A kernel that waits for memory.
    pub fn of_memory_traffic(duration: Duration) -> Self {
        Self { duration, compute: 0.2, memory: 1.0, communication: 0.0, sm_share: 1.0 }
    }

    /// A kernel that exchanges data with other cards, or waits for them.
    pub fn of_communication(duration: Duration) -> Self {
        Self { duration, compute: 0.0, memory: 0.1, communication: 1.0, sm_share: 0.15 }
    }
}

/// A process on a card. Dropping it frees everything that it holds, as the end of the process does.
///
/// A forked child shares nothing of it: in the child every call does nothing, and dropping it frees nothing.
pub struct Client {
    machine: Machine,
    card: usize,
    slot: usize,
    /// The process that attached.
    owner: u32,
    /// Device files of the box, open for as long as the client lives, as a CUDA context has them.
    _devices: Vec<File>,
    /// A card runs one kernel of a client at a time.
    running: Mutex<()>,
}

impl Client {
    /// Makes the calling process a compute client of `card`: takes a slot and the memory of one context, and
    /// opens the device files `/dev/nvidiactl`, `/dev/nvidia-uvm` and `/dev/nvidiaN` as far as they exist.
    ///
    /// # Errors
    /// Fails when the box is not up, the card is lost or closed to this process, or has no room for a
    /// context.
    pub fn attach(directory: &BoxDirectory, card: usize) -> Result<Self, ClientError> {
        Self::attach_as(directory, card, UsageKind::Compute)
    }

    /// Like [`Client::attach`], for a client of the given kind.
    ///
    /// # Errors
    /// Fails as [`Client::attach`] does.
    pub fn attach_as(directory: &BoxDirectory, card: usize, kind: UsageKind) -> Result<Self, ClientError> {
        let machine = Machine::open(directory)?;
        let identity = ProcessIdentity::of_this_process().map_err(ClientError::Identity)?;
        let Some(wanted) = machine.card(card) else { return Err(ClientError::NoCard { card }) };
        if !machine.board().driver.loaded || wanted.setting.missing || machine.is_lost(wanted) {
            return Err(ClientError::NoCard { card });
        }
        let slot = take_slot(&machine, wanted, identity, kind)?;
        Ok(Self {
            card,
            slot,
            owner: identity.own_pid,
            _devices: open_devices(card),
            running: Mutex::new(()),
            machine,
        })
    }

    /// The card's position on the board.
    pub fn card(&self) -> usize {
        self.card
    }

    /// Takes `bytes` more memory of the card.
    ///
    /// # Errors
    /// Fails with [`ClientError::OutOfMemory`] when the card has less than that free, and with
    /// [`ClientError::NoCard`] when it is lost.
    pub fn allocate(&self, bytes: u64) -> Result<(), ClientError> {
        let Some((card, slot)) = self.own() else { return Err(ClientError::NoCard { card: self.card }) };
        if self.machine.is_lost(card) {
            return Err(ClientError::NoCard { card: self.card });
        }
        self.machine.work(card, |_, _| {
            take_memory(&self.machine, card, bytes)?;
            let held = slot.bytes.fetch_add(bytes, Relaxed) + bytes;
            slot.most_bytes.fetch_max(held, Relaxed);
            Ok(())
        })
    }

    /// Gives back `bytes`, or all that was allocated if that is less; the context's own memory stays.
    pub fn free(&self, bytes: u64) {
        let Some((card, slot)) = self.own() else { return };
        self.machine.work(card, |_, _| {
            let allocated = slot.bytes.load(Relaxed).saturating_sub(card.context_bytes);
            slot.bytes.fetch_sub(bytes.min(allocated), Relaxed);
        });
    }

    /// Bytes that the client holds, its context included.
    pub fn held(&self) -> u64 {
        self.own().map_or(0, |(_, slot)| slot.bytes.load(Relaxed))
    }

    /// Bytes of the card that are free at this moment.
    pub fn free_on_card(&self) -> u64 {
        self.own().map_or(0, |(card, _)| self.machine.look(card).free_bytes)
    }

    /// Whether the card fell off the bus: kernels and copies then end early, and a real program would fail.
    pub fn is_lost(&self) -> bool {
        self.own().is_none_or(|(card, _)| self.machine.is_lost(card))
    }

    /// Runs `kernel` and returns how long it really took: longer at lower clocks, and when others compute on
    /// the card too.
    pub fn run_kernel(&self, kernel: &Kernel) -> Duration {
        let started = Instant::now();
        let _one_at_a_time = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((card, slot)) = self.own() else { return started.elapsed() };
        self.machine.work(card, |_, _| {
            slot.compute.set(kernel.compute);
            slot.memory.set(kernel.memory);
            slot.communication.set(kernel.communication);
            slot.sm_share.set(kernel.sm_share);
            slot.remaining_ns.set(kernel.duration.as_secs_f64() * 1e9);
            slot.running.store(1, Relaxed);
        });
        self.wait(card, slot);
        started.elapsed()
    }

    /// Copies `bytes` to the card or back over its link to the host and returns how long it took.
    pub fn copy(&self, bytes: u64, to_device: bool) -> Duration {
        let started = Instant::now();
        let _one_at_a_time = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((card, slot)) = self.own() else { return started.elapsed() };
        let direction = if to_device { &slot.receiving_bytes } else { &slot.sending_bytes };
        self.machine.work(card, |_, _| direction.set(bytes as f64));
        self.wait(card, slot);
        started.elapsed()
    }

    /// Sleeps until the client has no kernel and no copy left.
    fn wait(&self, card: &Card, slot: &ClientSlot) {
        loop {
            let left = self.machine.work(card, |_, _| {
                let is_done = slot.running.load(Relaxed) == 0
                    && slot.receiving_bytes.get() <= 0.0
                    && slot.sending_bytes.get() <= 0.0;
                (!is_done).then(|| self.machine.time_left(card, slot))
            });
            let Some(left) = left else { return };
            std::thread::sleep(left.min(LONGEST_SLEEP));
            if self.machine.is_lost(card) {
                return;
            }
        }
    }

    /// The card and the slot, unless this is a forked child of the client.
    fn own(&self) -> Option<(&Card, &ClientSlot)> {
        if std::process::id() != self.owner {
            return None;
        }
        Some((self.machine.card(self.card)?, self.machine.state().layout().slots.get(self.slot)?))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some((card, slot)) = self.own() {
            self.machine.work(card, |_, _| release(slot));
        }
    }
}

fn take_slot(
    machine: &Machine,
    card: &Card,
    identity: ProcessIdentity,
    kind: UsageKind,
) -> Result<usize, ClientError> {
    let state = machine.state();
    let _slots = state.lock_slots();
    machine.work(card, |_, now| {
        machine.reap_now(card);
        refuse_by_compute_mode(machine, card, identity)?;
        take_memory(machine, card, card.context_bytes)?;
        let layout = state.layout();
        let free = layout.slots.iter().position(|slot| slot.occupancy() == Occupancy::Free);
        let index = free.ok_or(ClientError::NoSlot)?;
        let slot = &layout.slots[index];
        layout.buckets[index].clear();
        slot.card.store(u32::try_from(card.index).unwrap_or(u32::MAX), Relaxed);
        slot.host_pid.store(identity.host_pid, Relaxed);
        slot.own_pid.store(identity.own_pid, Relaxed);
        slot.start_ticks.store(identity.start_ticks, Relaxed);
        slot.attached_at.store(now, Relaxed);
        slot.kind.store(kind as u32, Relaxed);
        slot.running.store(0, Relaxed);
        slot.bytes.store(card.context_bytes, Relaxed);
        slot.most_bytes.store(card.context_bytes, Relaxed);
        slot.remaining_ns.set(0.0);
        slot.receiving_bytes.set(0.0);
        slot.sending_bytes.set(0.0);
        slot.finished_at.store(0, Relaxed);
        slot.busy_ns.set(0.0);
        slot.memory_ns.set(0.0);
        state.note_slot(index);
        slot.occupancy.store(Occupancy::Live as u32, Relaxed);
        Ok(index)
    })
}

/// NVML's compute modes: 2 lets nobody in, 3 one process.
fn refuse_by_compute_mode(
    machine: &Machine,
    card: &Card,
    identity: ProcessIdentity,
) -> Result<(), ClientError> {
    let is_open = match card.setting.compute_mode {
        2 => false,
        3 => machine.clients_as_known(card).iter().all(|client| client.host_pid == identity.host_pid),
        _ => true,
    };
    if is_open { Ok(()) } else { Err(ClientError::Unavailable { card: card.index }) }
}

/// Makes sure that `bytes` are free; looks for dead holders before it gives up. The caller holds the card's
/// lock.
fn take_memory(machine: &Machine, card: &Card, bytes: u64) -> Result<(), ClientError> {
    if machine.as_known(card).free_bytes < bytes {
        machine.reap_now(card);
    }
    let free = machine.as_known(card).free_bytes;
    if free < bytes {
        return Err(ClientError::OutOfMemory { asked: bytes, free });
    }
    Ok(())
}

/// Opens the device files that a CUDA context has open, as far as the box has them.
fn open_devices(card: usize) -> Vec<File> {
    ["/dev/nvidiactl".to_owned(), "/dev/nvidia-uvm".to_owned(), format!("/dev/nvidia{card}")]
        .iter()
        .filter_map(|path| File::options().read(true).write(true).open(path).ok())
        .collect()
}
