//! What model servers log of their requests: how many run and wait, how full the cache is, who was put back or refused.

use gpuwhy_model::scene::ServerState;
use gpuwhy_model::units::Seconds;

/// Words with which a server refuses a request because too many wait.
const REFUSALS: &[&str] = &[
    "server busy, please try again",
    "maximum pending requests exceeded",
    "Exceeds maximum queue size",
    "Model is overloaded",
    "The request queue is full",
    "request queue is full",
    "Server is at capacity",
];

/// Words with which a server puts a request back for want of cache.
const PREEMPTIONS: &[(&str, &str)] = &[
    ("is preempted by PreemptionMode", "vllm"),
    ("preempted because there is not enough KV cache space", "vllm"),
    ("KV cache pool is full. Retract requests", "sglang"),
    ("KV cache pool is full. retract requests", "sglang"),
    ("Decode out of memory happened", "sglang"),
    ("decode out of memory happened", "sglang"),
    ("due to insufficient KV cache", "lmdeploy"),
];

/// Returns what a line says of a server's requests, if it says anything.
pub(super) fn state(text: &str) -> Option<ServerState> {
    if let Some(state) = vllm(text).or_else(|| sglang(text)).or_else(|| tgi(text)) {
        return Some(state);
    }
    if let Some((_, software)) = PREEMPTIONS.iter().find(|(words, _)| text.contains(words)) {
        return Some(ServerState {
            software: Some((*software).to_owned()),
            is_preempted: true,
            preemptions_ever: whole_after(text, "total_num_cumulative_preemption="),
            ..ServerState::default()
        });
    }
    let is_refused = REFUSALS.iter().any(|words| text.contains(words)) || is_ollama_refusal(text);
    is_refused.then(|| ServerState { is_refused, ..ServerState::default() })
}

/// `Avg prompt throughput: 1.0 tokens/s, …, Running: 2 reqs, Waiting: 9 reqs, GPU KV cache usage: 73.8%`
fn vllm(text: &str) -> Option<ServerState> {
    let is_load =
        text.contains(" reqs") && text.contains("Running: ") || text.contains("Avg generation throughput: ");
    if !is_load {
        return None;
    }
    Some(ServerState {
        software: Some("vllm".to_owned()),
        running: whole_after(text, "Running: "),
        // Requests that wait for something beside the cache are counted apart by newer versions.
        waiting: sum(
            whole_after(text, "Waiting: ").or_else(|| whole_after(text, "Pending: ")),
            whole_after(text, "Deferred: "),
        ),
        swapped: whole_after(text, "Swapped: "),
        cache_percent: number_after(text, "GPU KV cache usage: ")
            .or_else(|| number_after(text, "GPU cache usage: ")),
        prompt_tokens_per_s: number_after(text, "prompt throughput: "),
        generated_tokens_per_s: number_after(text, "generation throughput: "),
        ..ServerState::default()
    })
}

/// `Decode batch. #running-req: 4, #token: 99, token usage: 0.02, gen throughput (token/s): 318.20, #queue-req: 0`
fn sglang(text: &str) -> Option<ServerState> {
    if !text.contains("#running-req: ") && !text.contains("#queue-req: ") {
        return None;
    }
    let cache_share = number_after(text, "token usage: ");
    Some(ServerState {
        software: Some("sglang".to_owned()),
        running: whole_after(text, "#running-req: "),
        waiting: sum(whole_after(text, "#queue-req: "), whole_after(text, "#pending-req: ")),
        cache_percent: cache_share.map(|share| share * 100.0),
        prompt_tokens_per_s: number_after(text, "input throughput (token/s): "),
        generated_tokens_per_s: number_after(text, "gen throughput (token/s): "),
        ..ServerState::default()
    })
}

/// `… total_time="5.1s" validation_time="610µs" queue_time="3.2s" inference_time="1.9s" …: Success`, as text or JSON.
fn tgi(text: &str) -> Option<ServerState> {
    if !text.contains("queue_time") || !text.contains("total_time") {
        return None;
    }
    Some(ServerState {
        software: Some("tgi".to_owned()),
        queue_time: Some(time_after(text, "queue_time")?),
        request_time: Some(time_after(text, "total_time")?),
        ..ServerState::default()
    })
}

/// `[GIN] 2026/11/30 - 10:00:00 | 503 | 1.2ms | 127.0.0.1 | POST "/api/chat"`: only a full queue answers so.
fn is_ollama_refusal(text: &str) -> bool {
    text.contains("[GIN]")
        && text.split('|').nth(1).is_some_and(|code| code.trim() == "503")
        && (text.contains("/api/") || text.contains("/v1/"))
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.map(|one| one.saturating_add(other.unwrap_or(0)))
}

/// Returns the number behind a label.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let rest = text[text.find(label)? + label.len()..].trim_start();
    let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let whole = rest[..length].trim_end_matches('.');
    whole.parse().ok()
}

