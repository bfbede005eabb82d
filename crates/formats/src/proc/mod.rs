//! Files of `/proc`, of control groups and of sysfs, from the bytes that somebody else has read.
//!
//! A value that a file lacks is none or an error that says what was expected, never a zero.

mod bytes;
mod cgroup;
mod counters;
mod identity;
mod machine;
mod meminfo;
mod mountinfo;
mod pressure;
mod processor;
mod stat;
mod status;
mod words;

pub use cgroup::{Throttling, cgroup_paths, cpu_max, cpu_quota, throttling};
pub use counters::{io, name, run_delay, wait_channel};
pub use identity::{owner, role};
pub use machine::{
    Module, hexadecimal, modules, namespace_number, nvidia_module_version, single_line, users, whole_number,
};
pub use meminfo::meminfo;
pub use mountinfo::{Mount, mounts};
pub use pressure::pressure;
pub use processor::{Processors, processor_count, processors};
pub use stat::{Stat, stat};
pub use status::{Status, status};
pub use words::{KEPT_VARIABLES, command_line, environment};
