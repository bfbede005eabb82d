//! Results of load tests on model servers: `perf_analyzer`, GenAI-Perf and the benchmark of vLLM and `SGLang`.

mod perf_analyzer;
mod table;

use gpuwhy_model::scene::{Provenance, Scene, Serving, SourceKind};

pub(super) use perf_analyzer::read as read_perf_analyzer;
pub(super) use table::read as read_table;

use super::block::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// Makes a block of what one test says.
fn block(lines: usize, format: Format, serving: Serving) -> Block {
    let provenance = Provenance { source: SourceKind::Text, inputs: vec![format.to_string()] };
    let scene = Scene { serving: vec![serving], provenance, ..Scene::default() };
    Block { lines, scene, remarks: Vec::new() }
}

/// Returns the number that a text begins with; thousands may be set apart by commas.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let length =
        text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.' || *byte == b',').count();
    let number = text[..length].trim_end_matches(['.', ',']).replace(',', "");
    number.parse().ok().filter(|number: &f64| number.is_finite() && *number < 1e15)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers are read without a sign and are small"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::Serving;
    use gpuwhy_model::units::Seconds;

    use crate::text::understand;

    fn server(text: &str) -> Serving {
        let understood = understand(text);
        assert!(understood.unknown_lines.is_empty(), "{:?}", understood.unknown_lines);
        assert_eq!(understood.pieces.len(), 1);
        understood.pieces.into_iter().next().unwrap().scene.serving.remove(0)
    }

    #[test]
    fn the_heaviest_load_of_perf_analyzer_counts() {
        let read = server(
            "*** Measurement Settings ***\n  Batch size: 1\n  Measurement window: 5000 msec\n\nRequest concurrency: 4\n  Client:\n\
             \x20   Request count: 4000\n    Throughput: 800.5 infer/sec\n    Avg latency: 5000 usec (standard deviation 9 usec)\n\
             Request concurrency: 512\n  Client:\n    Request count: 5000\n    Throughput: 1000 infer/sec\n\
             \x20   p50 latency: 500000 usec\n    p95 latency: 520000 usec\n    Avg latency: 510000 usec (standard deviation 9 usec)\n\
             \x20 Server:\n    Inference count: 5000\n    Execution count: 625\n    Successful request count: 5000\n\
             \x20   Avg request latency: 505000 usec (overhead 1000 usec + queue 480000 usec + compute input 2000 usec + \
             compute infer 20000 usec + compute output 2000 usec)\n\n\
             Inferences/Second vs. Client Average Batch Latency\nConcurrency: 4, throughput: 800.5 infer/sec, latency 5000 usec\n\
             Concurrency: 512, throughput: 1000 infer/sec, latency 510000 usec\n",
        );
        assert_eq!((read.engine.as_str(), read.clients), ("triton", Reading::Known(512)));
        assert_eq!(read.requests_per_s, Reading::Known(1000.0));
        assert_eq!(read.batch_mean, Reading::Known(8.0));
        let times = read.times;
        assert_eq!(
            times.request.known().map(|time| (time.mean, time.p95)),
            Some((Seconds(0.505), Some(Seconds(0.52))))
        );
        assert_eq!(times.queue.known().map(|time| time.mean), Some(Seconds(0.48)));
        assert_eq!(times.compute.known().map(|time| time.mean), Some(Seconds(0.02)));
        assert_eq!(times.transfer.known().map(|time| time.mean), Some(Seconds(0.004)));
    }

    #[test]
    fn a_result_that_is_cut_keeps_what_is_whole() {
        let read = server(
            "Request concurrency: 64\n  Client:\n    Request count: 70\n    Throughput: 9 infer/sec\n  Server:\n\
             \x20   Avg request latency: 7000 usec (overhead 1 usec + queue 6000 usec + compute inp",
        );
        assert_eq!(read.times.queue.known().map(|time| time.mean), Some(Seconds(0.006)));
        assert!(
            !read.times.compute.is_known() && !read.times.transfer.is_known() && !read.batch_mean.is_known()
        );
    }

    #[test]
    fn benchmarks_of_servers_are_read() {
        let read = server(
            "============ Serving Benchmark Result ============\nSuccessful requests:                     1,000\n\
             Maximum request concurrency:             256\nBenchmark duration (s):                  50.00\n\
             Request throughput (req/s):              20.00\nOutput token throughput (tok/s):         2500.5\n\
             ---------------Time to First Token----------------\nMean TTFT (ms):                          4200.0\n\
             P99 TTFT (ms):                           9000.0\n-----Time per Output Token (excl. 1st token)------\n\
             Mean TPOT (ms):                          21.0\n==================================================\n",
        );
        assert_eq!((read.clients, read.requests_per_s), (Reading::Known(256), Reading::Known(20.0)));
        assert_eq!(read.generated_tokens_per_s, Reading::Known(2500.5));
        assert_eq!(read.times.first_token.known().map(|time| time.mean), Some(Seconds(4.2)));
        assert_eq!(read.times.per_token.known().map(|time| time.mean), Some(Seconds(0.021)));
    }

    #[test]
    fn the_table_of_genai_perf_is_read() {
        let read = server(
            "                     NVIDIA GenAI-Perf | LLM Metrics\n┏━━━━━━━━━━┳━━━━━┓\n┃ Statistic ┃ avg ┃ min ┃ max ┃ p99 ┃\n┡━━━━━╇━━━┩\n\
             │ Time to first token (ms) │ 1,626.5 │ 12.3 │ 17.2 │ 17.0 │\n│ Inter token latency (ms) │ 1.85 │ 1.5 │ 2.0 │ 2.0 │\n\
             │ Request throughput (per sec) │ 3.5 │ N/A │ N/A │ N/A │\n└──────┴────┘\n",
        );
        assert_eq!(read.times.first_token.known().map(|time| time.mean), Some(Seconds(1.6265)));
        assert_eq!(read.requests_per_s, Reading::Known(3.5));
    }
}
