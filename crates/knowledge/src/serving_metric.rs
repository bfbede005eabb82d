//! Which metrics of which model server say what.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::table::{rows, words};

/// What a metric of a model server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServingQuantity {
    /// Requests that are worked on, now.
    Running,
    /// Requests that wait, now.
    Waiting,
    /// Requests whose cache was moved out, now.
    Swapped,
    /// The most requests that may be worked on at one time.
    RunningMax,
    /// Share of the cache of keys and values that is in use, now.
    CacheShare,
    /// How often a request was pushed out of the cache, ever.
    Preemptions,
    /// Tokens of prompts, ever.
    PromptTokens,
    /// Tokens that were generated, ever.
    GeneratedTokens,
    /// Tokens of prompts a second.
    PromptRate,
    /// Tokens that are generated a second.
    GeneratedRate,
    /// Requests that were answered, ever.
    Requests,
    /// Requests that failed, ever.
    Failures,
    /// Inputs that were computed, ever.
    Inferences,
    /// Executions of the model, ever.
    Executions,
    /// Distribution of the time of a request.
    RequestTime,
    /// Distribution of the time that a request waits before anything is computed for it.
    QueueTime,
    /// Distribution of the time of reading a prompt.
    PrefillTime,
    /// Distribution of the time of writing an answer.
    DecodeTime,
    /// Distribution of the time up to the first token.
    FirstTokenTime,
    /// Distribution of the time from one token to the next.
    PerTokenTime,
    /// Distribution of the time in the model.
    ComputeTime,
    /// Time of all requests together, ever.
    RequestTotal,
    /// Time that all requests waited, ever.
    QueueTotal,
    /// Time of all requests in the model, ever.
    ComputeTotal,
    /// Time of bringing inputs to the model and results back, ever.
    TransferTotal,
}

/// One metric.
#[derive(Debug, Deserialize)]
pub struct ServingMetric {
    /// The server: `vllm`, `triton` …
    pub engine: String,
    /// Its name, as the server gives it.
    pub metric: String,
    /// A label that it must have, as `name=value`; empty: none.
    pub label: String,
    /// What it says.
    pub quantity: ServingQuantity,
    /// What its value is multiplied by to get seconds, a share or a number.
    pub factor: f64,
    /// Where this is from.
    #[serde(deserialize_with = "words")]
    pub sources: Vec<String>,
}

fn table() -> &'static BTreeMap<String, Vec<ServingMetric>> {
    static TABLE: OnceLock<BTreeMap<String, Vec<ServingMetric>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut by_name: BTreeMap<String, Vec<ServingMetric>> = BTreeMap::new();
        for row in rows::<ServingMetric>(include_str!("../data/serving_metrics.csv")) {
            by_name.entry(plain(&row.metric)).or_default().push(row);
        }
        by_name
    })
}

/// Returns all metrics of model servers, by name.
pub fn serving_metrics() -> impl Iterator<Item = &'static ServingMetric> {
    table().values().flatten()
}

/// Returns what a metric says, whoever collected it: some collectors write `_` for `:`, and one puts its name before it.
pub fn serving_metric(name: &str, has_label: impl Fn(&str, &str) -> bool) -> Option<&'static ServingMetric> {
    let plain = plain(name);
    let rows = table().get(&plain).or_else(|| table().get(plain.strip_prefix("ray_")?))?;
    rows.iter().find(|row| {
        let Some((label, value)) = row.label.split_once('=') else {
            return true;
        };
        has_label(label, value)
    })
}

fn plain(name: &str) -> String {
    name.replace(':', "_")
}

#[cfg(test)]
mod tests {
    use super::{ServingQuantity, serving_metric, serving_metrics};
    use crate::source;

    #[test]
    fn every_row_is_read_and_has_a_source() {
        assert!(serving_metrics().count() > 80);
        for metric in serving_metrics() {
            assert!(!metric.engine.is_empty() && metric.factor > 0.0, "{metric:?}");
            assert!(metric.sources.iter().all(|key| source(key).is_some()), "{metric:?}");
        }
    }

    #[test]
    fn metrics_are_known_however_they_were_collected() {
        let quantity = |name: &str| serving_metric(name, |_, _| false).map(|metric| metric.quantity);
        assert_eq!(quantity("vllm:num_requests_waiting"), Some(ServingQuantity::Waiting));
        assert_eq!(quantity("vllm_kv_cache_usage_perc"), Some(ServingQuantity::CacheShare));
        assert_eq!(quantity("ray_vllm:num_preemptions_total"), Some(ServingQuantity::Preemptions));
        assert_eq!(quantity("nv_inference_queue_duration_us"), Some(ServingQuantity::QueueTotal));
        assert_eq!(quantity("nv_trt_llm_request_metrics"), None);
        let waiting = serving_metric("nv_trt_llm_request_metrics", |label, value| {
            (label, value) == ("request_type", "waiting")
        });
        assert_eq!(waiting.map(|metric| metric.quantity), Some(ServingQuantity::Waiting));
        assert_eq!(quantity("node_load1"), None);
    }
}
