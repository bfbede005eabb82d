//! `cargo xtask bench`: what gpuwhy costs, beside other tools, in one run on one machine.

mod bar;
mod long_log;
pub(crate) mod measure;
pub(crate) mod once;
pub(crate) mod read;
mod table;
pub(crate) mod ticks;
mod trace;
mod usage;
