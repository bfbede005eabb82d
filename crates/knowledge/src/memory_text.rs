//! How programs say that memory did not suffice.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gpuwhy_model::scene::Wanted;
use serde::Deserialize;

use crate::phrase::{Phrase, Squeezed, size_in_bytes};

/// Whose memory a message speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// A card's.
    Card,
    /// The machine's.
    Host,
    /// A card's, but the program goes on with less.
    Harmless,
}

/// What a figure of such a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryFigure {
    /// The card's number.
    Card,
    /// What was asked for.
    Requested,
    /// All of it.
    Total,
    /// What was left.
    Free,
    /// What tensors hold.
    Allocated,
    /// What of it the pools of graphs hold.
    Private,
    /// What the allocator has taken and nothing uses.
    Unallocated,
    /// What the allocator has taken.
    Reserved,
    /// The most that may be taken.
    Allowed,
    /// What this process holds.
    ThisProcess,
}

/// One way to say that memory did not suffice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryText {
    /// Its name in the table.
    pub id: String,
    /// Whose words these are; empty where many say so.
    pub software: String,
    /// Whose memory.
    #[serde(rename = "memory")]
    pub kind: MemoryKind,
    marks: Vec<Phrase>,
    #[serde(default)]
    not: Vec<Phrase>,
    #[serde(default)]
    figures: BTreeMap<MemoryFigure, Vec<Phrase>>,
    others: Option<Others>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Others {
    phrase: Phrase,
}

/// One way in which a model server says that it has too little memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerText {
    /// Whose words these are.
    pub software: String,
    /// What it lacks memory for.
    pub wanted_for: Wanted,
    marks: Vec<Phrase>,
    #[serde(default)]
    free: Vec<Phrase>,
    #[serde(default)]
    total: Vec<Phrase>,
    #[serde(default)]
    wanted: Vec<Phrase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    wording: Vec<MemoryText>,
    server: Vec<ServerText>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("../data/memory_texts.toml"))
            .expect("the built-in texts are read by a test")
    })
}

/// Returns the wording of a message that memory did not suffice, if it is one.
pub fn memory_text(message: &Squeezed) -> Option<&'static MemoryText> {
    let has = |phrases: &[Phrase]| phrases.iter().any(|phrase| phrase.is_in(message));
    table().wording.iter().find(|wording| has(&wording.marks) && !has(&wording.not))
}

/// Returns the wording of a model server's message that it has too little memory, if it is one.
pub fn server_text(message: &Squeezed) -> Option<&'static ServerText> {
    table().server.iter().find(|server| server.marks.iter().any(|phrase| phrase.is_in(message)))
}

impl MemoryText {
    /// Returns a figure of the message: bytes, or the number of the card.
    pub fn figure(&self, figure: MemoryFigure, message: &Squeezed) -> Option<u64> {
        first_number(self.figures.get(&figure)?, message)
    }

    /// Returns what other processes hold by the message: their numbers, and bytes.
    pub fn other_processes(&self, message: &Squeezed) -> Vec<(u32, u64)> {
        let Some(others) = &self.others else {
            return Vec::new();
        };
        let found = others.phrase.all_values(message);
        found
            .iter()
            .filter_map(|values| match values.as_slice() {
                [pid, size] => Some((pid.parse().ok()?, size_in_bytes(size)?)),
                _ => None,
            })
            .collect()
    }
}

impl ServerText {
    /// Returns what is free by the message, in bytes. Of `8.50/40.00 GiB` the first number has the second one's unit.
    pub fn free(&self, message: &Squeezed) -> Option<u64> {
        let values = self.free.iter().find_map(|phrase| phrase.values(message))?;
        if let [bare, size] = values.as_slice() {
            let unit = size.trim_start_matches(|character: char| !character.is_ascii_alphabetic());
            return size_in_bytes(&format!("{bare}{unit}"));
        }
        number(values.last()?)
    }

    /// Returns the card's memory by the message, in bytes.
    pub fn total(&self, message: &Squeezed) -> Option<u64> {
        first_number(&self.total, message)
    }

    /// Returns what the server wants by the message, in bytes.
    pub fn wanted(&self, message: &Squeezed) -> Option<u64> {
        first_number(&self.wanted, message)
    }
}

/// Returns the number in the last hole of the first phrase that is found.
fn first_number(phrases: &[Phrase], message: &Squeezed) -> Option<u64> {
    number(phrases.iter().find_map(|phrase| phrase.values(message))?.last()?)
}

