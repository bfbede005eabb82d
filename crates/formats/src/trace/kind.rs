//! What an event of a trace is to a card: work of it, or what the program did meanwhile.

use super::event::Event;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A kernel that computes.
    Compute,
    /// A kernel that exchanges data with other cards.
    Exchange,
    /// A copy from or to the host, or memory that is cleared.
    Copy,
    /// The program waits for its next data.
    Data,
    /// The program waits for the card.
    Wait,
    /// The program launches work.
    Launch,
    /// Anything else that the program does.
    Host,
    /// A step of the program.
    Step,
    /// Nothing that counts.
    Nothing,
}

/// Calls that return only when the card has done its work.
const WAITS: &[&str] = &[
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "cudaMemcpy",
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuEventSynchronize",
    "cuMemcpyDtoH_v2",
    "cuMemcpyHtoD_v2",
    "hipStreamSynchronize",
    "hipDeviceSynchronize",
    "hipEventSynchronize",
    "hipMemcpy",
    "hipMemcpyWithStream",
];

/// Parts of the names of kernels that exchange data with other cards, in lower case.
const EXCHANGES: &[&str] = &[
    "nccl",
    "rccl",
    "nvshmem",
    "all_reduce",
    "allreduce",
    "all_gather",
    "allgather",
    "reduce_scatter",
    "reducescatter",
    "cross_device_reduce",
    "alltoall",
    "all_to_all",
    "hccl",
    "oneccl",
];

/// Returns what an event is. Where nothing tells, `is_card` says whether its process stands for a card.
pub(super) fn kind(event: &Event, is_card: bool) -> Kind {
    match event.cat.as_str() {
        "kernel" | "Kernel" | "cuda_kernel" => of_kernel(&event.name),
        "gpu_memcpy" | "Memcpy" | "gpu_memset" | "Memset" => Kind::Copy,
        "cuda_runtime" | "cuda_driver" | "Runtime" | "hip_runtime" => of_call(&event.name),
        "cpu_op" | "Operator" | "user_annotation" | "python_function" | "cpu_instant_event" => of_host(event),
        "" if is_card => of_card_without_category(&event.name),
        _ => Kind::Nothing,
    }
}

fn of_kernel(name: &str) -> Kind {
    let lower = name.to_ascii_lowercase();
    // A sum over a tensor is no exchange, whatever its name has in common with one.
    let is_exchange = EXCHANGES.iter().any(|part| lower.contains(part));
    if is_exchange { Kind::Exchange } else { Kind::Compute }
}

fn of_card_without_category(name: &str) -> Kind {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("memcpy") || lower.starts_with("memset") {
        return Kind::Copy;
    }
    of_kernel(name)
}

fn of_call(name: &str) -> Kind {
    if WAITS.contains(&name) {
        return Kind::Wait;
    }
    let is_launch = ["LaunchKernel", "GraphLaunch", "LaunchCooperativeKernel", "ModuleLaunch"]
        .iter()
        .any(|part| name.contains(part));
    if is_launch { Kind::Launch } else { Kind::Host }
}

fn of_host(event: &Event) -> Kind {
    let name = event.name.as_str();
    if name.starts_with("ProfilerStep#") {
        return Kind::Step;
    }
    let is_loader = name.starts_with("enumerate(DataLoader)#")
        || name.contains("dataloader.py(")
            && (name.contains("): __next__") || name.contains("): _next_data"))
        || name.contains("_DataLoaderIter.__next__")
        || name == "IteratorGetNext";
    match event.cat.as_str() {
        _ if is_loader => Kind::Data,
        // A remark of the program covers what it is about and is no work of its own; the outermost functions are there
        // all the time.
        "user_annotation" | "python_function" => Kind::Nothing,
        _ => Kind::Host,
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Kind, kind};

    #[test]
    fn events_of_all_profilers_are_known() {
        for (cat, name, is_card, expected) in [
            ("kernel", "ampere_sgemm_128x64_tn", false, Kind::Compute),
            ("Kernel", "ncclKernel_AllReduce_RING_LL_Sum_float", false, Kind::Exchange),
            ("kernel", "void vllm::cross_device_reduce_1stage<float>", false, Kind::Exchange),
            ("kernel", "at::native::reduce_kernel<512>", false, Kind::Compute),
            ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", false, Kind::Copy),
            ("cuda_runtime", "cudaStreamSynchronize", false, Kind::Wait),
            ("cuda_runtime", "cudaMemcpyAsync", false, Kind::Host),
            ("cuda_driver", "cuLaunchKernelEx", false, Kind::Launch),
            ("cpu_op", "aten::mm", false, Kind::Host),
            ("cpu_op", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", false, Kind::Data),
            ("python_function", "torch/utils/data/dataloader.py(630): __next__", false, Kind::Data),
            ("python_function", "train.py(3): main", false, Kind::Nothing),
            ("user_annotation", "ProfilerStep#7", false, Kind::Step),
            ("user_annotation", "forward", false, Kind::Nothing),
            ("gpu_user_annotation", "ProfilerStep#7", false, Kind::Nothing),
            ("ac2g", "ac2g", false, Kind::Nothing),
            ("", "fusion_12", true, Kind::Compute),
            ("", "MemcpyH2D", true, Kind::Copy),
            ("", "fusion_12", false, Kind::Nothing),
        ] {
            let event = Event { cat: cat.to_owned(), name: name.to_owned(), ..Event::default() };
            assert_eq!(kind(&event, is_card), expected, "{cat} {name}");
        }
    }
}
