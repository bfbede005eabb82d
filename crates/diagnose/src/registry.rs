//! The one ordered list of all rules. The order breaks ties in rank; the two closing answers stand last.

use gpuwhy_model::cause::Cause;

use crate::rule::Rule;
use crate::rules::{
    answers, communication, compute, container, hardware, heat, link, memory, program, software, starvation,
    waiting,
};

/// Every rule, in the order in which they run.
pub static REGISTRY: &[&Rule] = &[
    &hardware::gpu_lost::RULE,
    &software::driver_not_loaded::RULE,
    &software::driver_library_mismatch::RULE,
    &container::nvml_lost_in_container::RULE,
    &software::driver_hung::RULE,
    &software::nvml_abi_mismatch::RULE,
    &software::fabric_manager_down::RULE,
    &software::mig_misconfig::RULE,
    &software::driver_too_old::RULE,
    &software::arch_unsupported::RULE,
    &hardware::ecc_uncorrectable::RULE,
    &hardware::row_remap_pending::RULE,
    &hardware::xid_hw_fault::RULE,
    &link::nvlink_fault::RULE,
    &hardware::fan_failed::RULE,
    &heat::thermal_throttle::RULE,
    &heat::hw_slowdown::RULE,
    &heat::power_throttle::RULE,
    &heat::low_clocks::RULE,
    &link::pcie_degraded::RULE,
    &hardware::xid_app_fault::RULE,
    &hardware::ecc_correctable_storm::RULE,
    &hardware::inforom_corrupt::RULE,
    &memory::vram_held_by_dead_process::RULE,
    &memory::vram_held_by_hidden_process::RULE,
    &starvation::starved_by_storage::RULE,
    &starvation::starved_by_cpu::RULE,
    &starvation::starved_by_host_code::RULE,
    &starvation::starved_by_network_input::RULE,
    &starvation::transfer_bound::RULE,
    &starvation::checkpoint_pause::RULE,
    &container::container_limit::RULE,
    &starvation::host_memory_pressure::RULE,
    &communication::collective_hang::RULE,
    &communication::wrong_process_count::RULE,
    &communication::slow_gpu_outlier::RULE,
    &communication::comm_bound::RULE,
    &compute::gpu_contention::RULE,
    &compute::launch_bound::RULE,
    &compute::low_sm_occupancy::RULE,
    &memory::idle_reserved::RULE,
    &software::compute_mode_exclusive::RULE,
    &memory::vram_leak::RULE,
    &memory::bar1_exhausted::RULE,
    &compute::memory_bandwidth_saturated::RULE,
    &compute::compute_saturated::RULE,
    &memory::memory_preallocated::RULE,
    &memory::vram_fragmented::RULE,
    &memory::vram_full::RULE,
    &memory::display_process::RULE,
    &software::persistence_off::RULE,
    &starvation::shm_too_small::RULE,
    &starvation::batch_too_small::RULE,
    &program::app_error::RULE,
    &waiting::gpu_not_advertised::RULE,
    &waiting::scheduler_pending::RULE,
    &waiting::node_unavailable::RULE,
    &waiting::queue_congested::RULE,
    &waiting::inference_overload::RULE,
    &answers::nothing_wrong::RULE,
    &answers::undetermined::RULE,
];

/// Returns the place of a cause in the registry; causes without a rule come last.
pub(crate) fn place(cause: Cause) -> usize {
    REGISTRY.iter().position(|rule| rule.cause == cause).unwrap_or(REGISTRY.len())
}
