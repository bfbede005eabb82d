//! The arithmetic of a message that a card's memory did not suffice: who has it, and whether it is one piece.

use gpuwhy_model::scene::{MemoryOfProcess, OutOfCardMemory};
use gpuwhy_model::units::Bytes;

/// Why memory did not suffice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shortage {
    /// More was asked for than the card has.
    LargerThanCard,
    /// The process hit a limit that it set itself.
    OwnLimit,
    /// The driver had enough and refused all the same.
    Refused,
    /// The allocator has enough that nothing uses, not in one piece.
    Fragmented {
        /// What nothing uses.
        unused: Bytes,
    },
    /// Other processes have what is lacking.
    Others(Vec<MemoryOfProcess>),
    /// Somebody outside of this process's allocator has it; the text does not say who.
    Somebody {
        /// How much.
        bytes: Bytes,
    },
    /// This process needs what there is.
    Full,
    /// The message has no figures that tell.
    NotSaid,
}

/// So much of a card can be free and not to be had.
const LAST_BYTES: u64 = 256 << 20;
/// A context and its libraries take no more beside what the allocator has.
const CONTEXT_MAX: u64 = 3 << 29;
/// Less outside of the allocator is a context.
const SOMEBODY_MIN: u64 = 1 << 30;
/// Or this share of the card.
const SOMEBODY_SHARE: f64 = 0.3;
/// Unused memory below both of these is what every allocator keeps.
const UNUSED_MIN: u64 = 1 << 30;
const UNUSED_SHARE: f64 = 0.05;
/// A process that has so much of a card fills it.
const FULL_SHARE: f64 = 0.9;

/// Returns why memory did not suffice.
pub(crate) fn shortage(memory: &OutOfCardMemory) -> Shortage {
    let (requested, total, free) = (memory.requested, memory.total, memory.free);
    if let (Some(requested), Some(total)) = (requested, total)
        && requested > total
    {
        return Shortage::LargerThanCard;
    }
    if let (Some(requested), Some(free)) = (requested, free)
        && free >= requested
    {
        if memory.allowed.is_some() {
            return Shortage::OwnLimit;
        }
        // The last of a card cannot be had: it is in pieces of the driver's own.
        if free.0 - requested.0 > LAST_BYTES {
            return Shortage::Refused;
        }
    }
    if let Some(unused) = fragmented(memory) {
        return Shortage::Fragmented { unused };
    }
    let others = others(memory);
    let of_others: u64 = others.iter().map(|other| other.bytes.0).sum();
    let lacking = requested.map_or(1, |requested| requested.0.saturating_sub(free.map_or(0, |free| free.0)));
    if !others.is_empty() && of_others >= lacking {
        return Shortage::Others(others);
    }
    if let Some(bytes) = of_somebody(memory) {
        return Shortage::Somebody { bytes };
    }
    let own = memory.allocated.or(memory.this_process).or(memory.reserved);
    match (own, total, requested) {
        (Some(own), Some(total), _) if own.0 as f64 >= total.0 as f64 * FULL_SHARE => Shortage::Full,
        (_, Some(_), Some(requested)) if free.is_some() => {
            let unused = memory.unallocated.map_or(0, |unused| unused.0);
            let left = free.map_or(0, |free| free.0).saturating_add(unused);
            if left < requested.0.saturating_add(LAST_BYTES) { Shortage::Full } else { Shortage::NotSaid }
        }
        (Some(_), Some(_), None) => Shortage::Full,
        _ => Shortage::NotSaid,
    }
}

/// Returns what the allocator has and nothing uses, where that would do.
fn fragmented(memory: &OutOfCardMemory) -> Option<Bytes> {
    let (requested, unused) = (memory.requested?.0, memory.unallocated?.0);
    let would_do = unused.saturating_add(memory.free.map_or(0, |free| free.0)) >= requested;
    let share = memory.total.map_or(0.0, |total| total.0 as f64 * UNUSED_SHARE);
    let is_much = unused >= requested || unused >= UNUSED_MIN && unused as f64 >= share;
    // Below what any allocator rounds up by, nothing is in pieces.
    (would_do && is_much && unused > 0 && memory.free? < memory.requested?).then_some(Bytes(unused))
}

