//! What a member of a box is to do, as its specification file says it.

mod holders;
mod runs;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use holders::{Burst, Crowd, Desktop, Frozen, Hold, Leak, Orphan, Zombie};
pub use runs::{Collective, Data, Hang, Serve, Steady, Train};

/// One member's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Trains: loaders read and decode, ranks wait for batches and run kernels.
    Train(Train),
    /// Serves requests that arrive whether or not it keeps up.
    Serve(Serve),
    /// Takes memory and idles, such as a notebook.
    Hold(Hold),
    /// A dead run: launcher and rank are gone, a child lives on and holds memory.
    Orphan(Orphan),
    /// Many nearly idle processes, for measuring what looking costs.
    Crowd(Crowd),
    /// Takes more and more memory while it works.
    Leak(Leak),
    /// Works for a moment, rests, and works again, as a person at a prompt does.
    Burst(Burst),
    /// Ranks that compute, and then spin on their cards until all are there.
    Spin(Collective),
    /// A process whose first thread has ended while another one holds the card.
    Zombie(Zombie),
    /// A killed process that cannot die, because it is blocked in the kernel.
    Frozen(Frozen),
    /// Graphics: a screen or a desktop.
    Desktop(Desktop),
    /// Somebody else's program, which computes without a pause.
    Miner(Steady),
}

impl Work {
    /// How many processes of this work keep an account, on `cards` cards.
    pub(super) fn accounts(&self, cards: usize) -> usize {
        match self {
            Self::Train(_) | Self::Hold(_) | Self::Spin(_) => cards.max(1),
            Self::Serve(_)
            | Self::Orphan(_)
            | Self::Crowd(_)
            | Self::Leak(_)
            | Self::Burst(_)
            | Self::Zombie(_)
            | Self::Frozen(_)
            | Self::Desktop(_)
            | Self::Miner(_) => 1,
        }
    }

    /// Whether the first process is meant to end while the member lives on.
    pub(super) fn may_end_early(&self) -> bool {
        matches!(self, Self::Orphan(_) | Self::Frozen(_) | Self::Train(Train { detached: true, .. }))
    }
}

/// Everything that a process of a member needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The member's name, which is its truth file's name too.
    pub member: String,
    /// The box directory.
    pub directory: PathBuf,
    /// The program to run further processes with.
    pub program: PathBuf,
    /// Its cards, one per rank.
    pub cards: Vec<usize>,
    /// Command line of its first process.
    pub command: Vec<String>,
    /// What it does.
    pub work: Work,
    /// Seed of whatever it draws.
    pub seed: u64,
}

fn full() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

fn most() -> f64 {
    0.85
}

fn tenth() -> f64 {
    0.1
}

fn minute() -> f64 {
    60.0
}

fn two() -> u32 {
    2
}

fn four() -> u32 {
    4
}

fn eight() -> u32 {
    8
}
