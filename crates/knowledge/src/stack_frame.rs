//! What a thread does that stands in a function.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::pattern::is_one_of;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameKind {
    /// It exchanges data with other members of its job, or waits for them to come.
    Exchange,
    /// It waits for its next data.
    Data,
    /// It asks for requests.
    Poll,
    /// It waits for the card.
    Card,
    /// It saves something.
    Save,
    /// It reads files.
    Storage,
    /// It reads from the network.
    Network,
    /// It prepares data on the processor.
    Prepare,
    /// It does a server's own work between two steps of the card.
    Serve,
    /// It launches or computes.
    Compute,
    /// It waits for a lock, a child or a timer.
    Lock,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    kind: FrameKind,
    functions: Vec<String>,
    files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    place: Vec<Place>,
}

fn places() -> &'static [Place] {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        toml::from_str(include_str!("../data/stack_frames.toml"))
            .expect("the built-in table is read by a test")
    });
    &table.place
}

/// Returns what a thread does that stands in this function of this file or library; none where that says nothing.
pub fn frame_kind(function: &str, file: &str) -> Option<FrameKind> {
    // A native function may show its arguments.
    let function = function.split('(').next().unwrap_or(function);
    let is_in = |place: &&Place| {
        let is_file = place.files.is_empty() || place.files.iter().any(|part| file.contains(part.as_str()));
        is_file && is_one_of(function, &place.functions)
    };
    places().iter().find(is_in).map(|place| place.kind)
}

#[cfg(test)]
mod tests {
    use super::{FrameKind, frame_kind, places};

    #[test]
    fn functions_say_what_is_done() {
        assert!(places().len() > 10);
        for (function, file, expected) in [
            ("all_reduce", "torch/distributed/distributed_c10d.py", Some(FrameKind::Exchange)),
            ("recv", "torch/distributed/distributed_c10d.py", Some(FrameKind::Exchange)),
            ("recv", "deepspeed/runtime/pipe/p2p.py", None),
            ("ncclAllReduce", "libnccl.so.2", Some(FrameKind::Exchange)),
            ("_try_get_data", "torch/utils/data/dataloader.py", Some(FrameKind::Data)),
            ("get", "queue.py", Some(FrameKind::Lock)),
            ("wait", "threading.py", Some(FrameKind::Lock)),
            ("acquire_read", "vllm/distributed/device_communicators/shm_broadcast.py", Some(FrameKind::Poll)),
            ("sched_yield", "vllm/distributed/utils.py", Some(FrameKind::Poll)),
            ("event_loop_overlap", "sglang/srt/managers/scheduler.py", Some(FrameKind::Poll)),
            ("__libc_read", "libc.so.6", Some(FrameKind::Storage)),
            ("read", "gzip.py", Some(FrameKind::Storage)),
            ("read", "ssl.py", Some(FrameKind::Network)),
            ("resize", "PIL/Image.py", Some(FrameKind::Prepare)),
            ("item", "torch/_tensor.py", Some(FrameKind::Card)),
            ("cuStreamSynchronize", "libcuda.so.1", Some(FrameKind::Card)),
            ("schedule", "vllm/v1/core/sched/scheduler.py", Some(FrameKind::Serve)),
            ("_call_impl", "torch/nn/modules/module.py", Some(FrameKind::Compute)),
            ("train", "megatron/training.py", None),
            ("wait", "torch/distributed/elastic/multiprocessing/api.py", Some(FrameKind::Lock)),
        ] {
            assert_eq!(frame_kind(function, file), expected, "{function} {file}");
        }
    }
}
