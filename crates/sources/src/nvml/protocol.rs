//! What parent and child say to each other: one JSON object a line.

use gpuwhy_model::reading::{Absence, Reading};
use gpuwhy_model::sample::{CardSample, NvmlSample};
use serde::{Deserialize, Serialize};

/// The hidden subcommand under which a program of ours becomes the child.
pub const CHILD_COMMAND: &str = "__nvml";

/// One sweep over all cards, please.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Request {
    /// Whether the values that hardly change, or cost time, are wanted too.
    pub(super) full: bool,
    /// Whether the PCIe throughput is wanted, which blocks 20 ms a direction.
    pub(super) throughput: bool,
    /// How far each card's buffers are known, by index.
    pub(super) seen: Vec<Seen>,
}

/// The newest time stamps that are known of a card's buffers, in the driver's microseconds; 0: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) busy: u64,
    pub(super) memory_busy: u64,
    pub(super) work: u64,
}

/// What the child says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The library is ready; it took this many milliseconds.
    Started(u64),
    /// The library cannot be used; the child ends.
    NotStarted(Absence),
    /// At the first sweep: what does not change while the library is loaded; the sample holds no cards.
    Header(Box<NvmlSample>),
    /// A sweep begins: how many cards there are.
    Counted(Reading<u32>),
    /// Who the card is whose values come next: all that is known of it should one of the calls never return.
    Next(Box<CardSample>),
    /// A card with its values.
    Card(Box<CardSample>),
    /// The sweep is over.
    Done,
}
