//! The one ordered list of all rules. The order breaks ties in rank; the two closing answers stand last.

use gpuwhy_model::cause::Cause;

use crate::rule::Rule;
use crate::rules::{answers, compute, hardware, memory, software, starvation};

/// Every rule, in the order in which they run.
pub static REGISTRY: &[&Rule] = &[
    &hardware::gpu_lost::RULE,
    &software::driver_not_loaded::RULE,
    &software::driver_hung::RULE,
    &memory::vram_held_by_dead_process::RULE,
    &starvation::starved_by_storage::RULE,
    &starvation::starved_by_cpu::RULE,
    &memory::idle_reserved::RULE,
    &compute::compute_saturated::RULE,
    &memory::vram_full::RULE,
    &answers::nothing_wrong::RULE,
    &answers::undetermined::RULE,
];

/// Returns the place of a cause in the registry; causes without a rule come last.
pub(crate) fn place(cause: Cause) -> usize {
    REGISTRY.iter().position(|rule| rule.cause == cause).unwrap_or(REGISTRY.len())
}
