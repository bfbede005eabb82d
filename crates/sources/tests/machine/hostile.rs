//! A machine that nobody keeps tidy: processes that come and go while they are read, numbers that are given away again,
//! names that are made to confuse, files with holes, clocks that jump. Right or unknown, never a stale process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::support::written::{Machine, machine_with_a_run, process, table};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Sample;
use gpuwhy_model::window::window;
use gpuwhy_sources::Depth;
use jiff::SignedDuration;

/// Files of a process, of its control group and of the machine.
const FILES: &[&str] = &[
    "proc/200/stat",
    "proc/200/status",
    "proc/200/cgroup",
    "proc/200/cmdline",
    "proc/200/environ",
    "proc/200/schedstat",
    "proc/200/io",
    "proc/200/maps",
    "proc/200/wchan",
    "proc/201/stat",
    "proc/201/io",
    "proc/201/wchan",
    "proc/self/mountinfo",
    "proc/stat",
    "proc/meminfo",
    "proc/vmstat",
    "proc/diskstats",
    "proc/net/dev",
    "proc/pressure/io",
    "proc/modules",
    "proc/driver/nvidia/version",
    "proc/sys/kernel/pid_max",
    "proc/sys/kernel/random/boot_id",
    "etc/passwd",
    "sys/fs/cgroup/user.slice/run-7.scope/cpu.max",
    "sys/fs/cgroup/user.slice/run-7.scope/memory.max",
    "sys/class/net/eth0/speed",
    "sys/bus/pci/devices/0000:65:00.0/class",
];

fn pids(sample: &Sample) -> Vec<u32> {
    table(sample).processes.iter().map(|process| process.pid.0).collect()
}

#[test]
fn files_with_holes_never_end_the_look() {
    let machine = machine_with_a_run();
    let stat = std::fs::read(machine.path("proc/200/stat")).unwrap();
    let huge = [stat.as_slice(), vec![b'7'; 1 << 20].as_slice()].concat();
    let half = &stat[..stat.len() / 2];
    for file in FILES {
        let before = std::fs::read(machine.path(file)).ok();
        for bytes in [&b""[..], b"\n", b"\0\0\0", b"\xff\xfe\n:\n(\n)", half, &huge] {
            machine.write(file, bytes);
            let mut observer = machine.observer();
            for depth in [Depth::Full, Depth::Calm, Depth::Full] {
                let sample = observer.sample(depth);
                // Whatever stands in one file, the others still count.
                assert!(sample.processes.value.is_known(), "{file}");
                assert!(pids(&sample).iter().all(|pid| [1, 100, 200, 201].contains(pid)), "{file}");
            }
        }
        match before {
            Some(bytes) => machine.write(file, &bytes),
            None => std::fs::remove_file(machine.path(file)).unwrap(),
        }
    }
    assert_eq!(pids(&machine.observer().sample(Depth::Full)), [1, 100, 200, 201]);
}

