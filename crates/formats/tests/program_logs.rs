//! What programs print: cut anywhere, damaged, and the logs of public incidents where they are at hand.

mod beside;

use std::fs;
use std::path::Path;

use gpuwhy_formats::Format;
use gpuwhy_formats::text::understand;
use gpuwhy_model::scene::{LogLine, NcclWay, ProgramFact};
use gpuwhy_model::units::{Bytes, Seconds};
use proptest::prelude::*;

use beside::beside;

/// Something of everything that is looked for.
const LOG: &str = r#"[rank1]: Traceback (most recent call last):
[rank0]:[E1130 10:00:00.123 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=17, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600071 milliseconds before timing out.
[rank1]:   File "/home/ana/train.py", line 88, in <module>
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 24.00 GiB of which 512.00 MiB is free. Process 71 has 3.00 GiB memory in use. Including non-PyTorch memory, this process has 20.50 GiB memory in use. Of the allocated memory 17.00 GiB is allocated by PyTorch, with 128.00 MiB allocated in private pools (e.g., CUDA Graphs), and 3.00 GiB is reserved by PyTorch but unallocated.
(EngineCore_0 pid=77) ERROR 11-30 10:00:00 [core.py:390] ValueError: To serve at least one request (8.00 GiB KV cache is needed, which is larger than the available KV cache memory (2.00 GiB)
2026-11-30T10:00:00.5Z ERROR shard: CUDA error 802: system not yet initialized
/x/cuda/__init__.py:209: UserWarning: Card 9 with CUDA capability sm_120 is not compatible with the current PyTorch
  installation. The current PyTorch install supports CUDA capabilities sm_50 sm_90.
iteration 12/ 99 | elapsed time per iteration (ms): 25500.0 | lm loss: nan |
run.sh: line 2: 77 Killed   python3 train.py

|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 1                 |
| Allocated memory      |    1000 MB |    4877 MB |
| GPU reserved memory   |    9000 MB |   12420 MB |
"#;

fn facts(text: &str) -> Vec<LogLine> {
    understand(text).pieces.into_iter().flat_map(|piece| piece.scene.program).collect()
}

#[test]
fn cut_anywhere_nothing_is_invented() {
    let whole: Vec<String> = facts(LOG).iter().filter_map(number_of_memory).collect();
    assert_eq!(whole.len(), 1);
    for end in (0..LOG.len()).filter(|end| LOG.is_char_boundary(*end)) {
        for line in facts(&LOG[..end]) {
            let Some(ProgramFact::OutOfCardMemory(memory)) = line.fact else { continue };
            // A number that is cut is shorter, never another one.
            for (bytes, most) in
                [(memory.total, 24 << 30), (memory.requested, 2 << 30), (memory.this_process, 20992 << 20)]
            {
                assert!(bytes.is_none_or(|bytes| bytes.0 <= most), "{end}: {bytes:?}");
            }
        }
        let _ = facts(&LOG[end..]);
    }
}

fn number_of_memory(line: &LogLine) -> Option<String> {
    match &line.fact {
        Some(ProgramFact::OutOfCardMemory(memory)) => Some(format!("{memory:?}")),
        _ => None,
    }
}

proptest! {
    #[test]
    fn damage_is_survived(changes in prop::collection::vec((0..LOG.len(), any::<u8>()), 1..12), start in 0..LOG.len()) {
        let mut bytes = LOG.as_bytes().to_vec();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        let _ = facts(&String::from_utf8_lossy(&bytes[start..]));
    }

    #[test]
    fn any_words_are_survived(words in prop::collection::vec(
        "Traceback \\(most recent call last\\):|  File \"a\", line 3|[A-Z][a-z]{0,6}Error: |\\[rank[0-9]{1,12}\\]: |\n|CUDA error[ :]|[0-9.]{0,24} GiB|Tried to allocate |[\\[\\](){}:;'\"]{0,4}|loss[: =]|nan|é{0,3}|exitcode: -[0-9]{1,20}|\\(pid: [0-9]{0,20}\\)",
        0..40,
    )) {
        let _ = facts(&words.concat());
    }
}

fn of_incident(folder: &Path, file: &str) -> Vec<LogLine> {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let understood = understand(&text);
    let is_read = understood.pieces.iter().any(|piece| piece.format == Format::ProgramLog);
    assert!(is_read, "{file}: {:?}", understood.unknown_lines);
    facts(&text)
}

fn first<'line>(lines: &'line [LogLine], file: &str) -> &'line ProgramFact {
    lines.iter().find_map(|line| line.fact.as_ref()).unwrap_or_else(|| panic!("{file}: no fact in {lines:?}"))
}

