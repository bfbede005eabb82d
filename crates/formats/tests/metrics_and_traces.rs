//! Metrics, traces, stacks and serving logs of real machines and published incidents, with values that were read by eye.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]
#![expect(clippy::float_cmp, reason = "whole numbers, and figures as they were written, are kept exactly")]

mod beside;

use std::fs;
use std::io::Read;

use beside::beside;
use flate2::read::GzDecoder;
use gpuwhy_formats::text::{Understood, understand};
use gpuwhy_formats::{Format, trace};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::CardKind;
use gpuwhy_model::scene::{ProgramFact, Scene, ServerState, Trace};
use gpuwhy_model::units::{Bytes, Seconds, Share};

fn understood(path: &str) -> Option<Understood> {
    let text = fs::read_to_string(beside(path)?).unwrap();
    Some(understand(&text))
}

fn only(path: &str, format: Format) -> Option<Scene> {
    let understood = understood(path)?;
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    assert_eq!(formats, [format], "{path}");
    Some(understood.pieces.into_iter().next().unwrap().scene)
}

#[test]
fn metrics_of_servers_are_read() {
    if let Some(scene) =
        only("testdata/serving-metrics/Sahil170595-Chimeraforge__sglang_metrics.txt", Format::Prometheus)
    {
        let server = &scene.serving[0];
        assert_eq!((server.engine.as_str(), server.model.as_str()), ("sglang", "m"));
        assert_eq!((server.running.clone(), server.waiting.clone()), (Reading::Known(22), Reading::Known(5)));
        let request = server.times.request.known().unwrap();
        assert_eq!((request.mean, request.n), (Seconds(3.5), 900));
    }
    if let Some(scene) =
        only("testdata/serving-metrics/botAGI-llmprobe__vllm_metrics_live.txt", Format::Prometheus)
    {
        let server = scene.serving.iter().find(|server| server.model == "llava-hf/llava-1.5-7b-hf").unwrap();
        assert_eq!(server.cache_used, Reading::Known(Share(0.314)));
        let nameless = scene.serving.iter().find(|server| server.model.is_empty()).unwrap();
        assert_eq!(
            (nameless.running.clone(), nameless.waiting.clone()),
            (Reading::Known(2), Reading::Known(0))
        );
        assert_eq!(nameless.swapped, Reading::Known(0));
        let model = scene.serving.iter().find(|server| server.model == "model-0").unwrap();
        assert_eq!(model.times.request.known().map(|time| time.n), Some(13));
    }
    if let Some(scene) = only(
        "testdata/serving-metrics/triton-inference-server-server__triton-metrics-samples.txt",
        Format::Prometheus,
    ) {
        let queue = scene.serving[0].times.queue.known().copied().unwrap();
        assert_eq!((queue.n, queue.p95), (161, Some(Seconds(98e-6))));
        assert!((queue.mean.0 - 11110e-6 / 161.0).abs() < 1e-12);
        assert_eq!(scene.serving[0].times.first_token.known().map(|time| time.n), Some(37));
    }
}

#[test]
fn metrics_of_cards_are_read() {
    if let Some(scene) =
        only("testdata/dcgm/run-ai-fake-gpu-operator__fraction-1-workload.prom", Format::Prometheus)
    {
        assert_eq!(scene.cards.len(), 2);
        let card = &scene.cards[0];
        assert_eq!(card.name, Reading::Known("Tesla T4".to_owned()));
        assert_eq!(card.uuid, Reading::Known("GPU-7a2e92f2-be71-d37e-a744-541600ffc722".to_owned()));
        assert_eq!(card.power.known().unwrap().last.0, 28.722);
        assert_eq!(card.temperature.known().unwrap().last.0, 55.0);
        assert_eq!(card.clocks.sm.known().unwrap().0, 585.0);
        let owner = card.given_to.known().unwrap();
        assert_eq!(
            owner.pod.as_deref(),
            Some("runai-reservation/runai-reservation-gpu-qa-mig-worker-gpu-1-kvltw")
        );
        assert!(!scene.cards[1].given_to.is_known());
        assert_eq!(scene.machine.driver.version, Reading::Known("525.60.13".to_owned()));
    }
    if let Some(understood) = understood("testdata/dcgm/run-ai-fake-gpu-operator__mig-4-active.prom") {
        let scene = &understood.pieces[0].scene;
        let instances: Vec<u32> = scene
            .cards
            .iter()
            .filter(|card| card.kind == CardKind::MigInstance && card.parent == Some(0))
            .map(|card| card.index)
            .collect();
        assert_eq!(instances, [5, 7, 8, 9]);
        let busy = scene.cards.iter().find(|card| card.index == 8 && card.parent == Some(0)).unwrap();
        let memory = busy.memory.known().unwrap();
        assert_eq!((memory.used, memory.free), (Bytes::from_mebibytes(4384), Bytes::from_mebibytes(480)));
        assert_eq!(scene.cards[0].power.known().unwrap().last.0, 112.252);
    }
    for name in ["mig-disabled-empty", "mig-enabled-empty", "mig-idle-allocated"] {
        let Some(understood) = understood(&format!("testdata/dcgm/run-ai-fake-gpu-operator__{name}.prom"))
        else {
            return;
        };
        assert!(
            understood
                .pieces
                .iter()
                .any(|piece| piece.format == Format::Prometheus && !piece.scene.cards.is_empty()),
            "{name}"
        );
    }
}

