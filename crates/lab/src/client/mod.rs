//! A process that uses a card: it holds memory, runs kernels and copies. The workloads are built on this.

mod kernel;

use std::borrow::Cow;
use std::fs::File;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::board::{BoxDirectory, Card};
use crate::cards::{Machine, MachineError, release};
use crate::state::{ClientSlot, Occupancy, ProcessIdentity, UsageKind};

pub use kernel::{Kernel, Transfers};

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
    /// CUDA does not start: the cards hang on switches, and nobody has set the fabric up.
    #[error("system not yet initialized")]
    SystemNotReady,
    /// The card is cut into instances, and has no such instance.
    #[error("card {card} has no instance {instance}")]
    NoInstance {
        /// The card that was asked for.
        card: usize,
        /// The instance that was asked for.
        instance: usize,
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
        Self::attach_to(directory, card, 0, kind)
    }

    /// Makes the calling process a compute client of one MIG instance of `card`, by its place among the
    /// instances. A client that asks for no instance gets the first one of a card that is cut.
    ///
    /// # Errors
    /// Fails as [`Client::attach`] does, and when the card has no such instance.
    pub fn attach_to_instance(
        directory: &BoxDirectory,
        card: usize,
        instance: usize,
    ) -> Result<Self, ClientError> {
        Self::attach_to(directory, card, instance, UsageKind::Compute)
    }

    fn attach_to(
        directory: &BoxDirectory,
        card: usize,
        instance: usize,
        kind: UsageKind,
    ) -> Result<Self, ClientError> {
        let machine = Machine::open(directory)?;
        let identity = ProcessIdentity::of_this_process().map_err(ClientError::Identity)?;
        let Some(wanted) = machine.card(card) else { return Err(ClientError::NoCard { card }) };
        if !machine.board().driver.loaded || wanted.setting.missing || machine.is_lost(&wanted) {
            return Err(ClientError::NoCard { card });
        }
        if !machine.board().is_fabric_ready() {
            return Err(ClientError::SystemNotReady);
        }
        if wanted.setting.mig.enabled && instance >= wanted.instances.len() {
            return Err(ClientError::NoInstance { card, instance });
        }
        let instance = wanted.setting.mig.enabled.then_some(instance);
        let slot = take_slot(&machine, &wanted, identity, kind, instance)?;
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
        if self.machine.is_lost(&card) {
            return Err(ClientError::NoCard { card: self.card });
        }
        self.machine.work(&card, |_, _| {
            take_memory(&self.machine, &card, instance_of(slot), bytes)?;
            let held = slot.bytes.fetch_add(bytes, Relaxed) + bytes;
            slot.most_bytes.fetch_max(held, Relaxed);
            Ok(())
        })
    }

    /// Gives back `bytes`, or all that was allocated if that is less; the context's own memory stays.
    pub fn free(&self, bytes: u64) {
        let Some((card, slot)) = self.own() else { return };
        self.machine.work(&card, |_, _| {
            let allocated = slot.bytes.load(Relaxed).saturating_sub(card.context_bytes);
            slot.bytes.fetch_sub(bytes.min(allocated), Relaxed);
        });
    }

    /// Bytes that the client holds, its context included.
    pub fn held(&self) -> u64 {
        self.own().map_or(0, |(_, slot)| slot.bytes.load(Relaxed))
    }

    /// Bytes that are free at this moment, on the card or on the client's instance of it.
    pub fn free_on_card(&self) -> u64 {
        self.own().map_or(0, |(card, slot)| {
            self.machine.work(&card, |_, _| free_bytes(&self.machine, &card, instance_of(slot)))
        })
    }

    /// Whether the card fell off the bus: kernels and copies then end early, and a real program would fail.
    pub fn is_lost(&self) -> bool {
        self.own().is_none_or(|(card, _)| self.machine.is_lost(&card))
    }

    /// Runs `kernel` and returns how long it really took: longer at lower clocks, and when others compute on
    /// the card too.
    pub fn run_kernel(&self, kernel: &Kernel) -> Duration {
        self.run(kernel, &Transfers::default())
    }

    /// Runs `kernel` while data move: bytes to and from the host beside it, and bytes that it exchanges with
    /// other cards. Returns when all of it is done; an exchange that the links cannot carry in the kernel's
    /// time makes the kernel longer.
    pub fn run(&self, kernel: &Kernel, transfers: &Transfers) -> Duration {
        let started = Instant::now();
        let _one_at_a_time = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((card, slot)) = self.own() else { return started.elapsed() };
        let exchange_ns =
            transfers.exchanged_bytes as f64 / self.machine.board().exchange_bytes_per_s(&card) * 1e9;
        let length_ns = (kernel.duration.as_secs_f64() * 1e9).max(exchange_ns);
        self.machine.work(&card, |_, _| {
            slot.compute.set(kernel.compute);
            slot.memory.set(kernel.memory);
            slot.communication.set(kernel.communication);
            slot.sm_share.set(kernel.sm_share);
            slot.exchange_bytes_per_ns.set(transfers.exchanged_bytes as f64 / length_ns.max(1.0));
            slot.receiving_bytes.set(transfers.to_card_bytes as f64);
            slot.sending_bytes.set(transfers.to_host_bytes as f64);
            slot.remaining_ns.set(length_ns);
            slot.running.store(1, Relaxed);
        });
        self.wait(&card, slot);
        started.elapsed()
    }

    /// Copies `bytes` to the card or back over its link to the host and returns how long it took.
    pub fn copy(&self, bytes: u64, to_device: bool) -> Duration {
        let started = Instant::now();
        let _one_at_a_time = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((card, slot)) = self.own() else { return started.elapsed() };
        let direction = if to_device { &slot.receiving_bytes } else { &slot.sending_bytes };
        self.machine.work(&card, |_, _| direction.set(bytes as f64));
        self.wait(&card, slot);
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
    fn own(&self) -> Option<(Cow<'_, Card>, &ClientSlot)> {
        if std::process::id() != self.owner {
            return None;
        }
        Some((self.machine.card(self.card)?, self.machine.state().layout().slots.get(self.slot)?))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some((card, slot)) = self.own() {
            self.machine.work(&card, |state, now| release(state, slot, now));
        }
    }
}

