//! What parent and child say to each other: one JSON object a line.

use gpuwhy_model::reading::{Absence, Reading};
use gpuwhy_model::sample::{CardPair, CardSample, NvmlSample, XidEvent};
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
    /// The library is ready and its cards are awake; it took this many milliseconds.
    Started(u64),
    /// The library cannot be used; the child ends.
    NotStarted(Absence),
    /// At the first sweep: what does not change while the library is loaded; the sample holds no cards.
    Header(Box<NvmlSample>),
    /// A sweep begins: how many cards there are.
    Counted(Reading<u32>),
    /// Who the card is whose values come next: all that is known of it should one of the calls never return.
    Next(Box<Identity>),
    /// A card with its values; its instances follow, each on its own.
    Card(Box<CardSample>),
    /// The sweep is over.
    Done(Box<Tail>),
}

/// Who a card is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) index: u32,
    pub(super) uuid: Reading<String>,
    pub(super) name: Reading<String>,
    pub(super) pci_address: Reading<String>,
    pub(super) minor: Reading<u32>,
}

impl Identity {
    /// Keeps of a card only who it is.
    pub(super) fn of(card: &CardSample) -> Self {
        Self {
            index: card.index,
            uuid: card.uuid.clone(),
            name: card.name.clone(),
            pci_address: card.pci_address.clone(),
            minor: card.minor.clone(),
        }
    }

    /// Returns the card, of which nothing else is known.
    pub(super) fn card(&self) -> CardSample {
        let Self { index, uuid, name, pci_address, minor } = self.clone();
        CardSample { index, uuid, name, pci_address, minor, ..CardSample::default() }
    }
}

/// What a sweep gives that belongs to no card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Tail {
    /// The ways between cards, at the first full sweep.
    pub(super) pairs: Reading<Vec<CardPair>>,
    /// Error events since the sweep before.
    pub(super) xid_events: Reading<Vec<XidEvent>>,
    /// What the child has done so far.
    pub(super) effort: Effort,
}

/// What asking the driver has cost since the child started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Effort {
    /// Calls into the library.
    pub calls: u64,
    /// Processor time that the calls themselves took, in nanoseconds.
    pub library_ns: u64,
    /// Processor time of the whole child, the calls included, in nanoseconds.
    pub child_ns: u64,
}
