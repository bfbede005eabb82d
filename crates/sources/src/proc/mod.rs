//! `/proc` below a given root: processes, threads, and what they have open.

mod files;
mod memory;
mod open_files;
mod root;
mod threads;

pub(crate) use files::{ProcessDirectory, reading, wait_channel_of};
pub(crate) use memory::{MemoryReader, Words};
pub(crate) use open_files::{device_files, mounts_in_use};
pub(crate) use root::ProcRoot;
pub(crate) use threads::{ThreadsWanted, threads};
