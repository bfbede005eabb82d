//! What a member of a box is to do, as its specification file says it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
}

/// Where training data come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// The data set on the real disk.
    Disk,
    /// A store of the box, by name.
    Store(String),
    /// Nothing is read: the data are in memory already.
    Memory,
}

/// A training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// Where batches come from.
    pub data: Data,
    /// Loader processes per rank.
    pub loaders: u32,
    /// Batches that each loader may be ahead.
    #[serde(default = "two")]
    pub prefetch: u32,
    /// Bytes read per batch.
    #[serde(default)]
    pub batch_bytes: u64,
    /// CPU time to decode one batch, in milliseconds.
    #[serde(default)]
    pub decode_ms: f64,
    /// Time of the kernels of one step at full clock, in milliseconds.
    pub kernel_ms: f64,
    /// How much of the card's compute a kernel uses, 0 to 1.
    #[serde(default = "full")]
    pub compute: f64,
    /// How much of the card's memory bandwidth a kernel uses, 0 to 1.
    #[serde(default = "half")]
    pub memory: f64,
    /// Share of the card's memory that each rank holds, beside its context.
    pub memory_share: f64,
    /// The command line of each rank, when the member's first process is a launcher such as `torchrun`.
    #[serde(default)]
    pub rank_command: Vec<String>,
    /// The shell that started it is gone, as after `nohup`.
    #[serde(default)]
    pub detached: bool,
    /// Idle threads of each rank beside the main one.
    #[serde(default = "four")]
    pub threads: u32,
    /// Saves so many bytes every `checkpoint_every_s`; 0 for never.
    #[serde(default)]
    pub checkpoint_bytes: u64,
    /// Seconds between two saves.
    #[serde(default = "minute")]
    pub checkpoint_every_s: f64,
}

/// An inference server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    /// Requests per second that arrive; 0 for none.
    pub requests_per_s: f64,
    /// Requests that run together at most.
    #[serde(default = "eight")]
    pub batch: u32,
    /// Kernel time of one request at full clock, in milliseconds, when the batch is full.
    pub kernel_ms: f64,
    /// How much of the card's compute a kernel uses, 0 to 1.
    #[serde(default = "full")]
    pub compute: f64,
    /// How much of the card's memory bandwidth a kernel uses, 0 to 1.
    #[serde(default = "half")]
    pub memory: f64,
    /// Share of the card's memory that it holds, beside its context.
    pub memory_share: f64,
    /// Idle threads beside the main one.
    #[serde(default = "four")]
    pub threads: u32,
}

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
    /// Asks again and again for `memory_share` when there is not enough, and waits.
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
