//! Tables about cards, drivers, errors and names, as data inside the program; each row names its source.
//!
//! The crate is pure and judges nothing. Tables are parsed once, when they are first asked.

mod card;
mod clock_reason;
mod cuda_driver;
mod library;
mod link;
mod nvml_error;
mod owner;
mod pattern;
mod process_name;
mod source;
mod table;
mod wait_channel;
mod xid;

pub use card::{CardFact, card, cards};
pub use clock_reason::{ClockReasonFact, clock_reason, clock_reasons};
pub use cuda_driver::{CudaDriverFact, cuda_drivers, is_enough, oldest_driver_for};
pub use library::{CudaRuntime, GreedyFramework, cuda_driver, cuda_runtime, greedy_framework};
pub use link::{LinkFact, links, nvlink_bandwidth, pcie_bandwidth, pcie_replays_per_minute};
pub use nvml_error::{NvmlErrorFact, nvml_error, nvml_errors};
pub use owner::{job_variables, owner};
pub use process_name::{rank_variables, role, role_of, runs_scripts};
pub use source::source;
pub use wait_channel::{Wait, wait};
pub use xid::{FirstAction, Severity, XidFact, xid, xids};