/// Returns the other processes that the message names; inside a container it names its own too.
pub(crate) fn others(memory: &OutOfCardMemory) -> Vec<MemoryOfProcess> {
    let own = memory.reserved.or(memory.allocated);
    let seems_own = |other: &&MemoryOfProcess| {
        own.is_some_and(|own| other.bytes >= own && other.bytes.0 - own.0 <= CONTEXT_MAX)
    };
    let candidates: Vec<&MemoryOfProcess> = memory.others.iter().filter(seems_own).collect();
    let own_pid = match candidates.as_slice() {
        [only] if memory.this_process.is_none() => Some(only.pid),
        _ => None,
    };
    memory.others.iter().filter(|other| Some(other.pid) != own_pid).copied().collect()
}

/// Returns what somebody outside of this process's allocator holds, where no process is named and it is much.
fn of_somebody(memory: &OutOfCardMemory) -> Option<Bytes> {
    if memory.this_process.is_some() || !memory.others.is_empty() {
        return None;
    }
    let (total, free) = (memory.total?.0, memory.free?.0);
    let own = memory.reserved.or(memory.allocated)?.0;
    let outside = total.saturating_sub(free).saturating_sub(own);
    let least = (total as f64 * SOMEBODY_SHARE).min(SOMEBODY_MIN as f64 * 1.5);
    (outside > SOMEBODY_MIN && outside as f64 > least).then_some(Bytes(outside))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::scene::{MemoryOfProcess, OutOfCardMemory};
    use gpuwhy_model::units::Bytes;

    use super::{Shortage, others, shortage};

    fn mebibytes(number: u64) -> Bytes {
        Bytes::from_mebibytes(number)
    }

    fn message(requested: u64, total: u64, free: u64, allocated: u64, unused: u64) -> OutOfCardMemory {
        OutOfCardMemory {
            requested: Some(mebibytes(requested)),
            total: Some(mebibytes(total)),
            free: Some(mebibytes(free)),
            allocated: Some(mebibytes(allocated)),
            unallocated: Some(mebibytes(unused)),
            reserved: Some(mebibytes(allocated + unused)),
            ..OutOfCardMemory::default()
        }
    }

    fn other(pid: u32, number: u64) -> MemoryOfProcess {
        MemoryOfProcess { pid: Pid(pid), bytes: Bytes::from_mebibytes(number) }
    }

    #[test]
    fn arithmetic_tells_who_has_the_memory() {
        for (what, memory, expected) in [
            ("larger than the card", message(20_000, 16_000, 9, 100, 0), Shortage::LargerThanCard),
            ("fits and was refused", message(100, 16_000, 900, 9_000, 0), Shortage::Refused),
            (
                "in pieces",
                message(2_000, 24_000, 500, 17_000, 6_000),
                Shortage::Fragmented { unused: Bytes::from_mebibytes(6_000) },
            ),
            ("the hint is always printed", message(2_000, 24_000, 100, 23_000, 300), Shortage::Full),
            (
                "17 MiB unused are not in pieces, 7.8 GiB are somebody's",
                message(216, 8_110, 24, 69, 17),
                Shortage::Somebody { bytes: Bytes::from_mebibytes(8_000) },
            ),
            ("bare", OutOfCardMemory::default(), Shortage::NotSaid),
        ] {
            assert_eq!(shortage(&memory), expected, "{what}");
        }
        let limited =
            OutOfCardMemory { allowed: Some(mebibytes(8_000)), ..message(2_000, 24_000, 9_000, 7_000, 0) };
        assert_eq!(shortage(&limited), Shortage::OwnLimit);
    }

    #[test]
    fn inside_a_container_the_own_process_is_no_neighbour() {
        let mut memory = message(1_751, 22_835, 1_556, 20_019, 244);
        memory.others = vec![other(7, 248), other(9, 20_766), other(8, 248)];
        assert_eq!(others(&memory), [other(7, 248), other(8, 248)]);
        let mut neighbour = message(1_187, 32_112, 471, 15_000, 300);
        neighbour.this_process = Some(mebibytes(17_029));
        neighbour.others = vec![other(7, 14_602)];
        assert_eq!(shortage(&neighbour), Shortage::Others(vec![other(7, 14_602)]));
    }
}