/// Returns a whole number, or the bytes of a size.
fn number(value: &str) -> Option<u64> {
    value.parse().ok().or_else(|| size_in_bytes(value))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::Wanted;

    use super::{MemoryFigure, MemoryKind, memory_text, server_text};
    use crate::phrase::Squeezed;

    const MIB: u64 = 1 << 20;

    fn figures(text: &str) -> (&'static str, Vec<(MemoryFigure, u64)>) {
        use MemoryFigure::{
            Allocated, Allowed, Card, Free, Private, Requested, Reserved, ThisProcess, Total, Unallocated,
        };
        let message = Squeezed::of(text);
        let wording = memory_text(&message).unwrap_or_else(|| panic!("{text}"));
        let all =
            [Card, Requested, Total, Free, Allocated, Private, Unallocated, Reserved, Allowed, ThisProcess];
        let known = all.into_iter().filter_map(|figure| Some((figure, wording.figure(figure, &message)?)));
        (&wording.id, known.collect())
    }

    #[test]
    fn figures_of_pytorch_are_read_in_all_versions() {
        use MemoryFigure::{Allocated, Card, Free, Requested, Reserved, Total, Unallocated};
        let (id, old) = figures(
            "CUDA out of memory. Tried to allocate 40.00 MiB (GPU 1; 8.00 GiB total capacity; 6.50 GiB already \
             allocated; 16.00 MiB free; 12.00 MiB cached)",
        );
        assert_eq!(id, "torch");
        let expected = [
            (Card, 1),
            (Requested, 40 * MIB),
            (Total, 8192 * MIB),
            (Free, 16 * MIB),
            (Allocated, 6656 * MIB),
            (Unallocated, 12 * MIB),
        ];
        assert_eq!(old, expected);
        let (_, middle) = figures(
            "Tried to allocate 1.50 GiB (GPU 0; 8.00 GiB total capacity; 5.00 GiB already allocated; 256.00 MiB \
             free; 7.00 GiB reserved in total by PyTorch)",
        );
        assert!(middle.contains(&(Reserved, 7 << 30)) && middle.contains(&(Free, 256 * MIB)));
        let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total \
             capacity of 24.00 GiB of which 512.00 MiB is free. Process 71 has 3.00 GiB memory in use. Including \
             non-PyTorch memory, this process has 20.50 GiB memory in use. Of the allocated memory 17.00 GiB is \
             allocated by PyTorch, with 128.00 MiB allocated in private pools (e.g., CUDA Graphs), and 3.00 GiB is \
             reserved by PyTorch but unallocated.";
        let (_, new) = figures(text);
        let gib = |number: u64| number << 30;
        let expected = [
            (Card, 3),
            (Requested, gib(2)),
            (Total, gib(24)),
            (Free, 512 * MIB),
            (Allocated, gib(17)),
            (MemoryFigure::Private, 128 * MIB),
            (Unallocated, gib(3)),
            (MemoryFigure::ThisProcess, 20992 * MIB),
        ];
        assert_eq!(new, expected);
        let message = Squeezed::of(text);
        // The sentence on this process names no number.
        assert_eq!(memory_text(&message).unwrap().other_processes(&message), [(71, gib(3))]);
    }

    #[test]
    fn other_software_is_told_apart() {
        for (text, id, kind, requested) in [
            (
                "Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : \
                 10.00 GiB\nRequested               : 1.00 GiB\nDevice limit            : 12.00 GiB\nFree (according \
                 to CUDA): 0 bytes",
                "torch-async",
                MemoryKind::Card,
                Some(1 << 30),
            ),
            (
                "RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 1",
                "xla",
                MemoryKind::Card,
                Some(2 << 30),
            ),
            (
                "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4096 bytes.",
                "xla",
                MemoryKind::Card,
                Some(4096),
            ),
            (
                "ResourceExhaustedError: OOM when allocating tensor with shape[8,8] and type float on \
                 /job:localhost/replica:0/task:0/device:GPU:2 by allocator GPU_2_bfc [Op:Mul]",
                "xla",
                MemoryKind::Card,
                None,
            ),
            (
                "OOM when allocating tensor with shape[8,8] and type float on \
                 /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
                "bfc-host",
                MemoryKind::Host,
                None,
            ),
            (
                "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.00GiB with freed_by_count=0. The caller \
                 indicates that this is not a failure, but",
                "xla-fallback",
                MemoryKind::Harmless,
                Some(3 << 30),
            ),
            (
                "failed to allocate 10.00G (10737418240 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
                "tensorflow-grab",
                MemoryKind::Harmless,
                Some(10 << 30),
            ),
            (
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 800 bytes. Error code 12",
                "torch-cpu",
                MemoryKind::Host,
                Some(800),
            ),
            (
                "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 512.00 MiB on device 1: cudaMalloc failed: \
                 out of memory",
                "llama",
                MemoryKind::Card,
                Some(512 * MIB),
            ),
            (
                "MPS backend out of memory (MPS allocated: 9.00 GB, other allocations: 1.00 GB, max allowed: 10.00 \
                 GB). Tried to allocate 256.00 MB on private pool.",
                "torch-mps",
                MemoryKind::Card,
                Some(256 * MIB),
            ),
            ("CUDA error: out of memory", "generic", MemoryKind::Card, None),
        ] {
            let message = Squeezed::of(text);
            let wording = memory_text(&message).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((wording.id.as_str(), wording.kind), (id, kind), "{text}");
            assert_eq!(wording.figure(MemoryFigure::Requested, &message), requested, "{text}");
        }
        assert!(memory_text(&Squeezed::of("loaded the model into memory")).is_none());
    }

    #[test]
    fn servers_say_what_they_lack() {
        let message = Squeezed::of(
            "Free memory on device cuda:0 (10.50/40.00 GiB) on startup is less than desired GPU memory utilization \
             (0.9, 36.00 GiB). Decrease",
        );
        let server = server_text(&message).unwrap();
        assert_eq!(server.wanted_for, Wanted::Share);
        assert_eq!(server.free(&message), Some(10752 * MIB));
        assert_eq!(server.total(&message), Some(40 << 30));
        assert_eq!(server.wanted(&message), Some(36 << 30));
        let message = Squeezed::of(
            "(8.00 GiB KV cache is needed, which is larger than the available KV cache memory (2.00 GiB)",
        );
        let server = server_text(&message).unwrap();
        assert_eq!((server.wanted_for, server.wanted(&message)), (Wanted::Cache, Some(8 << 30)));
    }
}
