//! The machine and its processors and memory over a window.

use serde::{Deserialize, Serialize};

use crate::process::BootId;
use crate::reading::Reading;
use crate::sample::{HostMemory, PciDevice, StuckCall, Viewer};
use crate::units::{Cores, Share};

/// The machine, its driver, who looks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Which boot.
    pub boot_id: Reading<BootId>,
    /// Host name.
    pub hostname: Reading<String>,
    /// Kernel release.
    pub kernel: Reading<String>,
    /// The driver and its library.
    pub driver: Driver,
    /// Cards on the PCI bus, of any vendor.
    pub pci_cards: Reading<Vec<PciDevice>>,
    /// Device files of cards, sorted.
    pub device_files: Reading<Vec<String>>,
    /// Why we think to be in a container; unsupported: we are not.
    pub container: Reading<String>,
    /// Cards that were promised to this container.
    pub promised_cards: Reading<String>,
    /// Who looks.
    pub viewer: Viewer,
}

/// The NVIDIA driver and its library.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Driver {
    /// Whether the library could be asked, else what came back of loading or `nvmlInit_v2`.
    pub library: Reading<()>,
    /// Driver version by the library.
    pub version: Reading<String>,
    /// Highest CUDA version of the driver.
    pub cuda_version: Reading<String>,
    /// Version of the loaded kernel module; unsupported: not loaded.
    pub module: Reading<String>,
    /// Other modules that drive or block cards and are loaded, sorted.
    pub modules: Reading<Vec<String>>,
    /// How long `nvmlInit_v2` took, in milliseconds.
    pub init_ms: Reading<u64>,
    /// How many cards the library counts.
    pub card_count: Reading<u32>,
    /// Calls into the driver that did not return.
    pub stuck_calls: Vec<StuckCall>,
}

/// Processors, memory, pressure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// Processors that are on line.
    pub cpus: Reading<u64>,
    /// Processor time per wall time of the whole machine.
    pub cores_used: Reading<Cores>,
    /// Share of processor time taken by the hypervisor.
    pub steal: Reading<Share>,
    /// Memory, newest.
    pub memory: Reading<HostMemory>,
    /// Pressure over the window. Machine-wide pressure only supports a cause; low pressure rules nothing out.
    pub pressure: Pressures,
}

/// Share of the window in which tasks of the machine waited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pressures {
    /// Some task waited for a processor.
    pub cpu_some: Reading<Share>,
    /// Some task waited for I/O.
    pub io_some: Reading<Share>,
    /// Some task waited for memory.
    pub memory_some: Reading<Share>,
    /// All non-idle tasks waited for memory.
    pub memory_full: Reading<Share>,
}
