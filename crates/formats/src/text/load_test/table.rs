//! Results as tables of names and numbers, seen from the client.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Serving, TimeSpread};
use gpuwhy_model::units::Seconds;

use super::{Block, Context, Format, Line, block, number, whole};

/// Characters that draw the frame of a table.
const FRAME: &[char] = &['│', '┃', '|'];

/// Reads the result that begins with the first of these lines.
pub(crate) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim();
    let is_benchmark = first.starts_with('=') && first.contains("Serving Benchmark Result");
    let is_table = (first.contains("GenAI-Perf") || first.contains("AIPerf")) && first.contains("Metrics");
    if !is_benchmark && !is_table {
        return None;
    }
    let mut serving = Serving { engine: "load-test".to_owned(), is_of_window: true, ..Serving::default() };
    let mut taken = 1;
    for (place, line) in lines.iter().enumerate().skip(1) {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        let row = if is_benchmark { named(text) } else { row(text) };
        if let Some((name, value)) = row {
            take(name.trim(), value, &mut serving);
        } else if !is_rule(text) {
            break;
        }
        taken = place + 1;
        if is_benchmark && text.starts_with("====") {
            break;
        }
    }
    let times = &serving.times;
    let says_something =
        times.first_token.is_known() || times.request.is_known() || serving.requests_per_s.is_known();
    says_something.then(|| block(taken, Format::LoadTest, serving))
}

/// Returns the name and the value of a line; a value is a number, or none.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once(':')?;
    let is_value = value.trim().bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    let is_none = ["inf", "nan", "N/A", "None", "not set"].contains(&value.trim());
    (is_value && !value.trim().is_empty() || is_none).then_some((name, value))
}

/// Returns the name and the first value of a row.
fn row(text: &str) -> Option<(&str, &str)> {
    let mut cells = text.strip_prefix(FRAME)?.split(FRAME);
    Some((cells.next()?, cells.next()?))
}

/// Returns whether a line only draws: a rule, a corner, a heading between rules.
fn is_rule(text: &str) -> bool {
    let drawn = text.chars().filter(|part| !part.is_alphanumeric() && !part.is_whitespace()).count();
    drawn * 2 > text.chars().count() || text.starts_with("---")
}

fn take(name: &str, value: &str, serving: &mut Serving) {
    let Some(number) = number(value) else { return };
    let lower = name.to_ascii_lowercase();
    let factor = if lower.contains("(ms)") { 1e-3 } else { 1.0 };
    let time = || Reading::Known(TimeSpread { mean: Seconds(number * factor), p95: None, n: 0 });
    match lower.split('(').next().unwrap_or_default().trim() {
        "maximum request concurrency" => serving.clients = Reading::Known(whole(number)),
        "peak concurrent requests" if !serving.clients.is_known() => {
            serving.clients = Reading::Known(whole(number));
        }
        "failed requests" => serving.failures = Reading::Known(whole(number)),
        "request throughput" => serving.requests_per_s = Reading::Known(number),
        "output token throughput" => serving.generated_tokens_per_s = Reading::Known(number),
        "input token throughput" => serving.prompt_tokens_per_s = Reading::Known(number),
        "mean ttft" | "time to first token" => serving.times.first_token = time(),
        "mean tpot" => serving.times.per_token = time(),
        "mean itl" | "inter token latency" if !serving.times.per_token.is_known() => {
            serving.times.per_token = time();
        }
        "mean e2el" | "mean e2e latency" | "request latency" => serving.times.request = time(),
        _ => {}
    }
}
