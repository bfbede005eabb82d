//! Tables about cards, drivers, errors and names, as data inside the program; each row names its source.
//!
//! The crate is pure and judges nothing. Tables are parsed once, when they are first asked.

mod architecture;
mod card;
mod clock_reason;
mod cuda_driver;
mod cuda_error;
mod kubernetes_reason;
mod library;
mod link;
mod memory_text;
mod nvml_error;
mod owner;
mod pattern;
mod phrase;
mod process_name;
mod program_error;
mod program_sign;
mod serving_metric;
mod source;
mod stack_frame;
mod table;
mod wait_channel;
mod wait_reason;
mod xid;

pub use architecture::{ArchitectureFact, architecture, architectures};
pub use card::{CardFact, card, cards};
pub use clock_reason::{ClockReasonFact, clock_reason, clock_reasons};
pub use cuda_driver::{CudaDriverFact, cuda_drivers, is_enough, oldest_driver_for};
pub use cuda_error::{
    CudaErrorClass, CudaErrorFact, cuda_error, cuda_error_in_words, cuda_error_named, cuda_errors,
};
pub use kubernetes_reason::kubernetes_reason;
pub use library::{CudaRuntime, GreedyFramework, cuda_driver, cuda_runtime, greedy_framework};
pub use link::{LinkFact, links, nvlink_bandwidth, pcie_bandwidth, pcie_replays_per_minute};
pub use memory_text::{MemoryFigure, MemoryKind, MemoryText, ServerText, memory_text, server_text};
pub use nvml_error::{NvmlErrorFact, nvml_error, nvml_errors};
pub use owner::{job_variables, owner};
pub use phrase::{Phrase, Squeezed, size_in_bytes};
pub use process_name::{rank_variables, role, role_of, runs_scripts};
pub use program_error::{ErrorRole, class_of_words, error_class, error_role};
pub use program_sign::{Sign, SignKind, program_sign};
pub use serving_metric::{ServingMetric, ServingQuantity, serving_metric, serving_metrics};
pub use source::source;
pub use stack_frame::{FrameKind, frame_kind};
pub use wait_channel::{Wait, wait};
pub use wait_reason::{
    LimitReach, LimitedResource, Measure, WaitClass, WaitFact, slurm_reason, slurm_reason_begun,
    slurm_reason_word, slurm_sentence,
};
pub use xid::{FirstAction, Severity, XidFact, xid, xids};
