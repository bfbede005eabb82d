//! The machine and its processors and memory over a window.

use serde::{Deserialize, Serialize};

use super::Container;
use crate::process::BootId;
use crate::reading::Reading;
use crate::sample::{CardPair, HostMemory, PciDevice, Service, Space, StuckCall, Viewer, XidEvent};
use crate::units::{Bytes, BytesPerSecond, Cores, Share};

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
    /// `NVSwitches` on the PCI bus.
    pub nvswitches: Reading<u64>,
    /// The ways between cards.
    pub card_pairs: Reading<Vec<CardPair>>,
    /// Cards that links of their own join, or whose direct access to each other was tried.
    pub joined_pairs: Reading<Vec<JoinedPair>>,
    /// Services around cards that are installed or run.
    pub services: Reading<Vec<Service>>,
    /// Why we think to be in a container; unsupported: we are not.
    pub container: Reading<String>,
    /// Cards that were promised to this container.
    pub promised_cards: Reading<String>,
    /// Who looks.
    pub viewer: Viewer,
    /// Whether the firmware lets only signed code start.
    pub secure_boot: Reading<bool>,
    /// Limits of the shell or process that was asked (`ulimit -a`, `/proc/PID/limits`).
    pub process_limits: Reading<Vec<ProcessLimit>>,
    /// Containers on it, as their runtime describes them.
    pub containers: Vec<Container>,
    /// Ways of starting containers that their runtime knows (`runc`, `nvidia`), sorted.
    pub container_runtimes: Reading<Vec<String>>,
}

/// Two cards, and what joins them beside PCIe.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JoinedPair {
    /// Index of one card.
    pub one: u32,
    /// Index of the other, which is higher.
    pub other: u32,
    /// How many `NVLinks` join them, through switches or not.
    pub nvlinks: Option<u32>,
    /// Whether they reach each other's memory directly.
    pub peer_to_peer: Option<bool>,
    /// What a test moved between them over PCIe, one way, in bytes a second; of both directions the slower one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
}

/// A limit of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessLimit {
    /// Its name: `open files`, `max locked memory` …, as `ulimit -a` words it.
    pub name: String,
    /// The limit in force, bytes where it is a size; unsupported: there is none.
    pub limit: Reading<u64>,
}

/// A build of the driver's module for one kernel, as `dkms` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleBuild {
    /// Name of the module's package (`nvidia`).
    pub module: String,
    /// Version of the module.
    pub version: String,
    /// Release of the kernel that it is built for; none: it is only added.
    pub kernel: Option<String>,
    /// `added`, `built`, `installed` …
    pub state: String,
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
    /// Version of the library by its own word.
    pub library_version: Reading<String>,
    /// Versions of the driver's library files on this machine (`libcuda.so.580.95.05`), sorted.
    pub library_files: Reading<Vec<String>>,
    /// Error events that the driver delivered in the window, oldest first.
    pub xid_events: Reading<Vec<XidEvent>>,
    /// Calls into the driver that did not return.
    pub stuck_calls: Vec<StuckCall>,
    /// Version of the module's file on disk, which the next load takes; unsupported: there is no such file.
    pub module_file: Reading<String>,
    /// Builds of the module for the kernels of this machine.
    pub module_builds: Reading<Vec<ModuleBuild>>,
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
    /// Room in shared memory (`/dev/shm`), newest.
    pub shared_memory: Reading<Space>,
    /// The least room that was left in it over the window.
    pub shared_memory_least: Reading<Bytes>,
    /// Paging over the window.
    pub paging: Paging,
    /// Disks over the window, by name.
    pub disks: Reading<Vec<Disk>>,
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

/// Paging of the whole machine over the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Paging {
    /// Page faults a second that had to wait for a disk.
    pub major_faults_per_s: Reading<f64>,
    /// Pages a second fetched from swap.
    pub swapped_in_per_s: Reading<f64>,
    /// Pages a second sent to swap.
    pub swapped_out_per_s: Reading<f64>,
    /// Processes that were ended for want of memory in the window.
    pub oom_kills: Reading<u64>,
}

/// A disk over the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Disk {
    /// Its name (`nvme0n1`).
    pub name: String,
    /// Device number, `259:0`.
    pub device: String,
    /// What was read.
    pub read: Reading<BytesPerSecond>,
    /// What was written.
    pub written: Reading<BytesPerSecond>,
    /// Share of the window in which at least one request was in flight.
    pub busy: Reading<Share>,
    /// Requests in flight, on the mean.
    pub queue: Reading<f64>,
}
