//! Output of `perf_analyzer`: one part for each load, with the client's and the server's view.

use gpuwhy_model::scene::{Serving, TimeSpread};
use gpuwhy_model::units::Seconds;

use super::{Block, Context, Format, Line, block, number, whole};

/// Names of values that only this tool writes, and of its headings.
const NAMES: &[&str] = &[
    "Batch size",
    "Service Kind",
    "Using",
    "Measurement window",
    "Latency limit",
    "Stabilizing",
    "Minimum number",
    "Client",
    "Server",
    "Request count",
    "Throughput",
    "Avg latency",
    "p50 latency",
    "p90 latency",
    "p95 latency",
    "p99 latency",
    "Avg gRPC time",
    "Avg HTTP time",
    "Inference count",
    "Execution count",
    "Successful request count",
    "Avg request latency",
    "Inferences/Second vs.",
    "Concurrency",
    "Request Rate",
    "Request concurrency",
    "Pass [",
    "Composing models",
    "overhead",
    "queue",
    "compute",
    "Avg send request rate",
    "Delayed Request",
    "Concurrency limit",
    "Request rate",
    "Failed to",
    "Warning",
    "Total Avg",
    "Number of",
    "Error",
];

/// One load while it is read.
#[derive(Default)]
struct Load {
    serving: Serving,
    clients: f64,
    inferences: Option<f64>,
    executions: Option<f64>,
    requests: Option<f64>,
    p95: Option<f64>,
}

/// Reads the output that begins with the first of these lines.
pub(crate) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim();
    let is_begin = first == "*** Measurement Settings ***"
        || load_of(first).is_some()
            && lines.iter().skip(1).take(3).any(|line| matches!(line.text.trim(), "Client:" | "Server:"));
    if !is_begin {
        return None;
    }
    let mut loads: Vec<Load> = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        if let Some(clients) = load_of(text) {
            loads.push(Load { clients, ..Load::default() });
        } else if let Some((name, value)) = text.split_once(':').filter(|_| is_known(text)) {
            if let Some(load) = loads.last_mut() {
                take(name, value, load);
            }
        } else if !is_known(text) && text != "*** Measurement Settings ***" {
            break;
        }
        taken = place + 1;
    }
    // The heaviest load shows most; where nothing was measured there is nothing to say.
    let heaviest = loads
        .into_iter()
        .filter(|load| load.serving.requests_per_s.is_known() || load.serving.times.request.is_known())
        .reduce(|heaviest, next| if next.clients >= heaviest.clients { next } else { heaviest })?;
    Some(block(taken, Format::PerfAnalyzer, finished(heaviest)))
}

fn is_known(text: &str) -> bool {
    NAMES.iter().any(|name| text.starts_with(name))
}

/// Returns how many requests are open at one time in the part that begins here; 0 where requests come at a rate.
fn load_of(text: &str) -> Option<f64> {
    if let Some(rest) = text.strip_prefix("Request concurrency:") {
        return number(rest);
    }
    text.strip_prefix("Request Rate:").and_then(number).map(|_| 0.0)
}

/// Returns how long something took: `247496 usec`, `3.2 ms`.
fn time(text: &str) -> Option<TimeSpread> {
    let number = number(text)?;
    let unit = text
        .trim_start()
        .trim_start_matches(|part: char| part.is_ascii_digit() || part == '.' || part == ',')
        .trim_start();
    let factor = match unit {
        _ if unit.starts_with("usec") || unit.starts_with("us") => 1e-6,
        _ if unit.starts_with("ms") => 1e-3,
        _ if unit.starts_with('s') => 1.0,
        _ => return None,
    };
    Some(TimeSpread { mean: Seconds(number * factor), p95: None, n: 0 })
}

fn take(name: &str, value: &str, load: &mut Load) {
    match name {
        "Request count" => load.requests = number(value),
        "Throughput" => load.serving.requests_per_s = number(value).into(),
        "p95 latency" => load.p95 = time(value).map(|time| time.mean.0),
        "Avg latency" if !load.serving.times.request.is_known() => {
            load.serving.times.request = time(value).into();
        }
        "Inference count" => load.inferences = number(value),
        "Execution count" => load.executions = number(value),
        "Avg request latency" => {
            load.serving.times.request = time(value).into();
            take_parts(value, load);
        }
        _ => {}
    }
}

/// Reads `(overhead 844 usec + queue 242704 usec + compute input 2241 usec + …)`.
fn take_parts(value: &str, load: &mut Load) {
    let Some((_, inside)) = value.split_once('(') else { return };
    let part = |name: &str| {
        let rest = &inside[inside.find(name)? + name.len()..];
        // Where its unit stands, the number is whole.
        time(rest)
    };
    let times = &mut load.serving.times;
    times.queue = part("queue ").into();
    times.compute = part("compute infer ").into();
    if let (Some(input), Some(output)) = (part("compute input "), part("compute output ")) {
        let mean = Seconds(input.mean.0 + output.mean.0);
        times.transfer = Some(TimeSpread { mean, ..input }).into();
    }
}

fn finished(load: Load) -> Serving {
    let Load { mut serving, clients, inferences, executions, requests, p95 } = load;
    "triton".clone_into(&mut serving.engine);
    serving.clients = (clients > 0.0).then(|| whole(clients)).into();
    serving.batch_mean = inferences
        .zip(executions)
        .filter(|(_, executions)| *executions >= 1.0)
        .map(|(all, each)| all / each)
        .into();
    serving.is_of_window = true;
    let number = requests.map_or(0, whole);
    let times = &mut serving.times;
    for time in [&mut times.request, &mut times.queue, &mut times.compute, &mut times.transfer] {
        *time = time.as_ref().copied().map(|time| TimeSpread { n: number, ..time });
    }
    times.request = times.request.as_ref().copied().map(|time| TimeSpread { p95: p95.map(Seconds), ..time });
    serving
}
