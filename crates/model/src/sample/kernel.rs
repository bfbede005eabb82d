//! Lines of the kernel log, and what they say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::Pid;
use crate::reading::Reading;

/// One line of the kernel log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelLine {
    /// Microseconds since boot, on the log's own clock.
    pub boot_us: u64,
    /// Severity, 0 (emergency) to 7 (debug).
    pub level: Reading<u32>,
    /// The text, secrets masked.
    pub text: String,
    /// What the text says, where it is one of the things that rules ask for; made of the masked text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fact: Option<KernelFact>,
}

/// What a line of the kernel log says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelFact {
    /// A numbered error of the driver. The process is evidence, not a target: for many numbers it is whoever was inside
    /// a driver call at that moment.
    Xid {
        /// The card, `0000:65:00.0`.
        pci_address: String,
        /// The number.
        number: u32,
        /// The process in the initial pid namespace, where the line names one.
        #[serde(default)]
        pid: Option<Pid>,
        /// Its name, where the line has one.
        #[serde(default)]
        name: Option<String>,
        /// The number of the error that this one only cleans up after, where the line says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caused_by: Option<u32>,
        /// Whether the line calls the error fatal, where it says so (links between cards since Blackwell).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_fatal: Option<bool>,
    },
    /// A card fell off the bus, said without a number.
    FallenOffTheBus {
        /// The card, `0000:65:00.0`.
        pci_address: String,
    },
    /// A task is blocked for long.
    HungTask {
        /// Its name.
        name: String,
        /// Its number, of a thread as well as of a process.
        pid: Pid,
        /// For more than how many seconds.
        seconds: u64,
        /// Whether the kernel says that it waits for I/O.
        #[serde(default)]
        waits_for_io: bool,
    },
    /// A process was ended for want of memory.
    OutOfMemory {
        /// Its name.
        name: String,
        /// Its number.
        pid: Pid,
        /// Whether a control group was short of memory, and not the machine.
        of_group: bool,
        /// The control group that was short, where the line names it.
        #[serde(default)]
        group: Option<String>,
    },
    /// The card's own processor did not answer a call of the driver.
    RpcTimeout,
    /// The kernel refused the driver's module for its signature.
    ModuleRefused,
}
