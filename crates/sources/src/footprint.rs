//! How much memory looking takes: this process, and the child that asks the driver.

use std::path::Path;

use gpuwhy_formats::proc::proportional_set;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Reading};

use crate::file::read_and_parse;

/// Memory in bytes, each shared page divided by those who share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// Of this process.
    pub own: Reading<u64>,
    /// Of the child.
    pub child: Reading<u64>,
}

/// Reads the memory of this process and of a child that is in no call: a stuck one may hold the lock of its memory.
pub(crate) fn footprint(proc_root: &Path, child: Option<Pid>, buffer: &mut Vec<u8>) -> Footprint {
    let mut of = |process: &str| {
        let path = proc_root.join(process).join("smaps_rollup");
        read_and_parse(&path, buffer, Access::RootOrOwner, proportional_set)
    };
    Footprint { own: of("self"), child: child.map_or_else(Reading::default, |child| of(&child.to_string())) }
}
