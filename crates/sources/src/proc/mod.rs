//! `/proc` below a given root: processes, threads, and what they have open.

mod aside;
mod connections;
pub(crate) mod counters;
mod files;
mod held;
mod open_files;
mod root;
mod threads;

pub(crate) use aside::Aside;
pub(crate) use connections::Connections;
pub(crate) use files::{ProcessDirectory, reading, wait_channel_of};
pub(crate) use held::HeldStats;
pub(crate) use open_files::{OpenFiles, device_files, files_below, open_files};
pub(crate) use root::ProcRoot;
pub(crate) use threads::{ThreadsWanted, threads};
