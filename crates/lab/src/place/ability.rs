//! What this machine lets a box show, and what it does not.

use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::control_group::{Disk, Limit, can_limit};
use super::server::can_lay_cable;

/// Something that a box may be unable to show here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// Members that belong to different users.
    Users,
    /// A disk that answers slowly.
    SlowDisk,
    /// A file system that answers slowly or never.
    Store,
    /// A limit on CPU time.
    CpuLimit,
    /// A limit on memory.
    MemoryLimit,
    /// A limit on processes and threads.
    TaskLimit,
    /// A server at the other end of a network cable.
    Network,
    /// A visitor that sees no process of anybody else.
    OwnPids,
    /// The kernel's account of how long a process waited for a disk.
    DelayAccounting,
}

/// One thing that cannot be shown, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inability {
    /// What cannot be shown.
    pub what: Ability,
    /// Why, in words.
    pub why: String,
}

/// What this machine can show to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    missing: Vec<Inability>,
}

/// The file of the setting that turns delay accounting on.
pub const DELAY_ACCOUNTING: &str = "/proc/sys/kernel/task_delayacct";

impl Abilities {
    /// Looks what the caller may do on this machine with a box at `path`.
    pub fn look(path: &Path) -> Self {
        let mut missing = Vec::new();
        let is_root = rustix::process::geteuid().is_root();
        let mut lacks = |what, why: String| missing.push(Inability { what, why });
        if !is_root {
            lacks(Ability::Users, "every member runs as the caller, who is not root".to_owned());
        }
        match Disk::below(path) {
            None => lacks(Ability::SlowDisk, format!("no disk lies below {}", path.display())),
            Some(disk) => {
                if !can_limit(Limit::Reads { disk, bytes_per_second: 1 }) {
                    lacks(Ability::SlowDisk, "no control group may limit reads from a disk".to_owned());
                }
            }
        }
        if !can_limit(Limit::Cpu(1.0)) {
            lacks(Ability::CpuLimit, "no control group may limit CPU time".to_owned());
        }
        if !can_limit(Limit::Memory(1 << 30)) {
            lacks(Ability::MemoryLimit, "no control group may limit memory".to_owned());
        }
        if !can_limit(Limit::Tasks(None)) {
            lacks(Ability::TaskLimit, "no control group may limit processes and threads".to_owned());
        }
        if !can_lay_cable() {
            lacks(Ability::Network, "a cable needs root and `ip` of iproute2".to_owned());
        }
        if !is_root {
            lacks(Ability::OwnPids, "a pid namespace with its own /proc needs root".to_owned());
        }
        if let Err(error) = File::options().read(true).write(true).open("/dev/fuse") {
            lacks(Ability::Store, format!("/dev/fuse cannot be opened: {error}"));
        }
        if !is_root || !Path::new(DELAY_ACCOUNTING).exists() {
            lacks(Ability::DelayAccounting, "the setting kernel.task_delayacct cannot be changed".to_owned());
        }
        Self { missing }
    }

    /// Whether `what` can be shown.
    pub fn can_show(&self, what: Ability) -> bool {
        self.missing.iter().all(|inability| inability.what != what)
    }

    /// Everything that cannot be shown.
    pub fn missing(&self) -> &[Inability] {
        &self.missing
    }
}
