//! Members of a job wait for each other.

pub(crate) mod collective_hang;
pub(crate) mod comm_bound;
pub(crate) mod slow_gpu_outlier;
pub(crate) mod wrong_process_count;
