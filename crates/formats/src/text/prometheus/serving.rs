//! Model servers by their metrics: the newest state, and what counters and distributions say of the time between.

use std::collections::BTreeMap;

use gpuwhy_knowledge::{ServingMetric, ServingQuantity, serving_metric};
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{Serving, ServingLook, ServingTimes, TimeSpread};
use gpuwhy_model::units::{Seconds, Share};
use jiff::Timestamp;

use super::exposition::Value;
use super::scrapes::{Scrape, Scrapes};

/// Labels that only say which part of one server counts: each part counts the same requests.
const PARTS: &[&str] = &["tp_rank", "pp_rank", "moe_ep_rank", "ep_rank"];

/// A server and its model.
type Key = (String, String);

/// What one answer says of one server.
#[derive(Debug, Default)]
struct Counted {
    /// Sums over the parts of a server, by what they say.
    sums: BTreeMap<ServingQuantity, f64>,
    spreads: BTreeMap<ServingQuantity, Spread>,
}

/// A distribution as it is counted since the server's start, in seconds.
#[derive(Debug, Default, Clone)]
struct Spread {
    sum: Option<f64>,
    count: Option<f64>,
    /// How many took no longer than each limit; limits in microseconds, so that they can be keys.
    buckets: BTreeMap<u64, f64>,
    p95: Option<f64>,
}

/// Returns the servers of all answers.
pub(super) fn servers(scrapes: &Scrapes) -> Vec<Serving> {
    let counted: Vec<BTreeMap<Key, Counted>> =
        scrapes.list.iter().map(|scrape| counted(&scrape.values)).collect();
    let mut keys: Vec<&Key> = counted.iter().flat_map(BTreeMap::keys).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().map(|key| server(key, scrapes, &counted)).collect()
}

/// Returns the metric that a value belongs to, and which part of a distribution it is.
fn metric_of(value: &Value) -> Option<(&'static ServingMetric, &'static str)> {
    let of = |name: &str| serving_metric(name, |label, wanted| value.label(label) == Some(wanted));
    if let Some(metric) = of(&value.name) {
        let part = match () {
            () if value.label("le").is_some() => "bucket",
            () if value.label("quantile").is_some() => "quantile",
            () => "",
        };
        return Some((metric, part));
    }
    ["bucket", "sum", "count"].into_iter().find_map(|part| {
        let base = value.name.strip_suffix(part)?.strip_suffix('_')?;
        of(base).map(|metric| (metric, part))
    })
}

fn counted(values: &[Value]) -> BTreeMap<Key, Counted> {
    // Parts of one server that count the same are counted once: the largest.
    let mut apart: BTreeMap<(Key, String), (&'static ServingMetric, &'static str, f64, &Value)> =
        BTreeMap::new();
    for value in values {
        let Some((metric, part)) = metric_of(value).filter(|_| value.number.is_finite()) else { continue };
        let model = value.any_label(&["model_name", "model", "model_id"]).unwrap_or_default();
        let model: String = model.chars().take(200).collect();
        let mut whole = value.clone();
        whole.labels.retain(|(name, _)| !PARTS.contains(&name.as_str()));
        let key = ((metric.engine.clone(), model), whole.key());
        let entry = apart.entry(key).or_insert((metric, part, value.number, value));
        if value.number > entry.2 {
            *entry = (metric, part, value.number, value);
        }
    }
    let mut all: BTreeMap<Key, Counted> = BTreeMap::new();
    for ((key, _), (metric, part, number, value)) in apart {
        let number_in_unit = number * metric.factor;
        let counted = all.entry(key).or_default();
        if !is_spread(metric.quantity) {
            if part.is_empty() {
                add(counted, metric.quantity, number_in_unit);
            }
            continue;
        }
        let spread = counted.spreads.entry(metric.quantity).or_default();
        match part {
            "sum" => *spread.sum.get_or_insert(0.0) += number_in_unit,
            "count" => *spread.count.get_or_insert(0.0) += number,
            "bucket" => {
                if let Some(limit) =
                    value.label("le").and_then(|le| le.parse::<f64>().ok()).filter(|le| le.is_finite())
                {
                    *spread.buckets.entry(microseconds(limit * metric.factor)).or_default() += number;
                }
            }
            "quantile" if value.label("quantile") == Some("0.95") => spread.p95 = Some(number_in_unit),
            _ => {}
        }
    }
    all
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limits are small and not negative; the cast saturates"
)]
fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

