//! Model servers over a window: how many requests they work on, how many wait, and where the time of a request goes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;
use crate::reading::Reading;
use crate::units::{Seconds, Share};

/// A model server, or one model of a server that has several.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Serving {
    /// Which one: `vllm`, `triton` …
    pub engine: String,
    /// The model, where it is named; empty: it is not.
    pub model: String,
    /// Requests that are worked on, newest.
    pub running: Reading<u64>,
    /// Requests that wait, newest.
    pub waiting: Reading<u64>,
    /// Requests whose cache was moved out to the machine's memory, newest.
    pub swapped: Reading<u64>,
    /// The most requests that may be worked on at one time.
    pub running_max: Reading<u64>,
    /// Share of the cache of keys and values that is in use, newest.
    pub cache_used: Reading<Share>,
    /// How often a request was pushed out of the cache, since the server's start.
    pub preemptions_ever: Reading<u64>,
    /// How often in the window.
    pub preemptions: Reading<u64>,
    /// Tokens of prompts a second.
    pub prompt_tokens_per_s: Reading<f64>,
    /// Tokens that were generated, a second.
    pub generated_tokens_per_s: Reading<f64>,
    /// Requests that were answered, a second.
    pub requests_per_s: Reading<f64>,
    /// Requests that failed in the window.
    pub failures: Reading<u64>,
    /// Requests in one execution of the model, on the mean.
    pub batch_mean: Reading<f64>,
    /// Requests that clients kept open at one time, where the load was made on purpose.
    pub clients: Reading<u64>,
    /// Where the time of a request goes.
    pub times: ServingTimes,
    /// Whether times, counts and rates are of the window; else of all the time since the server's start.
    pub is_of_window: bool,
    /// What was seen one time after the other, oldest first.
    pub looks: Vec<ServingLook>,
}

/// Where the time of a request goes; each part for one request unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServingTimes {
    /// All of it.
    pub request: Reading<TimeSpread>,
    /// Before anything is computed for it.
    pub queue: Reading<TimeSpread>,
    /// Reading the prompt.
    pub prefill: Reading<TimeSpread>,
    /// Writing the answer.
    pub decode: Reading<TimeSpread>,
    /// Up to the first token.
    pub first_token: Reading<TimeSpread>,
    /// From one token to the next.
    pub per_token: Reading<TimeSpread>,
    /// In the model itself.
    pub compute: Reading<TimeSpread>,
    /// Bringing inputs to the model and results back.
    pub transfer: Reading<TimeSpread>,
}

/// How long something took, over many times.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeSpread {
    /// On the mean.
    pub mean: Seconds,
    /// Nineteen of twenty took no longer.
    pub p95: Option<Seconds>,
    /// How many there were.
    pub n: u64,
}

/// What was seen of a server at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServingLook {
    /// When, where that is known.
    pub at: Option<Timestamp>,
    /// Requests that were worked on.
    pub running: Option<u64>,
    /// Requests that waited.
    pub waiting: Option<u64>,
    /// Share of the cache in use.
    pub cache_used: Option<Share>,
    /// How often a request was pushed out of the cache, since the server's start.
    pub preemptions_ever: Option<u64>,
}

closed_list! {
    /// What of a server is used up, so that requests wait.
    pub enum ServingBound {
        /// The cache of keys and values.
        Cache = "kv-cache",
        /// Reading prompts.
        Prefill = "prefill",
        /// Writing answers.
        Decode = "decode",
        /// The most requests that it may work on at one time.
        BatchLimit = "batch-limit",
        /// All that it can execute: requests wait before the model.
        Execution = "execution",
        /// It cannot be told.
        Unknown = "unknown",
    }
}
