//! Where the place of a box lies: everything in one directory, so that several boxes can run side by side.

use std::path::PathBuf;

use crate::board::BoxDirectory;

impl BoxDirectory {
    /// What members see as `/dev`.
    pub fn devices(&self) -> PathBuf {
        self.path().join("dev")
    }

    /// What members see as `/proc/driver`.
    pub fn proc_driver(&self) -> PathBuf {
        self.path().join("proc-driver")
    }

    /// What members see as `/proc/modules`.
    pub fn proc_modules(&self) -> PathBuf {
        self.path().join("proc-modules")
    }

    /// What members see as `/proc/meminfo`, on a machine short of memory.
    pub fn proc_meminfo(&self) -> PathBuf {
        self.path().join("proc-meminfo")
    }

    /// What members see as `/proc/pressure/memory`, on a machine short of memory.
    pub fn proc_pressure_memory(&self) -> PathBuf {
        self.path().join("proc-pressure-memory")
    }

    /// What members see as `/proc/vmstat`, on a machine short of memory.
    pub fn proc_vmstat(&self) -> PathBuf {
        self.path().join("proc-vmstat")
    }

    /// What members see as `/sys/bus/pci/devices`.
    pub fn pci_devices(&self) -> PathBuf {
        self.path().join("sys-pci")
    }

    /// What members see as `/dev/kmsg`, in the kernel's record format.
    pub fn kernel_log(&self) -> PathBuf {
        self.path().join("kmsg")
    }

    /// What members see as `/etc/passwd`.
    pub fn passwd(&self) -> PathBuf {
        self.path().join("passwd")
    }

    /// The programs of the box: our own binary under the names that a person would see.
    pub fn programs(&self) -> PathBuf {
        self.path().join("bin")
    }

    /// One file per member with what it measured itself.
    pub fn truth(&self) -> PathBuf {
        self.path().join("truth")
    }

    /// Standard output and error of members and helpers.
    pub fn logs(&self) -> PathBuf {
        self.path().join("logs")
    }

    /// Specifications that the members read at their start.
    pub fn members(&self) -> PathBuf {
        self.path().join("members")
    }

    /// Mount points and data sets of the box's stores.
    pub fn stores(&self) -> PathBuf {
        self.path().join("stores")
    }

    /// The data set on the real disk.
    pub fn data_set(&self) -> PathBuf {
        self.stores().join("disk")
    }

    /// Where a store, or the data set on the real disk (`data`), appears to members.
    pub fn mount_point(name: &str) -> PathBuf {
        PathBuf::from("/mnt").join(name)
    }

    /// Where members save checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.path().join("checkpoints")
    }

    /// Configuration of programs that run in the box, as `XDG_CONFIG_HOME`.
    pub fn configuration(&self) -> PathBuf {
        self.path().join("config")
    }

    /// What was asked for when the box was brought up (JSON).
    pub fn plan(&self) -> PathBuf {
        self.path().join("plan.json")
    }

    /// What came of it: keeper, members, what cannot be shown (JSON).
    pub fn status(&self) -> PathBuf {
        self.path().join("status.json")
    }

    /// Changes made to the machine, written before they are made (JSON lines).
    pub fn journal(&self) -> PathBuf {
        self.path().join("journal")
    }

    /// The socket on which the keeper takes the order to stop.
    pub fn control(&self) -> PathBuf {
        self.path().join("control")
    }
}
