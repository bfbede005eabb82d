//! A written `/proc` with holes, seen without a driver: who holds cards, their trees, and nothing invented.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use super::support::{child_program, one_at_a_time};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{ProcessRole, ProcessSample, ProcessState, ProcessTable, Sample};
use gpuwhy_sources::{Depth, Observer, Options, Roots};

/// A machine in a directory.
struct Machine {
    root: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Machine {
    fn new() -> Self {
        let turn = one_at_a_time();
        let root = tempfile::tempdir().unwrap();
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

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Writes a process with nothing but its stat file.
    fn process(&self, pid: u32, parent: u32, name: &str, state: char, threads: u32) {
        let stat = format!(
            "{pid} ({name}) {state} {parent} {pid} {pid} 0 -1 0 0 0 0 0 120 30 0 0 20 0 {threads} 0 {} 0 0\n",
            pid * 10
        );
        self.write(&format!("proc/{pid}/stat"), stat.as_bytes());
    }

    fn link(&self, name: &str, target: &Path) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn observer(&self) -> Observer {
        let roots = Roots {
            proc: self.path("proc"),
            sys: self.path("sys"),
            dev: self.path("dev"),
            passwd: self.path("etc/passwd"),
            nvml_library: Some(self.path("no-library")),
            kernel_log: None,
        };
        Observer::start(roots, Options { child: child_program(), ..Options::default() })
    }
}

fn table(sample: &Sample) -> &ProcessTable {
    sample.processes.value.known().unwrap()
}

fn process(sample: &Sample, pid: u32) -> &ProcessSample {
    table(sample)
        .processes
        .iter()
        .find(|process| process.pid == Pid(pid))
        .unwrap_or_else(|| panic!("no {pid}"))
}

/// A run that holds a card, with a loader that is blocked, beside somebody who has nothing to do with it.
fn machine_with_a_run() -> Machine {
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

#[test]
fn who_holds_a_card_is_found_with_its_tree() {
    let machine = machine_with_a_run();
    let sample = machine.observer().sample(Depth::Full);
    let pids: Vec<u32> = table(&sample).processes.iter().map(|process| process.pid.0).collect();
    assert_eq!(pids, [1, 100, 200, 201]);
    assert_eq!(table(&sample).listed, Reading::Known(5));
    let holders = table(&sample).device_holders.known().unwrap();
    assert_eq!(holders.len(), 1);
    assert_eq!((holders[0].pid, holders[0].start_ticks), (Pid(200), 2000));

    let run = process(&sample, 200);
    assert_eq!(run.user, Reading::Known("alice".to_owned()));
    assert_eq!(run.executable, Reading::Known("/usr/bin/python3.11".to_owned()));
    assert_eq!(run.namespace_pids, Reading::Known(vec![200, 7]));
    assert_eq!(run.owner.unit.as_deref(), Some("run-7.scope"));
    let roles: Vec<_> = table(&sample).processes.iter().map(|process| process.role).collect();
    let expected =
        [ProcessRole::Init, ProcessRole::Launcher, ProcessRole::Interpreter, ProcessRole::Loader].map(Some);
    assert_eq!(roles, expected);
    assert_eq!(run.environment.known().unwrap().get("RANK").map(String::as_str), Some("3"));
    assert_eq!(run.run_delay_ns, Reading::Known(77));
    assert_eq!((run.cpu_ticks, run.thread_count, run.start_ticks), (150, 3, 2000));
    let loader = process(&sample, 201);
    assert_eq!(loader.state, Reading::Known(ProcessState::Blocked));
    assert_eq!(loader.wait_channel, Reading::Known("nfs_wait_bit_killable".to_owned()));
    assert_eq!(loader.io.known().unwrap().read_bytes, 5);
    assert_eq!(loader.file_mounts.known().unwrap().get("/data"), Some(&2));

    let cgroup = table(&sample).cgroups.iter().find(|cgroup| cgroup.path.ends_with("run-7.scope")).unwrap();
    assert_eq!(cgroup.cpu_quota_cores, Reading::Known(2.0));
    assert_eq!(cgroup.cpu_throttled_ns, Reading::Known(5000));
    assert_eq!(cgroup.io_some_us, Reading::Known(123));
    assert_eq!(cgroup.cpu_some_us, Reading::Unsupported);
}

#[test]
fn holes_are_reasons_and_no_zeros() {
    let machine = machine_with_a_run();
    let sample = machine.observer().sample(Depth::Full);
    let run = process(&sample, 200);
    assert_eq!(run.io, Reading::Failed(Failure::Vanished));
    assert_eq!(run.resident, Reading::Unsupported);
    assert_eq!(run.block_delay_ticks, Reading::Unsupported);
    assert_eq!(process(&sample, 201).run_delay_ns, Reading::Unsupported);
    assert!(matches!(sample.nvml.value, Reading::Failed(Failure::LibraryNotLoaded { .. })));
    assert!(matches!(sample.kernel_log.value, Reading::Failed(Failure::Missing { .. })));
    let host = sample.host.value.known().unwrap();
    assert!(!host.cpus.is_known() && !host.memory.is_known());
    assert_eq!(host.io_pressure, Reading::Unsupported);
}

#[test]
fn secrets_never_reach_a_sample() {
    let machine = machine_with_a_run();
    let mut observer = machine.observer();
    for depth in [Depth::Full, Depth::Calm, Depth::Full] {
        let text = serde_json::to_string(&observer.sample(depth)).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn without_processes_there_is_a_reason() {
    let machine = Machine::new();
    std::fs::remove_dir_all(machine.path("proc")).unwrap();
    std::fs::remove_dir_all(machine.path("sys")).unwrap();
    let sample = machine.observer().sample(Depth::Full);
    assert!(matches!(sample.processes.value, Reading::Failed(Failure::Missing { .. })));
    let seen = sample.machine.value.known().unwrap();
    assert_eq!(seen.pci_cards, Reading::Denied(Access::MountedSys));
    assert!(!seen.boot_id.is_known());
}

#[test]
fn a_process_with_a_reused_number_is_another_one() {
    let machine = machine_with_a_run();
    let mut observer = machine.observer();
    observer.sample(Depth::Full);
    // The same number and parent, but started later, with other arguments.
    let stat = "200 (python) S 100 200 200 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9999 0 0\n";
    machine.write("proc/200/stat", stat.as_bytes());
    machine.write("proc/200/cmdline", b"python\0other.py\0");
    let sample = observer.sample(Depth::Full);
    let run = process(&sample, 200);
    assert_eq!(run.start_ticks, 9999);
    assert_eq!(run.command.known().unwrap().line(), "python other.py");
}
