//! From messages about memory to facts with figures.

use gpuwhy_knowledge::{MemoryFigure, MemoryKind, MemoryText, Squeezed, memory_text, server_text};
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{MemoryOfProcess, OutOfCardMemory, Preallocation, ProgramFact, ServerMemory};
use gpuwhy_model::units::Bytes;

/// Returns what a message says of memory, if it does.
pub(super) fn memory(message: &Squeezed) -> Option<ProgramFact> {
    if let Some(text) = server_text(message) {
        return Some(ProgramFact::ServerMemory(ServerMemory {
            software: Some(text.software.clone()),
            free: text.free(message).map(Bytes),
            total: text.total(message).map(Bytes),
            wanted: text.wanted(message).map(Bytes),
            wanted_for: text.wanted_for,
        }));
    }
    let text = memory_text(message)?;
    match text.kind {
        MemoryKind::Card => Some(ProgramFact::OutOfCardMemory(card_memory(text, message))),
        MemoryKind::Host => Some(ProgramFact::OutOfHostMemory {
            requested: text.figure(MemoryFigure::Requested, message).map(Bytes),
        }),
        // A first grab that is refused shows that somebody holds the card, and that this one takes all of it.
        MemoryKind::Harmless if text.software == "tensorflow" => {
            Some(ProgramFact::Preallocation(Preallocation {
                framework: "TensorFlow".to_owned(),
                refused: text.figure(MemoryFigure::Requested, message).map(Bytes),
                ..Preallocation::default()
            }))
        }
        MemoryKind::Harmless => None,
    }
}

/// Returns whether a message is about memory and no error.
pub(super) fn is_harmless(message: &Squeezed) -> bool {
    memory_text(message)
        .is_some_and(|text| text.kind == MemoryKind::Harmless && text.software != "tensorflow")
}

fn card_memory(text: &MemoryText, message: &Squeezed) -> OutOfCardMemory {
    let bytes = |figure| text.figure(figure, message).map(Bytes);
    let sum = |one: Option<Bytes>, other: Option<Bytes>| match (one, other) {
        (Some(one), Some(other)) => Some(Bytes(one.0.saturating_add(other.0))),
        (one, _) => one,
    };
    let allocated = sum(bytes(MemoryFigure::Allocated), bytes(MemoryFigure::Private));
    let (unallocated, reserved) = (bytes(MemoryFigure::Unallocated), bytes(MemoryFigure::Reserved));
    let others = text.other_processes(message);
    OutOfCardMemory {
        software: (!text.software.is_empty()).then(|| text.software.clone()),
        card: text.figure(MemoryFigure::Card, message).and_then(|card| u32::try_from(card).ok()),
        requested: bytes(MemoryFigure::Requested),
        total: bytes(MemoryFigure::Total),
        free: bytes(MemoryFigure::Free),
        allocated,
        reserved: reserved.or_else(|| sum(allocated, unallocated).filter(|_| unallocated.is_some())),
        unallocated: unallocated.or_else(|| Some(Bytes(reserved?.0.saturating_sub(allocated?.0)))),
        allowed: bytes(MemoryFigure::Allowed),
        this_process: bytes(MemoryFigure::ThisProcess),
        others: others
            .into_iter()
            .map(|(pid, bytes)| MemoryOfProcess { pid: Pid(pid), bytes: Bytes(bytes) })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_knowledge::Squeezed;
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::scene::{MemoryOfProcess, ProgramFact};
    use gpuwhy_model::units::Bytes;

    use super::memory;

    #[test]
    fn what_follows_from_other_figures_is_worked_out() {
        let text = "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 2; 8.00 GiB total capacity; 4.00 GiB already \
            allocated; 1.00 GiB free; 6.00 GiB reserved in total by PyTorch)";
        let Some(ProgramFact::OutOfCardMemory(memory)) = memory(&Squeezed::of(text)) else {
            panic!("{text}")
        };
        let gib = |number: u64| Some(Bytes(number << 30));
        assert_eq!(memory.card, Some(2));
        assert_eq!([memory.allocated, memory.reserved, memory.unallocated], [gib(4), gib(6), gib(2)]);
    }

    #[test]
    fn pools_of_graphs_are_in_use() {
        let text = "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 0 \
            bytes is free. Process 9 has 2.00 GiB memory in use. Of the allocated memory 3.00 GiB is allocated by \
            PyTorch, with 1.00 GiB allocated in private pools (e.g., CUDA Graphs), and 2.00 GiB is reserved by PyTorch \
            but unallocated.";
        let Some(ProgramFact::OutOfCardMemory(memory)) = memory(&Squeezed::of(text)) else {
            panic!("{text}")
        };
        let gib = |number: u64| Some(Bytes(number << 30));
        assert_eq!([memory.allocated, memory.reserved, memory.free], [gib(4), gib(6), gib(0)]);
        assert_eq!(memory.others, [MemoryOfProcess { pid: Pid(9), bytes: Bytes(2 << 30) }]);
    }
}