fn take_slot(
    machine: &Machine,
    card: &Card,
    identity: ProcessIdentity,
    kind: UsageKind,
    instance: Option<usize>,
) -> Result<usize, ClientError> {
    let state = machine.state();
    let _slots = state.lock_slots();
    machine.work(card, |_, now| {
        machine.reap_now(card);
        refuse_by_compute_mode(machine, card, identity)?;
        take_memory(machine, card, instance, card.context_bytes)?;
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
        let place = instance.map_or(0, |position| position + 1);
        slot.instance.store(u32::try_from(place).unwrap_or(u32::MAX), Relaxed);
        slot.running.store(0, Relaxed);
        slot.bytes.store(card.context_bytes, Relaxed);
        slot.most_bytes.store(card.context_bytes, Relaxed);
        slot.remaining_ns.set(0.0);
        slot.exchange_bytes_per_ns.set(0.0);
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

/// Makes sure that `bytes` are free on the card or the instance; looks for dead holders before it gives up.
/// The caller holds the card's lock.
fn take_memory(
    machine: &Machine,
    card: &Card,
    instance: Option<usize>,
    bytes: u64,
) -> Result<(), ClientError> {
    if free_bytes(machine, card, instance) < bytes {
        machine.reap_now(card);
    }
    let free = free_bytes(machine, card, instance);
    if free < bytes {
        return Err(ClientError::OutOfMemory { asked: bytes, free });
    }
    Ok(())
}

/// Bytes that are free on the card or the instance; the caller holds the card's lock.
fn free_bytes(machine: &Machine, card: &Card, instance: Option<usize>) -> u64 {
    let Some(cut) = instance.and_then(|position| card.instances.get(position)) else {
        return machine.as_known(card).free_bytes;
    };
    let clients = machine.clients_as_known(card);
    let held: u64 =
        clients.iter().filter(|client| client.instance == instance).map(|client| client.bytes).sum();
    cut.memory_bytes.saturating_sub(held)
}

/// The MIG instance of a slot, by its place on the card.
fn instance_of(slot: &ClientSlot) -> Option<usize> {
    (slot.instance.load(Relaxed) as usize).checked_sub(1)
}

/// Opens the device files that a program has open once CUDA has started in it, with or without a context, as far as
/// the box has them.
pub(crate) fn open_devices(card: usize) -> Vec<File> {
    ["/dev/nvidiactl".to_owned(), "/dev/nvidia-uvm".to_owned(), format!("/dev/nvidia{card}")]
        .iter()
        .filter_map(|path| File::options().read(true).write(true).open(path).ok())
        .collect()
}
