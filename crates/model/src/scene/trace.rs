//! What a profiler's trace says of a card and of the program that gave it its work.

use serde::{Deserialize, Serialize};

use crate::units::{Seconds, Share};

/// One card in one trace. Shares are of the time that the trace covers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trace {
    /// The member of a job that was traced.
    pub rank: Option<u32>,
    /// How many members the job has.
    pub members: Option<u32>,
    /// The card, as the program counts; none: the trace has no card.
    pub card: Option<u32>,
    /// Its product name.
    pub card_name: Option<String>,
    /// How long the trace covers the card.
    pub span: Seconds,
    /// Whole steps in it.
    pub steps: u64,
    /// How long a step took, on the mean.
    pub step: Option<Seconds>,
    /// Kernels that ran.
    pub kernels: u64,
    /// How long a kernel ran, on the mean.
    pub kernel_mean: Seconds,
    /// Share of the kernels that ran for less than ten microseconds.
    pub short_kernels: Share,
    /// Kernels that compute ran.
    pub compute: Share,
    /// Kernels that exchange data with other cards ran.
    pub exchange: Share,
    /// They ran and nothing computed at the same time.
    pub exchange_alone: Share,
    /// Data were copied to or from the host, or cleared.
    pub copies: Share,
    /// They were copied, and no kernel ran at the same time.
    pub copies_alone: Share,
    /// Nothing ran on the card.
    pub idle: Share,
    /// Where that time went.
    pub idle_by: IdleTime,
    /// The program waited for the card: for the end of a kernel or of a copy.
    pub host_waits: Share,
    /// How often the program launched kernels; a graph of many kernels is one launch.
    pub launches: u64,
    /// How long a rest of the card was, on the mean.
    pub gap_mean: Seconds,
    /// Whether the program's loading of data is marked in the trace: then `idle_by.data` says how much it was.
    pub has_data_marks: bool,
    /// Whether the trace has the host's side too.
    pub has_host: bool,
    /// Whether so much happened that the shortest rests were not told apart; then the card rested a little more.
    pub is_coarse: bool,
}

/// Where the time went in which nothing ran on a card, as shares of the time that the trace covers; together they are
/// all of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IdleTime {
    /// The program waited for its next data.
    pub data: Share,
    /// The program waited for the card: there was nothing to do, or the end of the last kernel was still to be noticed.
    pub waiting_for_card: Share,
    /// Rests too short to do anything else in: one launch came after the other.
    pub launches: Share,
    /// Other code of the program ran.
    pub host_code: Share,
    /// The trace does not say.
    pub unknown: Share,
}
