//! `cargo xtask bench`: what gpuwhy costs, beside other tools, in one run on one machine.

pub(crate) mod measure;
pub(crate) mod once;
mod table;
pub(crate) mod ticks;
mod trace;
mod usage;
