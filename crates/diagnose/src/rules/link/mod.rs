//! What joins the card with the processor and with other cards is slower than it should be, or faulty.

pub(crate) mod nvlink_fault;
pub(crate) mod pcie_degraded;
