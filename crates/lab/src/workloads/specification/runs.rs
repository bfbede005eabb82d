//! Work that computes: training, serving, collectives, and other people's programs.

use serde::{Deserialize, Serialize};

use super::{eight, four, full, half, minute, most, two};

/// Where training data come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// The data set on the real disk.
    Disk,
    /// A store of the box, by name.
    Store(String),
    /// A server of the box, by name: bytes come through a socket.
    Server(String),
    /// Nothing is read: the data are in memory already.
    Memory,
}

/// A training run.
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the scenario file")]
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
    /// Loaders leave what they read in the page cache, instead of asking the disk anew each time.
    #[serde(default)]
    pub keeps_cache: bool,
    /// Bytes of `/dev/shm` in which a loader hands over one batch; 0 where it uses a pipe.
    #[serde(default)]
    pub shared_bytes: u64,
    /// CPU time to decode one batch, in milliseconds.
    #[serde(default)]
    pub decode_ms: f64,
    /// Bytes copied to the card per step; those of the batch when absent.
    #[serde(default)]
    pub copy_bytes: Option<u64>,
    /// Copies come from pageable memory: the main thread is busy with them.
    #[serde(default)]
    pub pageable: bool,
    /// Time of the kernels of one step at full clock, in milliseconds.
    pub kernel_ms: f64,
    /// The kernels are many tiny ones, which the main thread launches one by one: it is busy while they run.
    #[serde(default)]
    pub launches_one_by_one: bool,
    /// CPU time of the main thread between the kernels of two steps, in milliseconds: Python, logging, metrics.
    #[serde(default)]
    pub host_ms: f64,
    /// Nobody works for so long in each step, in milliseconds.
    #[serde(default)]
    pub pause_ms: f64,
    /// How much of the card's compute a kernel uses, 0 to 1.
    #[serde(default = "full")]
    pub compute: f64,
    /// How much of the card's memory bandwidth a kernel uses, 0 to 1.
    #[serde(default = "half")]
    pub memory: f64,
    /// Share of the multiprocessors that a kernel fills, 0 to 1.
    #[serde(default = "full")]
    pub sm_share: f64,
    /// Share of the card's memory that each rank holds, beside its context.
    pub memory_share: f64,
    /// Host memory that each rank fills, in bytes.
    #[serde(default)]
    pub host_bytes: u64,
    /// Threads that a rank tries to start and end again in each step.
    #[serde(default)]
    pub helper_threads: u32,
    /// Host memory that a helper process fills, started now and then, in bytes; 0 for no helper.
    #[serde(default)]
    pub helper_bytes: u64,
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
    /// Share of the multiprocessors that a kernel fills, 0 to 1.
    #[serde(default = "full")]
    pub sm_share: f64,
    /// Share of the card's memory that it holds, beside its context.
    pub memory_share: f64,
    /// Idle threads beside the main one.
    #[serde(default = "four")]
    pub threads: u32,
}

/// A program that computes without a pause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// Share of the card's memory that it holds, beside its context.
    pub memory_share: f64,
    /// Time of one kernel at full clock, in milliseconds.
    pub kernel_ms: f64,
    /// How much of the card's compute a kernel uses, 0 to 1.
    #[serde(default = "full")]
    pub compute: f64,
    /// How much of the card's memory bandwidth a kernel uses, 0 to 1.
    #[serde(default = "half")]
    pub memory: f64,
    /// Share of the multiprocessors that a kernel fills, 0 to 1.
    #[serde(default = "full")]
    pub sm_share: f64,
    /// Idle threads beside the main one.
    #[serde(default = "four")]
    pub threads: u32,
}

/// Ranks that compute, exchange, and wait for each other on their cards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// Share of the card's memory that each rank holds, beside its context.
    pub memory_share: f64,
    /// The command line of each rank; the member's first process is their launcher.
    pub rank_command: Vec<String>,
    /// Time of the kernels of one step at full clock, in milliseconds.
    pub kernel_ms: f64,
    /// How much of the card's compute a kernel uses, 0 to 1.
    #[serde(default = "full")]
    pub compute: f64,
    /// How much of the card's memory bandwidth a kernel uses, 0 to 1.
    #[serde(default = "half")]
    pub memory: f64,
    /// How long bytes move once all ranks are there, in milliseconds.
    #[serde(default)]
    pub exchange_ms: f64,
    /// Share of what the links between the cards carry that moves meanwhile, 0 to 1.
    #[serde(default = "most")]
    pub exchange_load: f64,
    /// The rank that does more than the others, and how much longer its kernels take, in milliseconds.
    #[serde(default)]
    pub late_rank: Option<usize>,
    /// See `late_rank`.
    #[serde(default)]
    pub late_ms: f64,
    /// From some moment on nobody moves any more.
    #[serde(default)]
    pub hang: Option<Hang>,
    /// The main thread asks without a pause whether the card is done.
    #[serde(default)]
    pub host_spins: bool,
    /// Idle threads of each rank beside the main one.
    #[serde(default = "four")]
    pub threads: u32,
}

/// How an exchange comes to a standstill.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hang {
    /// So long after the start, in seconds.
    pub after_s: f64,
    /// The rank that does not come, and leaves its card idle; without it all spin, each in an exchange of its own.
    #[serde(default)]
    pub absent_rank: Option<usize>,
}
