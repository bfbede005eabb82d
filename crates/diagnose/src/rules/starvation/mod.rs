//! Work waits: for data, for the program's own thread, for copies, for memory; or there is too little of it.

pub(crate) mod batch_too_small;
pub(crate) mod checkpoint_pause;
pub(crate) mod host_memory_pressure;
pub(crate) mod partly_busy;
pub(crate) mod shm_too_small;
mod spinning;
pub(crate) mod starved_by_cpu;
pub(crate) mod starved_by_host_code;
pub(crate) mod starved_by_network_input;
pub(crate) mod starved_by_storage;
pub(crate) mod transfer_bound;
mod waiting_card;
