//! Files of `/proc`, of control groups and of sysfs, from the bytes that somebody else has read.
//!
//! A value that a file lacks is none or an error that says what was expected, never a zero.

mod bytes;
mod cgroup;
mod counters;
mod diskstats;
mod identity;
mod machine;
mod maps;
mod meminfo;
mod mountinfo;
mod netdev;
mod pressure;
mod processor;
mod smaps;
mod stat;
mod status;
mod tcp;
mod vmstat;
mod words;

pub use cgroup::{
    LimitEvents, Throttling, cgroup_paths, cpu_max, cpu_quota, idle_file_pages, limit, limit_events,
    throttling,
};
pub use counters::{io, name, run_delay, wait_channel};
pub use diskstats::disks;
pub use identity::{owner, role};
pub use machine::{
    Module, hexadecimal, modules, namespace_number, nvidia_module_version, single_line, users, whole_number,
};
pub use maps::libraries;
pub use meminfo::meminfo;
pub use mountinfo::{Mount, mounts};
pub use netdev::{InterfaceCounters, interface_counters};
pub use pressure::pressure;
pub use processor::{Processors, processor_count, processors};
pub use smaps::proportional_set;
pub(crate) use stat::process_state;
pub use stat::{Stat, stat};
pub use status::{Status, status};
pub use tcp::connected_sockets;
pub use vmstat::paging;
pub use words::{KEPT_VARIABLES, command_line, environment};
