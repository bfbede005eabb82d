//! A machine that is written into a folder.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use super::{child_program, one_at_a_time};
use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::{ProcessSample, ProcessTable, Sample};
use gpuwhy_sources::{Observer, Options, Roots};

/// A machine in a directory.
pub(crate) struct Machine {
    root: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Makes an empty machine below a folder.
    pub(crate) fn below(folder: &Path) -> Self {
        let turn = one_at_a_time();
        let root = tempfile::tempdir_in(folder).unwrap();
        for directory in ["proc/self", "sys/bus/pci/devices", "dev", "etc"] {
            std::fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let machine = Self { root, _turn: turn };
        machine.write("dev/nvidia0", b"");
        machine.write("etc/passwd", b"root:x:0:0::/:\nalice:x:2001:2001::/:\n");
        machine.write(
            "proc/self/mountinfo",
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / /data rw - nfs4 store:/d rw\n\
              3 1 0:60 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        );
        machine
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Writes a process with nothing but its stat file.
    pub(crate) fn process(&self, pid: u32, parent: u32, name: &str, state: char, threads: u32) {
        let stat = format!(
            "{pid} ({name}) {state} {parent} {pid} {pid} 0 -1 0 0 0 0 0 120 30 0 0 20 0 {threads} 0 {} 0 0\n",
            pid * 10
        );
        self.write(&format!("proc/{pid}/stat"), stat.as_bytes());
    }

    pub(crate) fn link(&self, name: &str, target: &Path) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(crate) fn observer(&self) -> Observer {
        let roots = Roots {
            proc: self.path("proc"),
            sys: self.path("sys"),
            dev: self.path("dev"),
            system: self.path(""),
            passwd: self.path("etc/passwd"),
            nvml_library: Some(self.path("no-library")),
            kernel_log: None,
        };
        Observer::start(roots, Options { child: child_program(), ..Options::default() })
    }
}

/// Returns the processes of a sample.
pub(crate) fn table(sample: &Sample) -> &ProcessTable {
    sample.processes.value.known().unwrap()
}

/// Returns a process of a sample.
pub(crate) fn process(sample: &Sample, pid: u32) -> &ProcessSample {
    table(sample)
        .processes
        .iter()
        .find(|process| process.pid == Pid(pid))
        .unwrap_or_else(|| panic!("no {pid}"))
}

/// A run that holds a card, with a loader that is blocked, beside somebody who has nothing to do with it.
pub(crate) fn machine_with_a_run() -> Machine {
    let machine = Machine::new();
    machine.process(1, 0, "systemd", 'S', 1);
    machine.process(100, 1, "torchrun", 'S', 1);
    machine.process(200, 100, "python", 'S', 3);
    machine.process(201, 200, "pt_data_worker", 'D', 1);
    machine.process(300, 1, "sshd", 'S', 1);
    machine.link("proc/200/fd/3", &machine.path("dev/nvidia0"));
    machine.link("proc/200/exe", Path::new("/usr/bin/python3.11"));
    machine.write("proc/200/cmdline", b"python\0train.py\0--api-key\0hunter2-in-arguments\0");
    machine.write("proc/200/environ", b"RANK=3\0WANDB_API_KEY=hunter2-in-environment\0HOME=/home/alice\0");
    machine.write(
        "proc/200/status",
        b"Name:\tpython\nState:\tS\nUid:\t2001\t2001\t2001\t2001\nNSpid:\t200\t7\n",
    );
    machine.write("proc/200/cgroup", b"0::/user.slice/run-7.scope\n");
    machine.write("proc/200/schedstat", b"1 77 3\n");
    machine.link("proc/201/fd/4", Path::new("/data/set/shard-1.tar"));
    machine.link("proc/201/fd/5", Path::new("/data/set/shard-2.tar"));
    machine.link("proc/201/fd/6", Path::new("socket:[9]"));
    machine.write("proc/201/wchan", b"nfs_wait_bit_killable");
    machine.write("proc/201/io", b"rchar: 10\nwchar: 0\nread_bytes: 5\nwrite_bytes: 0\n");
    machine.write("proc/201/cmdline", b"python\0train.py\0");
    machine.write("sys/fs/cgroup/user.slice/run-7.scope/cpu.max", b"200000 100000\n");
    machine.write(
        "sys/fs/cgroup/user.slice/run-7.scope/cpu.stat",
        b"usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 5\n",
    );
    machine.write("sys/fs/cgroup/user.slice/run-7.scope/io.pressure", b"some avg10=0.0 total=123\n");
    machine.write("sys/fs/cgroup/user.slice/cpu.max", b"max 100000\n");
    machine
}