fn whole_after(text: &str, label: &str) -> Option<u64> {
    let rest = text[text.find(label)? + label.len()..].trim_start();
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..length].parse().ok()
}

/// Returns the time behind a name: `="3.2s"`, `":"610.4µs"`, `=1.5ms`.
fn time_after(text: &str, name: &str) -> Option<Seconds> {
    let rest = text[text.find(name)? + name.len()..].trim_start_matches(['"', '\\', '=', ':', ' ']);
    let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, unit) = rest.split_at(length);
    let number: f64 = number.parse().ok()?;
    let units = [("ns", 1e-9), ("µs", 1e-6), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (_, factor) = units.iter().find(|(name, _)| unit.starts_with(name))?;
    Some(Seconds(number * factor))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::ServerState;
    use gpuwhy_model::units::Seconds;

    use super::state;

    #[test]
    fn lines_of_vllm_of_all_ages_are_read() {
        let old = state(
            "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 512.5 tokens/s, Running: 3 reqs, Swapped: 1 reqs, \
             Pending: 41 reqs, GPU KV cache usage: 91.5%, CPU KV cache usage: 0.2%.",
        )
        .unwrap();
        assert_eq!((old.running, old.waiting, old.swapped), (Some(3), Some(41), Some(1)));
        assert_eq!((old.cache_percent, old.generated_tokens_per_s), (Some(91.5), Some(512.5)));
        let new = state(
            "Engine 000: Avg prompt throughput: 8123.4 tokens/s, Avg generation throughput: 17.0 tokens/s, Running: 6 reqs, \
             Waiting: 88 reqs, Deferred: 2 reqs, GPU KV cache usage: 18.7%, Prefix cache hit rate: 4.0%",
        )
        .unwrap();
        assert_eq!((new.running, new.waiting, new.cache_percent), (Some(6), Some(90), Some(18.7)));
        assert_eq!(new.prompt_tokens_per_s, Some(8123.4));
        let cut = state(
            "Engine 001: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 5 reqs, Wai",
        );
        assert_eq!(cut.map(|cut| (cut.running, cut.waiting)), Some((Some(5), None)));
    }

    #[test]
    fn lines_of_sglang_are_read() {
        let decode = state(
            "Decode batch. #running-req: 37, #token: 180221, token usage: 0.94, cuda graph: True, gen throughput (token/s): 1290.33, \
             #queue-req: 12,",
        )
        .unwrap();
        assert_eq!((decode.running, decode.waiting), (Some(37), Some(12)));
        assert_eq!((decode.cache_percent, decode.generated_tokens_per_s), (Some(94.0), Some(1290.33)));
        let prefill = state(
            "Prefill batch, #new-seq: 2, #new-token: 8192, #cached-token: 0, full token usage: 0.11, #running-req: 9, \
             #queue-req: 77, input throughput (token/s): 20480.50",
        )
        .unwrap();
        assert_eq!((prefill.running, prefill.waiting), (Some(9), Some(77)));
        assert_eq!(prefill.prompt_tokens_per_s, Some(20480.5));
    }

    #[test]
    fn times_of_single_requests_are_read() {
        for text in [
            "generate{total_time=\"5.1s\" validation_time=\"610µs\" queue_time=\"3200ms\" inference_time=\"1.9s\"}: Success",
            "{\"message\":\"Success\",\"span\":{\"queue_time\":\"3.2s\",\"total_time\":\"5.1s\"}}",
        ] {
            let read = state(text).unwrap();
            assert_eq!(
                (read.queue_time, read.request_time),
                (Some(Seconds(3.2)), Some(Seconds(5.1))),
                "{text}"
            );
        }
    }

    #[test]
    fn requests_that_are_put_back_or_refused_are_seen() {
        let put_back = state(
            "Sequence group cmpl-7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. \
             total_num_cumulative_preemption=51",
        )
        .unwrap();
        assert_eq!((put_back.is_preempted, put_back.preemptions_ever), (true, Some(51)));
        assert!(state("KV cache pool is full. Retract requests. #retracted_reqs: 3").unwrap().is_preempted);
        let refused = ServerState { is_refused: true, ..ServerState::default() };
        for text in [
            "[GIN] 2026/11/30 - 10:00:00 | 503 |     45.1µs |   10.0.0.7 | POST     \"/api/chat\"",
            "server busy, please try again.  maximum pending requests exceeded",
        ] {
            assert_eq!(state(text).as_ref(), Some(&refused), "{text}");
        }
    }

    #[test]
    fn other_lines_say_nothing_of_requests() {
        for text in ["Running: setup.py", "Waiting: 3 jobs", "loading the model", "queue_time=3", "| 503 |"] {
            assert_eq!(state(text), None, "{text}");
        }
    }
}
