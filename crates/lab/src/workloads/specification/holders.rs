//! Work that is mostly about holding memory.

use serde::{Deserialize, Serialize};

use super::{four, full, half, tenth};

/// A process that holds memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Share of each card's memory that it holds, beside its context.
    pub memory_share: f64,
    /// Works so long before it idles, in seconds.
    #[serde(default)]
    pub worked_s: f64,
    /// Runs a short kernel so often, in seconds; 0 for never again.
    #[serde(default)]
    pub works_every_s: f64,
    /// Asks again and again for `memory_share` when there is not enough, and for the card when it is closed, and waits.
    #[serde(default)]
    pub waits_for_memory: bool,
    /// The command line of the holder, when the member's first process is its living parent, such as a notebook server.
    #[serde(default)]
    pub kernel_command: Vec<String>,
    /// Idle threads beside the main one.
    #[serde(default = "four")]
    pub threads: u32,
}

/// A dead run whose child lives on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orphan {
    /// Share of the card's memory that the child holds, beside its context.
    pub memory_share: f64,
    /// Works so long before the run dies, in seconds.
    #[serde(default = "half")]
    pub worked_s: f64,
    /// The command line of the rank between the launcher and the child.
    pub rank_command: Vec<String>,
    /// The command line of the child that lives on.
    pub child_command: Vec<String>,
    /// Idle threads of the child beside its main one.
    #[serde(default = "four")]
    pub threads: u32,
}

/// A process whose first thread has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zombie {
    /// Share of the card's memory that the living thread holds, beside its context.
    pub memory_share: f64,
    /// Works so long before the first thread ends, in seconds.
    #[serde(default = "half")]
    pub worked_s: f64,
}

/// A killed process that cannot die.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// Share of the card's memory that it holds, beside its context.
    pub memory_share: f64,
    /// Works so long before it blocks, in seconds.
    #[serde(default = "half")]
    pub worked_s: f64,
    /// The silent store in which it blocks.
    pub store: String,
    /// The command line of the process that blocks; the member's first process is its launcher, which dies.
    pub rank_command: Vec<String>,
}

/// A process that takes more and more memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leak {
    /// Share of the card's memory that it holds at first, beside its context.
    pub memory_share: f64,
    /// Share of the card's memory that it takes each time.
    pub grows_by: f64,
    /// Seconds from one time to the next.
    #[serde(default = "tenth")]
    pub grows_every_s: f64,
    /// Share of the card's memory at which it stops to grow.
    #[serde(default = "full")]
    pub most: f64,
    /// Time of the kernels of one step at full clock, in milliseconds.
    pub kernel_ms: f64,
    /// How much of the card's compute a kernel uses, 0 to 1.
    #[serde(default = "full")]
    pub compute: f64,
}

/// A process that works for a moment and rests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Share of the card's memory that it holds, beside its context.
    pub memory_share: f64,
    /// Works so long, in seconds.
    pub busy_s: f64,
    /// Rests so long, in seconds.
    pub rests_s: f64,
    /// How much of the card's compute a kernel uses, 0 to 1.
    #[serde(default = "full")]
    pub compute: f64,
}

/// A screen or a desktop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Desktop {
    /// Share of the card's memory that it holds.
    pub memory_share: f64,
    /// Draws so many pictures a second.
    #[serde(default)]
    pub pictures_per_s: f64,
    /// Time of one picture, in milliseconds.
    #[serde(default = "full")]
    pub picture_ms: f64,
}

/// A crowd of nearly idle processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crowd {
    /// GPU processes on each card.
    pub per_card: u32,
    /// Threads of each GPU process.
    pub threads: u32,
    /// Loader children of each GPU process.
    pub loaders: u32,
    /// Threads of each loader.
    pub loader_threads: u32,
    /// Other processes.
    pub others: u32,
}
