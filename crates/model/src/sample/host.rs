//! The machine around the cards at one instant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::BootId;
use crate::reading::Reading;
use crate::sample::devices::{DiskSample, InterfaceSample, Paging, Service, Space};
use crate::units::BytesPerSecond;

/// The machine, its driver, and who looks at it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineSample {
    /// Which boot.
    pub boot_id: Reading<BootId>,
    /// Host name.
    pub hostname: Reading<String>,
    /// Kernel release.
    pub kernel: Reading<String>,
    /// Clock ticks per second of `/proc` counters.
    pub ticks_per_second: u64,
    /// Version of the loaded NVIDIA kernel module (`/proc/driver/nvidia/version`); unsupported: not loaded.
    pub driver_module: Reading<String>,
    /// Other modules that drive or block cards and are loaded (`nouveau`, `nvidia_drm` …), sorted.
    pub modules: Reading<Vec<String>>,
    /// Display-class and accelerator devices on the PCI bus.
    pub pci_cards: Reading<Vec<PciDevice>>,
    /// Device files of cards in `/dev` (`nvidia0`, `nvidiactl` …), sorted.
    pub device_files: Reading<Vec<String>>,
    /// `NVSwitches` on the PCI bus.
    pub nvswitches: Reading<u64>,
    /// Versions of the driver's library files on this machine (`libcuda.so.580.95.05`), sorted, each once.
    pub library_versions: Reading<Vec<String>>,
    /// Services around cards that are installed or run.
    pub services: Reading<Vec<Service>>,
    /// Why we think to be in a container (`docker`, `kubernetes` …); unsupported: we are not.
    pub container: Reading<String>,
    /// Cards that were promised to this container (`NVIDIA_VISIBLE_DEVICES`).
    pub promised_cards: Reading<String>,
    /// Who looks.
    pub viewer: Viewer,
}

/// With which rights the machine was looked at.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Viewer {
    /// Effective user id.
    pub uid: Reading<u32>,
    /// Whether `/proc` shows the initial pid namespace, in which the driver counts.
    pub initial_pid_namespace: Reading<bool>,
    /// Whether processes of other users are hidden (`hidepid`).
    pub hidden_processes: Reading<bool>,
}

/// A device on the PCI bus.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PciDevice {
    /// `0000:65:00.0`
    pub address: String,
    /// Vendor id.
    pub vendor: u32,
    /// Device id.
    pub device: u32,
    /// Class code, 24 bits.
    pub class: u32,
    /// Kernel driver that is bound; unsupported: none is.
    pub driver: Reading<String>,
    /// Whether the device answers on the bus (its configuration is not all ones).
    pub answers: Reading<bool>,
    /// Its link now: what one lane carries, one way.
    pub lane_speed: Reading<BytesPerSecond>,
    /// What one lane could carry at most.
    pub lane_speed_max: Reading<BytesPerSecond>,
    /// Lanes now.
    pub width: Reading<u32>,
    /// Lanes at most.
    pub width_max: Reading<u32>,
    /// Errors of the link that were corrected, since boot (advanced error reporting).
    pub corrected_errors: Reading<u64>,
    /// Errors of the link that were not corrected, since boot.
    pub uncorrected_errors: Reading<u64>,
    /// Its NUMA node.
    pub numa_node: Reading<u32>,
}

impl PciDevice {
    /// NVIDIA's vendor id.
    pub const NVIDIA: u32 = 0x10de;
    /// AMD's vendor id.
    pub const AMD: u32 = 0x1002;
    /// Intel's vendor id.
    pub const INTEL: u32 = 0x8086;

    /// Returns whether the device is a display or 3D controller (class 0x03) or accelerator (class 0x12).
    pub const fn is_card(&self) -> bool {
        matches!(self.class >> 16, 0x03 | 0x12)
    }
}

/// Processors, memory and pressure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostSample {
    /// Processors that are on line.
    pub cpus: Reading<u64>,
    /// Processor time since boot.
    pub cpu_times: Reading<CpuTimes>,
    /// Memory.
    pub memory: Reading<HostMemory>,
    /// Pressure for processors.
    pub cpu_pressure: Reading<Pressure>,
    /// Pressure for I/O.
    pub io_pressure: Reading<Pressure>,
    /// Pressure for memory.
    pub memory_pressure: Reading<Pressure>,
    /// Faults and paging.
    pub paging: Reading<Paging>,
    /// Room in shared memory (`/dev/shm`).
    pub shared_memory: Reading<Space>,
    /// Disks.
    pub disks: Reading<Vec<DiskSample>>,
    /// Network links, by name.
    pub interfaces: Reading<Vec<InterfaceSample>>,
}

/// Processor time of the whole machine since boot, in clock ticks (`/proc/stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuTimes {
    /// User and nice.
    pub user: u64,
    /// System and interrupts.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while some task waited for block I/O.
    pub io_wait: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

/// Memory of the machine in bytes (`/proc/meminfo`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostMemory {
    /// All of it.
    pub total: u64,
    /// What a new program could get.
    pub available: u64,
    /// Swap space.
    pub swap_total: u64,
    /// Free swap space.
    pub swap_free: u64,
    /// In shared memory and temporary file systems.
    pub shared: u64,
    /// Written by programs, not yet on disk.
    pub dirty: u64,
}

/// One file of `/proc/pressure` or of a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pressure {
    /// Time in which some task waited.
    pub some: PressureLine,
    /// Time in which all non-idle tasks waited; none: the kernel gives no such line.
    pub full: Option<PressureLine>,
}

/// One line of a pressure file. Averages are left out on purpose: differences of the total decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PressureLine {
    /// Microseconds since boot.
    pub total_us: u64,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MountPoint {
    /// Where.
    pub target: String,
    /// Kind (`ext4`, `nfs4`, `fuse.s3fs` …).
    pub file_system: String,
    /// What, credentials masked.
    pub source: String,
    /// Device number, `259:1`.
    pub device: String,
}
