//! A written `/proc` with holes, seen without a driver: who holds cards, their trees, and nothing invented.

use super::support::written::{Machine, machine_with_a_run, process, table};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{ProcessRole, ProcessState};
use gpuwhy_sources::Depth;

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
