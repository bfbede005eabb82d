//! Work waits for data.

pub(crate) mod starved_by_cpu;
pub(crate) mod starved_by_storage;
mod waiting_card;
