//! Files of sysfs and of graphics drivers, from the bytes that somebody else has read.
//!
//! A value that a file lacks is none or an error that says what was expected, never a zero.

mod drm;
mod infiniband;
mod network;
mod pcie;

pub use drm::{DrmClient, drm_client, in_millionths, in_thousandths};
pub use infiniband::{port_is_active, port_rate};
pub use network::{interface_is_up, interface_speed};
pub use pcie::{error_total, lane_speed, numa_node, width};
