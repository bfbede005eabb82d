//! Model servers as rules use them: by their metrics, and by what they log of their requests.

use std::collections::BTreeMap;

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ProgramFact, Scene, ServerState, Serving, ServingBound};
use gpuwhy_model::signal::Reader;

/// A server is at its limit of requests where it works on equally many at so many looks.
const SAME_AT_LOOKS: usize = 3;
/// Fewer requests at a time are no limit that anybody sets.
const BATCH_LIMIT_MIN: u64 = 8;
/// A limit that is a power of two is known by one look from here on.
const ROUND_LIMIT_MIN: u64 = 64;
/// Prompts are most of the work where they bring so many times the tokens that answers do.
const PROMPTS_MOST: f64 = 5.0;

/// What was seen of a server at one time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    pub(crate) running: Option<u64>,
    pub(crate) waiting: Option<u64>,
    /// Share of the cache in use.
    pub(crate) cache: Option<f64>,
    /// Tokens of prompts a second.
    pub(crate) prompts: Option<f64>,
    /// Tokens that are generated a second.
    pub(crate) answers: Option<f64>,
}

/// A model server.
#[derive(Debug, Clone)]
pub(crate) struct Server<'scene> {
    pub(crate) engine: String,
    /// Its metrics or the result of a load test, where there are some.
    pub(crate) entry: Option<&'scene Serving>,
    /// Oldest first.
    pub(crate) looks: Vec<Look>,
    /// How often requests were put back for want of cache, as far as that was seen to happen.
    pub(crate) put_back: u64,
    /// Whether requests were put back since its start, nobody knows when.
    pub(crate) was_put_back: bool,
    /// Requests that it refused because too many wait.
    pub(crate) refused: u64,
    /// Of single requests: how long each waited, and how long it took in all, in seconds.
    pub(crate) requests: Vec<(f64, f64)>,
    pub(crate) reader: Reader,
}

/// Returns the servers that a scene tells of.
pub(crate) fn servers(scene: &Scene) -> Vec<Server<'_>> {
    let mut servers: Vec<Server<'_>> = scene.serving.iter().map(of_entry).collect();
    let mut logs: BTreeMap<&str, Server<'_>> = BTreeMap::new();
    for line in &scene.program {
        let Some(ProgramFact::ServerState(state)) = &line.fact else { continue };
        let engine = state.software.as_deref().unwrap_or_default();
        take_line(logs.entry(engine).or_insert_with(|| of_log(engine)), state);
    }
    // A line without a name is of the only server that has one.
    if let (Some(nameless), 1) = (logs.get("").cloned(), logs.len().saturating_sub(1)) {
        logs.remove("");
        if let Some(server) = logs.values_mut().next() {
            server.refused += nameless.refused;
            server.put_back += nameless.put_back;
        }
    }
    servers.extend(logs.into_values());
    servers
}

fn of_entry(entry: &Serving) -> Server<'_> {
    let mut looks: Vec<Look> = entry
        .looks
        .iter()
        .map(|look| Look {
            running: look.running,
            waiting: look.waiting,
            cache: look.cache_used.map(|share| share.0),
            ..Look::default()
        })
        .collect();
    if looks.is_empty() {
        looks.push(Look {
            running: entry.running.known().copied(),
            waiting: entry.waiting.known().copied(),
            cache: entry.cache_used.known().map(|share| share.0),
            ..Look::default()
        });
    }
    if let Some(last) = looks.last_mut() {
        last.prompts = entry.prompt_tokens_per_s.known().copied();
        last.answers = entry.generated_tokens_per_s.known().copied();
    }
    // Two answers in two files give no difference of their own.
    let ever: Vec<u64> = entry.looks.iter().filter_map(|look| look.preemptions_ever).collect();
    let between = ever.last().zip(ever.first()).map_or(0, |(last, first)| last.saturating_sub(*first));
    Server {
        engine: entry.engine.clone(),
        entry: Some(entry),
        looks,
        put_back: entry.preemptions.known().copied().unwrap_or(0).max(between),
        was_put_back: entry.preemptions_ever.known().is_some_and(|ever| *ever > 0),
        refused: 0,
        requests: Vec::new(),
        reader: if entry.clients.is_known() || entry.engine == "load-test" {
            Reader::LoadTest
        } else {
            Reader::Metrics
        },
    }
}

fn of_log(engine: &str) -> Server<'static> {
    Server {
        engine: engine.to_owned(),
        entry: None,
        looks: Vec::new(),
        put_back: 0,
        was_put_back: false,
        refused: 0,
        requests: Vec::new(),
        reader: Reader::ProgramLog,
    }
}

fn take_line(server: &mut Server<'_>, state: &ServerState) {
    if state.running.is_some() || state.waiting.is_some() {
        server.looks.push(Look {
            running: state.running,
            waiting: state.waiting,
            cache: state.cache_percent.map(|percent| percent / 100.0),
            prompts: state.prompt_tokens_per_s,
            answers: state.generated_tokens_per_s,
        });
    }
    server.put_back += u64::from(state.is_preempted);
    server.refused += u64::from(state.is_refused);
    if let (Some(queue), Some(all)) = (state.queue_time, state.request_time) {
        server.requests.push((queue.0, all.0));
    }
}

/// How long requests wait before anything is computed for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueTime {
    /// On the mean, in seconds.
    pub(crate) seconds: f64,
    /// As a share of all the time that they take.
    pub(crate) share: f64,
    /// How many requests it is of.
    pub(crate) n: u64,
}

