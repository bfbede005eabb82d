//! Metrics, stacks, profiles, load tests and traces that are cut anywhere or damaged: nothing panics or loops.

use gpuwhy_formats::text::understand;
use gpuwhy_formats::{Format, trace};
use proptest::prelude::*;

/// A little of each format, several outputs in a row.
const PASTE: &str = r#"$ curl -s localhost:9400/metrics
# HELP DCGM_FI_DEV_POWER_VIOLATION Throttling duration (in us).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",GPU_I_ID="7",GPU_I_PROFILE="1g.5gb",Hostname="n"} 97 1700000000123
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1"} 61000
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-1"} 20000
node_cpu_seconds_total{cpu="0",mode="user"} 100
node_memory_MemTotal_bytes 6.7e+10
vllm:num_requests_waiting{engine="0",model_name="m \"x\""} 9.0
vllm:time_to_first_token_seconds_bucket{le="0.5",model_name="m"} 10.0 # {trace_id="7"} 0.05
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} 10.0
vllm:time_to_first_token_seconds_count{model_name="m"} 10
vllm:time_to_first_token_seconds_sum{model_name="m"} 1e3
$ sleep 10; curl -s localhost:9400/metrics
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",GPU_I_ID="7",GPU_I_PROFILE="1g.5gb",Hostname="n"} 9 1700000010123
vllm:num_requests_waiting{engine="0",model_name="m \"x\""} 19.0
# node A
Process 77: python train.py
Python v3.10.12 (/usr/bin/python3.10)
Thread 77 (active+gil): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
        Locals:
    main (train.py:88)
Thread 0x7f11 (most recent call first):
  File "/x/queue.py", line 171 in get
GIL: 12.00%, Active: 180.00%, Threads: 9
  %Own   %Total  OwnTime  TotalTime  Function (filename:line)
 70.00%  80.00%    6.30s     7.20s   acquire_read (vllm/shm_broadcast.py:88)
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.82    0.340000         120      2834        12 read
Request concurrency: 512
  Client:
    Throughput: 1000 infer/sec
  Server:
    Inference count: 5000
    Avg request latency: 505000 usec (overhead 1000 usec + queue 480000 usec + compute input 2000 usec + compute infer 20000 usec)
============ Serving Benchmark Result ============
Mean TTFT (ms):                          4200.0
INFO 11-30 10:00:00 metrics.py:349] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 7.5 tokens/s, Running: 2 reqs, Pending: 98 reqs, GPU KV cache usage: 73.8%
$ zcat trace.json.gz
{
  "schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2},
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "/device:GPU:0"}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1e3, "dur": 5.5, "args": {"device": 0, "x": [1, {}]}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": "7", "tid": "main", "ts": 0, "dur": 2000}
  ]
}
"#;

#[test]
fn a_paste_that_is_cut_anywhere_is_read() {
    let formats: Vec<Format> = understand(PASTE).pieces.iter().map(|piece| piece.format).collect();
    for format in
        [Format::Prometheus, Format::Stacks, Format::PySpyTop, Format::StraceSummary, Format::PerfAnalyzer]
    {
        assert!(formats.contains(&format), "{formats:?}");
    }
    for format in [Format::LoadTest, Format::ProgramLog, Format::Trace] {
        assert!(formats.contains(&format), "{formats:?}");
    }
    for length in (0..PASTE.len()).filter(|length| PASTE.is_char_boundary(*length)) {
        let _ = understand(&PASTE[..length]);
        // What begins inside of a line does so at any of its places.
        if length % 7 == 0 {
            let _ = understand(&PASTE[length..]);
        }
    }
}

#[test]
fn what_was_whole_stays_when_the_end_is_cut() {
    let end = PASTE.find("$ sleep").unwrap();
    let scene = |text: &str| understand(text).pieces.into_iter().next().map(|piece| piece.scene);
    let whole = scene(&PASTE[..end]).unwrap();
    assert_eq!(whole.cards.len(), 2);
    // A line that is cut may lose digits: what stood before it does not change.
    let cut = scene(&PASTE[..PASTE.find("node_cpu").unwrap()]).unwrap();
    assert_eq!(cut.cards, whole.cards);
}

#[test]
fn long_and_deep_ones_end() {
    let braces = format!("a{{x=\"{}", "\\\"".repeat(100_000));
    let labels = format!("a{{{}}} 1", "x=\"1\",".repeat(100_000));
    let threads = "Thread 7 (idle): \"MainThread\"\n".repeat(20_000) + "    f (a.py:1)\n";
    let remarks = "# node x\n".repeat(20_000);
    let objects = "{\"a\": 1}\n{\n".repeat(5_000);
    let nested = format!("{{\"traceEvents\": {}", "[".repeat(100_000));
    for text in [braces, labels, threads, remarks, objects, nested] {
        let _ = understand(&text);
    }
    let series: Vec<String> = (0..20_000)
        .map(|place| format!("vllm:num_requests_running{{model_name=\"m{place}\"}} 1\n"))
        .collect();
    assert_eq!(understand(&series.concat()).pieces.len(), 1);
}

proptest! {
    #[test]
    fn damaged_text_is_survived(
        start in 0..PASTE.len(),
        changes in prop::collection::vec((0..PASTE.len(), any::<u8>()), 0..12),
    ) {
        let mut bytes = PASTE.as_bytes().to_vec();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        let _ = understand(&String::from_utf8_lossy(&bytes[start..]));
        let _ = trace::read(&bytes[start..]);
    }

    #[test]
    fn any_line_of_metrics_is_survived(text in "[a-z_:]{0,8}[{=\", }\\\\0-9.eE+#\\-]{0,40}") {
        let _ = understand(&text);
        let _ = understand(&format!("# HELP a b\n{text}\n{text}\n"));
    }
}
