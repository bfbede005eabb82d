//! Traces with values that were worked out by hand.

use gpuwhy_model::scene::Trace;
use gpuwhy_model::units::Share;

use super::read;
use crate::Format;
use crate::text::{Remark, understand};

/// Two steps of 1000 µs. Kernels: 0-200, 300-400 (exchange 350-600), copy 600-650; rests of 100 (host code), 350 (data) …
const TRACE: &str = r#"{
  "schemaVersion": 1,
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "deviceProperties": [ {"id": 0, "name": "NVIDIA H100", "numSms": 132} ],
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "args": {"name": "python"}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 77, "tid": 77, "ts": 0, "dur": 1000},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 77, "tid": 77, "ts": 1000, "dur": 1000},
  {"ph": "X", "cat": "kernel", "name": "gemm<float, 3>", "pid": 0, "tid": 7, "ts": 0, "dur": 200, "args": {"device": 0, "stream": 7}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 77, "tid": 77, "ts": 190, "dur": 110, "args": {"Input Dims": [[2, []]]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77, "ts": 250, "dur": 5},
  {"ph": "X", "cat": "kernel", "name": "gemm<float, 3>", "pid": 0, "tid": 7, "ts": 300, "dur": 100, "args": {"device": 0}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 9, "ts": 350, "dur": 250, "args": {"device": 0}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 600, "dur": 50, "args": {"device": 0}},
  {"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 77, "tid": 77, "ts": 650, "dur": 300},
  {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 1000, "dur": 5, "args": {"device": 0}},
  {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 1015, "dur": 985, "args": {"device": 0}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 77, "tid": 77, "ts": 1500, "dur": 500},
  {"ph": "f", "id": 2, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 300},
  {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 2000}
  ],
  "traceName": "x.pt.trace.json"
}
"#;

fn only(text: &str) -> Trace {
    let understood = understand(text);
    assert!(understood.unknown_lines.is_empty());
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    assert_eq!(formats, [Format::Trace]);
    understood.pieces.into_iter().next().unwrap().scene.traces.remove(0)
}

fn near(share: Share, expected: f64) -> bool {
    (share.0 - expected).abs() < 1e-9
}

#[test]
fn shares_of_a_step_are_worked_out() {
    let trace = only(TRACE);
    assert_eq!((trace.rank, trace.members, trace.card), (Some(3), Some(8), Some(0)));
    assert_eq!(trace.card_name.as_deref(), Some("NVIDIA H100"));
    assert_eq!((trace.steps, trace.step.map(|step| step.0), trace.span.0), (2, Some(0.001), 0.002));
    assert_eq!((trace.kernels, trace.launches), (5, 1));
    assert!(
        near(trace.compute, 1290.0 / 2000.0)
            && near(trace.exchange, 0.125)
            && near(trace.exchange_alone, 0.1)
    );
    assert!(near(trace.copies, 0.025) && near(trace.copies_alone, 0.025));
    // 100 + 350 + 10 µs.
    assert!(near(trace.idle, 0.23), "{:?}", trace.idle);
    assert!(
        near(trace.idle_by.data, 0.15)
            && near(trace.idle_by.host_code, 0.05)
            && near(trace.idle_by.launches, 0.005)
    );
    assert!(
        near(trace.idle_by.unknown, 0.025) && near(trace.host_waits, 0.25) && near(trace.short_kernels, 0.2)
    );
    assert!(trace.has_data_marks && trace.has_host && !trace.is_coarse);
}

#[test]
fn one_line_several_and_a_reader_give_the_same() {
    let compact: String = TRACE.lines().map(str::trim).collect();
    assert_eq!(only(&compact), only(TRACE));
    assert_eq!(read(TRACE.as_bytes()).unwrap().scene.traces, [only(TRACE)]);
    let behind = format!("$ cat t.json\n{TRACE}\n$ echo done\n");
    assert_eq!(understand(&behind).pieces[0].scene.traces, [only(TRACE)]);
}

#[test]
fn a_trace_that_is_cut_keeps_its_events() {
    let cut = &TRACE[..TRACE.find("enumerate").unwrap()];
    let understood = understand(cut);
    assert_eq!(understood.pieces[0].scene.traces[0].kernels, 3);
    assert!(
        matches!(understood.pieces[0].remarks[..], [Remark::Cut { line: 15, .. }]),
        "{:?}",
        understood.pieces[0].remarks
    );
    assert!(understood.unknown_lines.is_empty());
}

#[test]
fn traces_without_categories_are_read() {
    let trace = only(
        "[\n{\"ph\":\"M\",\"pid\":9,\"name\":\"process_name\",\"args\":{\"name\":\"/device:GPU:1 NVIDIA A100\"}},\n\
         {\"ph\":\"X\",\"pid\":9,\"tid\":13,\"ts\":1.5,\"dur\":2.0,\"name\":\"fusion_2\"},\n\
         {\"ph\":\"X\",\"pid\":9,\"tid\":13,\"ts\":5.5,\"dur\":2.0,\"name\":\"ncclKernel_AllGather\"},\n\
         {\"ph\":\"X\",\"pid\":4,\"tid\":13,\"ts\":5.5,\"dur\":2.0,\"name\":\"PjitFunction(f)\"}\n]\n",
    );
    assert_eq!((trace.card, trace.kernels), (Some(1), 2));
    assert!(near(trace.idle, 2.0 / 6.0) && near(trace.exchange_alone, 2.0 / 6.0));
    assert!(near(trace.idle_by.unknown, 2.0 / 6.0) && !trace.has_host);
}

#[test]
fn other_documents_are_none() {
    for text in [
        "{\"a\": 1}",
        "[1, 2]",
        "{\n\"traceEvents\": []\n}",
        "{",
        "[\n{\"ph\": \"X\"",
        "{\"traceEvents\": 3}",
        "{\"traceEvents\": [[]]}",
    ] {
        let understood = understand(text);
        assert!(understood.pieces.iter().all(|piece| piece.format != Format::Trace), "{text}");
    }
    let deep = format!("{{\"traceEvents\": [{{\"ph\":\"X\",\"args\":{}", "[".repeat(100_000));
    assert!(understand(&deep).pieces.is_empty());
}