/// Reads the traces of a file: as a stream, and as text, which must say the same.
fn traces(name: &str) -> Option<Vec<Trace>> {
    let path = beside(&format!("testdata/pytorch-trace/facebookresearch-HolisticTraceAnalysis__{name}"))?;
    let mut text = String::new();
    GzDecoder::new(fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
    let streamed = trace::read(text.as_bytes()).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(streamed.cut_at, None, "{name}");
    let understood = understand(&text);
    assert_eq!(understood.pieces.len(), 1, "{name}: {:?}", understood.unknown_lines.len());
    assert_eq!(understood.pieces[0].scene.traces, streamed.scene.traces, "{name}");
    Some(streamed.scene.traces)
}

#[test]
fn traces_are_read() {
    let Some(nccl) = traces("nccl_data.json.gz") else { return };
    let [trace] = nccl.as_slice() else { panic!("{}", nccl.len()) };
    assert_eq!((trace.rank, trace.members, trace.card), (Some(0), Some(2), Some(0)));
    assert_eq!((trace.steps, trace.kernels, trace.launches), (3, 2700, 2700));
    assert_eq!(trace.card_name.as_deref(), Some("NVIDIA A100-PG509-200"));
    // Three steps of 222.4, 219.7 and 224.9 ms; kernels, copies and clearing take 165 ms of them.
    assert!((trace.step.unwrap().0 - 0.2224).abs() < 0.0005, "{:?}", trace.step);
    assert!((0.7..0.8).contains(&trace.idle.0), "{:?}", trace.idle);
    assert!(trace.has_host && !trace.is_coarse);

    let pair: Vec<Trace> = ["0", "1"]
        .iter()
        .flat_map(|rank| traces(&format!("trace_filter_sampled_rank-{rank}.json.gz")).unwrap())
        .collect();
    assert_eq!(pair.iter().map(|trace| trace.rank).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert!(pair.iter().all(|trace| trace.exchange.0 > 0.0 && trace.steps == 2));
    let amd = traces("mi250_minitoy_train_ROCm6_2_kineto.json.gz").unwrap();
    assert_eq!(
        (amd[0].card, amd[0].kernels, amd[0].card_name.as_deref()),
        (Some(2), 14, Some("AMD Radeon Graphics"))
    );
    let without_card = traces("cpu_only_rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz").unwrap();
    assert_eq!((without_card[0].card, without_card[0].rank), (None, Some(34)));
    for name in [
        "benchmark_result_2869224_1695835535_trace.json.gz",
        "benchmark_result_493459_1694039959_trace.json.gz",
        "benchmark_result_924719_1679055439_trace.json.gz",
        "critical_path_cuda_event_sync_event_sync_trace.json.gz",
        "triton_example.json.gz",
    ] {
        assert!(!traces(name).unwrap().is_empty(), "{name}");
    }
}

#[test]
fn a_list_that_is_no_trace_is_none() {
    let Some(path) =
        beside("testdata/pytorch-trace/facebookresearch-HolisticTraceAnalysis__memory_timeline.raw.gz")
    else {
        return;
    };
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    assert!(understand(&text).pieces.iter().all(|piece| piece.format != Format::Trace));
}

#[test]
fn published_incidents_are_read() {
    if let Some(scene) =
        only("corpus/B-54-triton-queue-242ms-infer-1.6ms/perf_analyzer.txt", Format::PerfAnalyzer)
    {
        let server = &scene.serving[0];
        assert_eq!(
            (server.clients.clone(), server.requests_per_s.clone()),
            (Reading::Known(1000), Reading::Known(4005.66))
        );
        assert!((server.times.queue.known().unwrap().mean.0 - 0.242_704).abs() < 1e-9);
        assert!((server.batch_mean.known().unwrap() - 72262.0 / 4518.0).abs() < 1e-9);
    }
    if let Some(scene) = only("corpus/B-53-serving-workers-spin-while-idle/py-spy-top.txt", Format::PySpyTop)
    {
        let profile = &scene.profiles[0];
        assert_eq!((profile.threads, profile.lock_held), (Some(5), Some(Share(0.49))));
        assert_eq!((profile.calls.len(), profile.calls[0].function.as_str()), (12, "sched_yield"));
    }
    if let Some(scene) = only("corpus/B-04-hang-dataloader-rank-gpu-100/pyspy-summary.txt", Format::Stacks) {
        assert_eq!(scene.stacks.len(), 16);
        let odd = scene.stacks.iter().find(|stack| stack.pid == Some(Pid(688_514))).unwrap();
        assert_eq!((odd.is_active, odd.node.as_deref(), odd.frames.len()), (Some(false), Some("A"), 13));
        assert_eq!(scene.stacks.iter().filter(|stack| stack.node.as_deref() == Some("B")).count(), 8);
    }
    if let Some(scene) = only("corpus/B-05-hang-ranks-out-of-step/pyspy-summary.txt", Format::Stacks) {
        assert_eq!(scene.stacks.len(), 2);
    }
    if let Some(understood) = understood("corpus/B-29-vllm-kv-preempt-swap-98-pending/vllm.log") {
        let states: Vec<&ServerState> = understood
            .pieces
            .iter()
            .flat_map(|piece| &piece.scene.program)
            .filter_map(|line| match &line.fact {
                Some(ProgramFact::ServerState(state)) => Some(state),
                _ => None,
            })
            .collect();
        assert_eq!(
            (states[0].running, states[0].waiting, states[0].cache_percent),
            (Some(2), Some(98), Some(73.8))
        );
        assert_eq!((states[1].cache_percent, states[1].generated_tokens_per_s), (Some(86.1), Some(7154.5)));
        assert!(states[2].is_preempted);
    }
}
