//! Frees what dead clients hold, as a driver does when a process is gone.

use std::sync::atomic::Ordering::Relaxed;

use super::advance::slots_on;
use crate::board::Card;
use crate::state::{ClientSlot, Instant, Occupancy, State, is_gone, pid_namespace};

/// Frees the slots of dead clients of `card`, or turns them into residue where the board says so. The caller
/// holds the card's lock.
///
/// Only a process in the pid namespace of the box can tell who is alive; others leave that to those that can.
pub(super) fn reap(state: &State, card: &Card, now: Instant) {
    if !pid_namespace().is_ok_and(|inode| inode == state.pid_namespace()) {
        return;
    }
    for slot in slots_on(state, card.index) {
        let is_dead = slot.occupancy() == Occupancy::Live
            && is_gone(slot.host_pid.load(Relaxed), slot.start_ticks.load(Relaxed));
        if !is_dead {
            continue;
        }
        if card.setting.keeps_memory_after_death {
            stop_work(slot);
            slot.occupancy.store(Occupancy::Residue as u32, Relaxed);
        } else {
            release(state, slot, now);
        }
    }
}

/// Empties a slot, and remembers who had it; its occupancy is changed last.
pub(crate) fn release(state: &State, slot: &ClientSlot, now: Instant) {
    state.layout().ended.push(slot, now);
    stop_work(slot);
    slot.bytes.store(0, Relaxed);
    slot.occupancy.store(Occupancy::Free as u32, Relaxed);
}

fn stop_work(slot: &ClientSlot) {
    slot.running.store(0, Relaxed);
    slot.remaining_ns.set(0.0);
    slot.receiving_bytes.set(0.0);
    slot.sending_bytes.set(0.0);
}
