//! Where this machine's files are read: everything below roots that the caller gives.

use std::path::PathBuf;

/// The places that a look reads. The defaults are the real ones; tests and emulated boxes give others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Processes, pressure, memory, the driver's version.
    pub proc: PathBuf,
    /// The PCI bus, control groups.
    pub sys: PathBuf,
    /// Device files.
    pub dev: PathBuf,
    /// Libraries, unit files and logs of services.
    pub system: PathBuf,
    /// Names of users.
    pub passwd: PathBuf,
    /// The NVIDIA library; none: as the loader finds it.
    pub nvml_library: Option<PathBuf>,
    /// The kernel log; none: `kmsg` among the device files.
    pub kernel_log: Option<PathBuf>,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            sys: PathBuf::from("/sys"),
            dev: PathBuf::from("/dev"),
            system: PathBuf::from("/"),
            passwd: PathBuf::from("/etc/passwd"),
            nvml_library: None,
            kernel_log: None,
        }
    }
}
