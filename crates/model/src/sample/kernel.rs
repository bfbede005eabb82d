//! Lines of the kernel log, and what they say.

use jiff::Timestamp;
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
    /// Calendar time, where the log gives one with its year; of a log without a zone it is taken as UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// What `boot_us` counts from.
    #[serde(skip_serializing_if = "LogClock::is_of_boot")]
    pub clock: LogClock,
    /// Whether the same log goes on with a later boot: then the line says nothing about now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub before_boot: bool,
}

/// What the times of a log's lines count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogClock {
    /// The machine's boot.
    #[default]
    Boot,
    /// The first dated line of the same log: only differences count. A line without a time has that of the line before.
    FirstLine,
}

impl LogClock {
    /// Returns whether times count from the machine's boot.
    // serde hands over a reference.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    fn is_of_boot(&self) -> bool {
        *self == Self::Boot
    }
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
        /// What the driver asks for from now on, by number 154 (0: nothing, 1: reset of the card, 2: reboot of the node,
        /// 3: end of peer-to-peer traffic, 4: drain and reset, 5: recovery of the domain).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recovery: Option<u32>,
    },
    /// A numbered error of an `NVSwitch`.
    SwitchError {
        /// The switch, `0000:c1:00.0`.
        pci_address: String,
        /// The number; a table of its own, not that of cards.
        number: u32,
        /// Whether the line calls it fatal, where it says so.
        #[serde(default)]
        is_fatal: Option<bool>,
        /// The link of the switch, where the line names one.
        #[serde(default)]
        link: Option<u32>,
    },
    /// An error of a PCIe link.
    BusError {
        /// The device that reports or suffers it, `0000:65:00.0`.
        pci_address: String,
        /// How bad.
        severity: BusErrorSeverity,
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
    /// The kernel refused a module for its signature; the line does not say which.
    UnnamedModuleRefused,
    /// The kernel could not take the driver's module: it was built for another kernel.
    ModuleOfOtherKernel,
    /// The driver found no room left in the window through which processors reach a card's memory.
    MemoryWindowFull {
        /// The card, where the message names it.
        #[serde(default)]
        pci_address: Option<String>,
    },
    /// Whether the firmware lets only signed code start.
    SecureBoot {
        /// Whether it does.
        is_enabled: bool,
    },
    /// The driver's module was loaded.
    ModuleLoaded {
        /// Its version.
        version: String,
    },
    /// The driver's module turned a client away that is of another version.
    VersionMismatch {
        /// Version of the client, a library.
        client: String,
        /// Version of the module.
        module: String,
    },
    /// The driver's module was not offered cards that are there: another driver has them.
    CardsOfOtherDriver {
        /// How many.
        cards: u32,
    },
    /// The driver's module found no card that it can serve.
    NoCardServed,
    /// A driver other than NVIDIA's has a card of NVIDIA.
    OtherDriver {
        /// The card, `0000:65:00.0`.
        pci_address: String,
        /// The driver (`nouveau`).
        driver: String,
    },
    /// The driver's module does not support a card.
    CardNotSupported {
        /// The card, where the message names it.
        #[serde(default)]
        pci_address: Option<String>,
        /// Whether the other kind of module (open or closed) is asked for.
        #[serde(default)]
        needs_other_module: bool,
    },
    /// The driver could not start a card.
    CardNotStarted {
        /// The card, where the message names it.
        #[serde(default)]
        pci_address: Option<String>,
        /// The N of `/dev/nvidiaN`, where the message names it.
        #[serde(default)]
        minor: Option<u32>,
    },
    /// The firmware of the machine gave a card no room for its memory window.
    NoMemoryWindow {
        /// The card, where the message names it.
        #[serde(default)]
        pci_address: Option<String>,
    },
    /// A driver could not take a device.
    ProbeFailed {
        /// The device, `0000:65:00.0`.
        pci_address: String,
        /// The driver.
        driver: String,
        /// The error number of the kernel, negative.
        code: i32,
    },
    /// A processor did not come back from the kernel for long.
    SoftLockup {
        /// Name of the task.
        name: String,
        /// Its number.
        pid: Pid,
        /// For how many seconds.
        seconds: u64,
    },
    /// A process was ended for a wrong memory access.
    BadAccess {
        /// Its name.
        name: String,
        /// Its number, of a thread as well as of a process.
        pid: Pid,
        /// The file in whose code it happened, where the line names one.
        #[serde(default)]
        library: Option<String>,
    },
    /// A process was ended for want of memory; the line does not say whether of the machine or of a control group.
    KilledForMemory {
        /// Its name.
        name: String,
        /// Its number.
        pid: Pid,
    },
}

/// How bad an error of a PCIe link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusErrorSeverity {
    /// It was corrected.
    Corrected,
    /// Something was lost, but not the link.
    NonFatal,
    /// The link was lost.
    Fatal,
}