#[test]
fn names_cannot_pretend_to_be_other_fields() {
    let machine = machine_with_a_run();
    for (name, shown) in [
        (&b"a) R 1 1 1"[..], "a) R 1 1 1"),
        (b"two\nlines", "two\\nlines"),
        (b"\x1b[2Jgone", "\\u{1b}[2Jgone"),
        (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        (b") D 1 (", ") D 1 ("),
    ] {
        let stat =
            [b"201 (", name, b") S 200 201 201 0 -1 0 0 0 0 0 120 30 0 0 20 0 1 0 2010 0 0\n"].concat();
        machine.write("proc/201/stat", &stat);
        let sample = machine.observer().sample(Depth::Full);
        let loader = process(&sample, 201);
        assert_eq!((loader.name.as_str(), loader.parent, loader.start_ticks), (shown, Pid(200), 2010));
        let text = serde_json::to_string(&sample).unwrap();
        assert!(!text.bytes().any(|byte| byte < 0x20), "nothing in a sample can steer a terminal");
    }
}

#[test]
fn a_number_that_was_given_away_again_is_nobodys_holder() {
    let machine = machine_with_a_run();
    let mut observer = machine.observer();
    assert!(pids(&observer.sample(Depth::Full)).contains(&200));
    // The holder ends, and a stranger gets its number: started later, by somebody else, without the card.
    std::fs::remove_file(machine.path("proc/200/fd/3")).unwrap();
    machine.write("proc/200/stat", b"200 (vim) S 300 200 200 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9999 0 0\n");
    for depth in [Depth::Calm, Depth::Calm, Depth::Full] {
        let sample = observer.sample(depth);
        assert!(!pids(&sample).contains(&200), "{depth:?}: {:?}", pids(&sample));
    }
}

#[test]
fn a_loader_whose_number_was_given_away_again_leaves_the_tree() {
    let machine = machine_with_a_run();
    let mut observer = machine.observer();
    assert_eq!(process(&observer.sample(Depth::Full), 201).parent, Pid(200));
    machine.write("proc/201/stat", b"201 (vim) S 300 201 201 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9999 0 0\n");
    let sample = observer.sample(Depth::Calm);
    assert_eq!(pids(&sample), [1, 100, 200]);
}

#[test]
fn processes_that_come_and_go_while_they_are_read_do_no_harm() {
    let machine = machine_with_a_run();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut ticks = 10_000_u32;
            while !is_over.load(Ordering::Relaxed) {
                for pid in 210..230 {
                    ticks += 1;
                    let stat = format!("{pid} (w) S 200 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 2 0 {ticks} 0 0\n");
                    machine.write(&format!("proc/{pid}/stat"), stat.as_bytes());
                    machine.write(&format!("proc/{pid}/task/{pid}/stat"), stat.as_bytes());
                }
                for pid in 210..230 {
                    std::fs::remove_dir_all(machine.path(&format!("proc/{pid}"))).unwrap();
                }
            }
        });
        let mut observer = machine.observer();
        for look in 0..60 {
            let depth = if look % 3 == 0 { Depth::Full } else { Depth::Calm };
            let sample = observer.sample(depth);
            let seen = pids(&sample);
            assert!(seen.contains(&200) && seen.is_sorted(), "{seen:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_hundred_thousand_processes_are_listed_in_little_memory() {
    // Memory, where there is some: a disk takes its time for as many files.
    let folder =
        ["/dev/shm", "/tmp"].map(std::path::Path::new).into_iter().find(|path| path.is_dir()).unwrap();
    let machine = Machine::below(folder);
    machine.process(1, 0, "systemd", 'S', 1);
    for pid in 1000..101_000 {
        let directory = machine.path(&format!("proc/{pid}"));
        std::fs::create_dir(&directory).unwrap();
        let stat = format!("{pid} (sleep) S 1 {pid} {pid} 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 {pid} 0 0\n");
        std::fs::write(directory.join("stat"), stat).unwrap();
    }
    machine.link("proc/55555/fd/3", &machine.path("dev/nvidia0"));
    let before = resident_bytes();
    let begun = Instant::now();
    let mut observer = machine.observer();
    let sample = observer.sample(Depth::Full);
    let took = begun.elapsed();
    let calm = Instant::now();
    observer.sample(Depth::Calm);
    println!("first look {took:?}, calm tick {:?}", calm.elapsed());
    assert_eq!(table(&sample).listed, Reading::Known(100_001));
    assert_eq!(pids(&sample), [1, 55_555]);
    assert!(took < Duration::from_secs(30), "{took:?}");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 48 << 20, "{} MiB more than before", grown >> 20);
}

/// Returns the resident memory of this process.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

#[test]
fn clocks_that_jump_or_stand_still_make_no_rates() {
    let machine = machine_with_a_run();
    let mut observer = machine.observer();
    let first = observer.sample(Depth::Full);
    machine
        .write("proc/200/stat", b"200 (python) S 100 200 200 0 -1 0 0 0 0 0 920 30 0 0 20 0 3 0 2000 0 0\n");
    let last = observer.sample(Depth::Full);
    let cores = |samples: &[Sample]| {
        let scene = window(samples);
        scene.process(Pid(200)).unwrap().cores.known().map(|cores| format!("{:.2}", cores.0))
    };
    let moved = |boot_s: i64, wall_s: i64| {
        let mut moved = last.clone();
        for read in [&mut moved.taken, &mut moved.processes.read, &mut moved.host.read] {
            read.boot_ns = first.processes.read.boot_ns.saturating_add_signed(boot_s * 1_000_000_000);
            read.wall = first.processes.read.wall + SignedDuration::from_secs(wall_s);
        }
        moved
    };
    assert_eq!(cores(&[first.clone(), moved(4, 4)]), Some("2.00".to_owned()), "800 ticks in 4 s");
    assert_eq!(
        cores(&[first.clone(), moved(4, -3600)]),
        Some("2.00".to_owned()),
        "only the steady clock counts"
    );
    assert_eq!(cores(&[first.clone(), moved(0, 5)]), None, "a clock that stands still");
    assert_eq!(cores(&[first.clone(), moved(-5, 5)]), None, "a clock that goes back");
}