impl Server<'_> {
    /// Returns how many requests waited at the last look.
    pub(crate) fn waiting(&self) -> Option<u64> {
        self.looks.iter().rev().find_map(|look| look.waiting)
    }

    /// Returns how many requests were worked on at the last look.
    pub(crate) fn running(&self) -> Option<u64> {
        self.looks.iter().rev().find_map(|look| look.running)
    }

    /// Returns at how many looks the queue was seen.
    pub(crate) fn looks_at_queue(&self) -> usize {
        self.looks.iter().filter(|look| look.waiting.is_some()).count()
    }

    /// Returns the fewest requests that waited, at the last half of the looks: a queue may come and go.
    pub(crate) fn least_waiting(&self) -> Option<u64> {
        let seen: Vec<u64> = self.looks.iter().filter_map(|look| look.waiting).collect();
        seen[seen.len() / 2..].iter().copied().min()
    }

    /// Returns whether the queue grew.
    pub(crate) fn queue_grows(&self) -> bool {
        let mut seen = self.looks.iter().filter_map(|look| look.waiting);
        seen.next().zip(seen.next_back()).is_some_and(|(first, last)| last > first)
    }

    /// Returns the largest share of the cache that was in use while requests waited.
    pub(crate) fn cache_while_waiting(&self) -> Option<f64> {
        let waits = self.looks.iter().filter(|look| look.waiting.is_none_or(|waiting| waiting > 0));
        waits.filter_map(|look| look.cache).reduce(f64::max)
    }

    /// Returns how long requests wait, where that is known.
    pub(crate) fn queue_time(&self) -> Option<QueueTime> {
        if !self.requests.is_empty() {
            let number = self.requests.len();
            let (queue, all) =
                self.requests.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let share = if all > 0.0 { (queue / all).min(1.0) } else { 0.0 };
            return Some(QueueTime { seconds: queue / number as f64, share, n: number as u64 });
        }
        let times = &self.entry?.times;
        let (queue, all) = (times.queue.known()?, times.request.known()?);
        let share = if all.mean.0 > 0.0 { (queue.mean.0 / all.mean.0).min(1.0) } else { 0.0 };
        Some(QueueTime { seconds: queue.mean.0, share, n: queue.n })
    }

    /// Returns whether times are of now, and not of all the time since the server's start.
    pub(crate) fn times_are_recent(&self) -> bool {
        self.entry.is_none_or(|entry| entry.is_of_window)
    }

    /// Returns the speed at the last look that has one: tokens of prompts and of answers a second.
    pub(crate) fn speed(&self) -> (Option<f64>, Option<f64>) {
        let newest = |pick: fn(&Look) -> Option<f64>| self.looks.iter().rev().find_map(pick);
        (newest(|look| look.prompts), newest(|look| look.answers))
    }

    /// Returns what of the server is used up while requests wait.
    pub(crate) fn bound(&self, limits: &Limits) -> ServingBound {
        let cache = self.cache_while_waiting();
        if self.put_back > 0 || cache.is_some_and(|cache| cache >= limits.serving_cache_share_min) {
            return ServingBound::Cache;
        }
        if self.is_at_batch_limit() {
            return ServingBound::BatchLimit;
        }
        let entry = self.entry.map(|entry| &entry.times);
        let mean =
            |time: Option<&Reading<gpuwhy_model::scene::TimeSpread>>| time?.known().map(|time| time.mean.0);
        let (prefill, decode) =
            (mean(entry.map(|times| &times.prefill)), mean(entry.map(|times| &times.decode)));
        if cache.is_some_and(|cache| cache <= limits.serving_cache_roomy_share_max) {
            return match (self.speed(), prefill.zip(decode)) {
                ((Some(prompts), Some(answers)), _) if prompts < answers => ServingBound::Unknown,
                (_, Some((prefill, decode))) if prefill < decode / PROMPTS_MOST => ServingBound::Unknown,
                _ => ServingBound::Prefill,
            };
        }
        if let (Some(prompts), Some(answers)) = self.speed() {
            if prompts >= answers * PROMPTS_MOST {
                return ServingBound::Prefill;
            }
            if cache.is_some() && answers > prompts {
                return ServingBound::Decode;
            }
        }
        let executes = self.queue_time().is_some();
        if executes { ServingBound::Execution } else { ServingBound::Unknown }
    }

    /// Returns whether the server works on as many requests as it may.
    fn is_at_batch_limit(&self) -> bool {
        let most = self.entry.and_then(|entry| entry.running_max.known().copied());
        if let (Some(most), Some(running)) = (most, self.running()) {
            return most > 0 && running >= most;
        }
        let busy: Vec<u64> = self
            .looks
            .iter()
            .filter(|look| look.waiting.is_some_and(|waiting| waiting > 0))
            .filter_map(|look| look.running)
            .collect();
        let last = busy.last().copied().unwrap_or(0);
        // Limits are set to such numbers, by default too; that just as many run by chance is unlikely.
        if last >= ROUND_LIMIT_MIN && last.is_power_of_two() {
            return true;
        }
        busy.len() >= SAME_AT_LOOKS
            && last >= BATCH_LIMIT_MIN
            && busy.iter().rev().take(SAME_AT_LOOKS).all(|running| *running == last)
    }

    /// Returns whether the server keeps up with its requests; none where its queue was not seen.
    pub(crate) fn keeps_up(&self, limits: &Limits) -> Option<bool> {
        let waiting = self.waiting()?;
        let calm = waiting == 0 && self.least_waiting() == Some(0) && self.put_back == 0 && self.refused == 0;
        let slow = self.queue_time().is_some_and(|time| {
            self.times_are_recent()
                && time.seconds >= limits.serving_queue_s
                && time.share >= limits.serving_queue_share_min
        });
        Some(calm && !slow)
    }
}