fn add(counted: &mut Counted, quantity: ServingQuantity, number: f64) {
    let known = counted.sums.entry(quantity);
    // Shares of several caches do not add up: the fullest counts.
    if quantity == ServingQuantity::CacheShare {
        let known = known.or_insert(0.0);
        *known = known.max(number);
    } else {
        *known.or_insert(0.0) += number;
    }
}

const fn is_spread(quantity: ServingQuantity) -> bool {
    matches!(
        quantity,
        ServingQuantity::RequestTime
            | ServingQuantity::QueueTime
            | ServingQuantity::PrefillTime
            | ServingQuantity::DecodeTime
            | ServingQuantity::FirstTokenTime
            | ServingQuantity::PerTokenTime
            | ServingQuantity::ComputeTime
    )
}

/// The first and last answer of a server, for differences.
struct Between<'counted> {
    first: Option<&'counted Counted>,
    last: &'counted Counted,
    seconds: Option<f64>,
}

impl Between<'_> {
    /// Returns the newest value.
    fn newest(&self, quantity: ServingQuantity) -> Option<f64> {
        self.last.sums.get(&quantity).copied()
    }

    /// Returns by how much a counter grew; none without an earlier value, or where the server began anew.
    fn growth(&self, quantity: ServingQuantity) -> Option<f64> {
        let before = self.first?.sums.get(&quantity)?;
        Some(self.newest(quantity)? - before).filter(|growth| *growth >= 0.0)
    }

    /// Returns the growth, or all of a counter where there is but one answer.
    fn amount(&self, quantity: ServingQuantity) -> Option<f64> {
        if self.first.is_some() { self.growth(quantity) } else { self.newest(quantity) }
    }

    fn rate(&self, quantity: ServingQuantity) -> Reading<f64> {
        match (self.growth(quantity), self.seconds) {
            (Some(growth), Some(seconds)) if seconds > 0.0 => Reading::Known(growth / seconds),
            _ if self.newest(quantity).is_some() => Failure::TooFewSamples.into_reading(),
            _ => Reading::default(),
        }
    }

    fn spread(&self, quantity: ServingQuantity) -> Option<TimeSpread> {
        let last = self.last.spreads.get(&quantity)?;
        let first = self.first.and_then(|first| first.spreads.get(&quantity)).cloned().unwrap_or_default();
        let count = last.count? - first.count.unwrap_or(0.0);
        let sum = last.sum? - first.sum.unwrap_or(0.0);
        if count < 1.0 || sum < 0.0 {
            return None;
        }
        let within = |(limit, number): (&u64, &f64)| {
            let before = first.buckets.get(limit).copied().unwrap_or(0.0);
            (number - before >= 0.95 * count).then_some(*limit as f64 / 1e6)
        };
        // The first limit that holds nineteen of twenty is no less than what they took.
        let p95 = last.p95.or_else(|| last.buckets.iter().find_map(within));
        Some(TimeSpread { mean: Seconds(sum / count), p95: p95.map(Seconds), n: whole(count) })
    }

    /// Returns the mean of what all requests took together.
    fn mean(&self, total: ServingQuantity) -> Option<TimeSpread> {
        let requests = self.amount(ServingQuantity::Requests).filter(|requests| *requests >= 1.0)?;
        Some(TimeSpread { mean: Seconds(self.amount(total)? / requests), p95: None, n: whole(requests) })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are not negative, and the cast saturates"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn server(key: &Key, scrapes: &Scrapes, counted: &[BTreeMap<Key, Counted>]) -> Serving {
    let own: Vec<(&Scrape, &Counted)> = scrapes
        .list
        .iter()
        .zip(counted)
        .filter_map(|(scrape, counted)| Some((scrape, counted.get(key)?)))
        .collect();
    let Some((last_scrape, last)) = own.last().copied() else {
        return Serving::default();
    };
    let first = own.first().filter(|_| own.len() > 1);
    let seconds = first.and_then(|(scrape, _)| Some(last_scrape.since_s? - scrape.since_s?));
    let between = Between { first: first.map(|(_, counted)| *counted), last, seconds };
    let newest = |quantity| -> Reading<u64> { between.newest(quantity).map(whole).into() };
    let spread = |quantity, total: Option<ServingQuantity>| -> Reading<TimeSpread> {
        between.spread(quantity).or_else(|| between.mean(total?)).into()
    };
    let rate = |now, ever| match between.newest(now) {
        Some(rate) => Reading::Known(rate),
        None => between.rate(ever),
    };
    let executions = between.amount(ServingQuantity::Executions).filter(|executions| *executions >= 1.0);
    Serving {
        engine: key.0.clone(),
        model: key.1.clone(),
        running: newest(ServingQuantity::Running),
        waiting: newest(ServingQuantity::Waiting),
        swapped: newest(ServingQuantity::Swapped),
        running_max: newest(ServingQuantity::RunningMax),
        cache_used: between
            .newest(ServingQuantity::CacheShare)
            .filter(|share| (0.0..=1.0).contains(share))
            .map(Share)
            .into(),
        preemptions_ever: newest(ServingQuantity::Preemptions),
        preemptions: between.growth(ServingQuantity::Preemptions).map(whole).into(),
        prompt_tokens_per_s: rate(ServingQuantity::PromptRate, ServingQuantity::PromptTokens),
        generated_tokens_per_s: rate(ServingQuantity::GeneratedRate, ServingQuantity::GeneratedTokens),
        requests_per_s: between.rate(ServingQuantity::Requests),
        failures: between.growth(ServingQuantity::Failures).map(whole).into(),
        batch_mean: between
            .amount(ServingQuantity::Inferences)
            .and_then(|inferences| Some(inferences / executions?))
            .into(),
        clients: Reading::default(),
        times: ServingTimes {
            request: spread(ServingQuantity::RequestTime, Some(ServingQuantity::RequestTotal)),
            queue: spread(ServingQuantity::QueueTime, Some(ServingQuantity::QueueTotal)),
            prefill: spread(ServingQuantity::PrefillTime, None),
            decode: spread(ServingQuantity::DecodeTime, None),
            first_token: spread(ServingQuantity::FirstTokenTime, None),
            per_token: spread(ServingQuantity::PerTokenTime, None),
            compute: spread(ServingQuantity::ComputeTime, Some(ServingQuantity::ComputeTotal)),
            transfer: between.mean(ServingQuantity::TransferTotal).into(),
        },
        is_of_window: first.is_some(),
        looks: own.iter().map(|(scrape, counted)| look(scrape, counted)).collect(),
    }
}

fn look(scrape: &Scrape, counted: &Counted) -> ServingLook {
    let number = |quantity| counted.sums.get(&quantity).copied();
    ServingLook {
        at: scrape.at_s.and_then(timestamp),
        running: number(ServingQuantity::Running).map(whole),
        waiting: number(ServingQuantity::Waiting).map(whole),
        cache_used: number(ServingQuantity::CacheShare).map(Share),
        preemptions_ever: number(ServingQuantity::Preemptions).map(whole),
    }
}

/// Returns a time that is given in seconds since 1970.
pub(super) fn timestamp(at_s: f64) -> Option<Timestamp> {
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, and far times are refused")]
    let milliseconds = (at_s * 1000.0).round() as i64;
    Timestamp::from_millisecond(milliseconds).ok()
}