#[test]
fn figures_of_incidents_are_read() {
    let Some(folder) = beside("corpus") else { return };
    let memory = |file: &str| match first(&of_incident(&folder, file), file).clone() {
        ProgramFact::OutOfCardMemory(memory) => memory,
        other => panic!("{file}: {other:?}"),
    };
    let mebibytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0 >> 20);
    let group = memory("A-04-oom-with-69mib-allocated/traceback.txt");
    assert_eq!(group.card, Some(0));
    assert_eq!(
        [group.requested, group.total, group.allocated, group.free, group.reserved].map(mebibytes),
        [Some(216), Some(8110), Some(69), Some(24), Some(86)]
    );
    let vllm = memory("A-13-vllm-prompt-logprobs-oom/traceback.txt");
    let others: Vec<(u32, u64)> =
        vllm.others.iter().map(|other| (other.pid.0, other.bytes.0 >> 20)).collect();
    assert_eq!(others, [(29_153, 248), (162_529, 248), (162_519, 20_766)]);
}

#[test]
fn words_of_incidents_are_understood() {
    let Some(folder) = beside("corpus") else { return };
    let fact = |file: &str| first(&of_incident(&folder, file), file).clone();
    assert!(matches!(fact("A-01-orphan-enginecore-gb10/vllm-startup.log"), ProgramFact::ServerMemory(_)));
    assert!(matches!(
        fact("A-25-driver-10010-for-cu102/traceback.txt"),
        ProgramFact::DriverTooOld { supports: Some(supports), .. } if supports == "10.1"
    ));
    for (file, code) in [
        ("A-26-error-804-geforce-525/warning.txt", 804),
        ("A-40-k40-exclusive-process/error.txt", 46),
        ("A-41-exclusive-mode-many-workers/traceback.txt", 46),
        ("A-49-one-blackwell-lost-driver-poisoned/new-process.txt", 999),
        ("A-53-3090-xid154-no-devices/traceback.txt", 719),
        ("A-57-sram-uncorrectable-volatile-1-aggregate-5/error.txt", 214),
    ] {
        assert!(
            matches!(fact(file), ProgramFact::Cuda(error) if error.code == code),
            "{file}: {:?}",
            fact(file)
        );
    }
    let lines = of_incident(&folder, "B-06-ecc-then-oom-same-node/job1.log");
    assert!(
        lines.iter().any(|line| matches!(&line.fact, Some(ProgramFact::Cuda(error)) if error.code == 214)),
        "{lines:?}"
    );
    let lines = of_incident(&folder, "B-06-ecc-then-oom-same-node/job2.log");
    assert!(lines.iter().any(|line| matches!(line.fact, Some(ProgramFact::OutOfCardMemory(_)))), "{lines:?}");
    let lines = of_incident(&folder, "B-38-ib-device-not-usable-in-docker/nccl.log");
    let ways: Vec<NcclWay> = lines
        .iter()
        .filter_map(|line| match line.fact {
            Some(ProgramFact::NcclWay(way)) => Some(way),
            _ => None,
        })
        .collect();
    assert!(ways.contains(&NcclWay::DeviceNotOpened) && ways.contains(&NcclWay::Socket), "{ways:?}");
    assert!(matches!(
        fact("B-39-loader-4-workers-2-cores/warning.txt"),
        ProgramFact::TooManyWorkers(workers) if (workers.wanted, workers.suggested) == (4, 2)
    ));
    assert!(matches!(
        fact("B-58-slurm-default-memory-kills-workers/error.txt"),
        ProgramFact::ProcessEnd(end) if end.signal == Some(9) && end.is_loader
    ));
    let lines = of_incident(&folder, "B-62-shm-error-but-94g-free/error.log");
    assert!(
        lines
            .iter()
            .any(|line| matches!(&line.fact, Some(ProgramFact::ProcessEnd(end)) if end.signal == Some(7))),
        "{lines:?}"
    );
    let lines = of_incident(&folder, "B-31-page-cache-ends-after-100-steps/train.log");
    let Some(ProgramFact::Step(step)) = &lines[5].fact else { panic!("{lines:?}") };
    assert_eq!((step.took, step.waited_for_data), (Some(Seconds(8.719)), Some(Seconds(8.597))));
    let lines = of_incident(&folder, "B-29-vllm-kv-preempt-swap-98-pending/vllm.log");
    let Some(ProgramFact::ServerState(state)) = &lines[0].fact else { panic!("{lines:?}") };
    assert_eq!((state.running, state.waiting, state.cache_percent), (Some(2), Some(98), Some(73.8)));
    assert!(
        lines
            .iter()
            .any(|line| matches!(&line.fact, Some(ProgramFact::ServerState(state)) if state.is_preempted))
    );
    for file in ["B-03-straggler-gpu-384-training/train.log", "B-32-mxnet-800-to-108-samples/train.log"] {
        assert!(matches!(fact(file), ProgramFact::Step(_)), "{file}");
    }
    assert!(matches!(fact("B-59-gcs-stream-resets/train.log"), ProgramFact::InputBrokeOff));
    let lines = of_incident(&folder, "A-16-one-segment-pinned-by-small-blocks/memory-summary.txt");
    assert!(
        matches!(&lines[0].fact, Some(ProgramFact::AllocatorState(state)) if state.allocated == Some(Bytes::from_mebibytes(1062)))
    );
}
