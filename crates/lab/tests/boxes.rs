//! Brings boxes up as root and as an ordinary user, looks from inside, and checks that nothing is left behind.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests fail and speak as tests do")]

mod support;

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gpuwhy_lab::place::ability::{Abilities, Ability, DELAY_ACCOUNTING};
use gpuwhy_lab::place::journal;
use gpuwhy_lab::place::keeper::Status;
use gpuwhy_lab::place::process::{self, ProcessIdentity};
use gpuwhy_lab::place::running;
use rustix::process::{Pid, Signal, kill_process};
use support::{LAB, is_root, one_at_a_time, place, shell, start, text, wait_for};

const ORDINARY_USER: u32 = 1234;

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn state_of(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

fn delay_accounting() -> String {
    fs::read_to_string(DELAY_ACCOUNTING).unwrap_or_default().trim().to_owned()
}

/// Somebody else on this machine may have a box up, which then keeps the setting as it is.
fn others_are_up() -> bool {
    journal::known_boxes().iter().any(journal::is_kept)
}

fn namespace_of(status: &Status) -> PathBuf {
    process::mount_namespace(status.anchor).unwrap()
}

const TWO_CARDS: &str = "[[board.card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 2\n";

const NOTEBOOK: &str = "[[members]]\nname = \"notebook\"\nuser = \"bob\"\n\
    command = [\"python3\", \"/usr/local/bin/jupyter-lab\"]\ncards = [1]\n\
    [members.work.hold]\nmemory_share = 0.25\n\
    kernel_command = [\"python3\", \"-m\", \"ipykernel_launcher\", \"-f\", \"/home/bob/kernel-1.json\"]\n";

const DEAD_RUN: &str = "[[members]]\nname = \"dead-run\"\nuser = \"alice\"\n\
    command = [\"python3\", \"/usr/local/bin/torchrun\", \"train.py\"]\ncards = [0]\n\
    [members.work.orphan]\nmemory_share = 0.5\nworked_s = 0.1\n\
    rank_command = [\"python3\", \"-u\", \"train.py\"]\n\
    child_command = [\"python3\", \"-c\", \"spawn_main()\", \"--multiprocessing-fork\"]\n";

const SLOW_RUN: &str = "[[members]]\nname = \"run\"\nuser = \"alice\"\n\
    command = [\"python3\", \"train.py\"]\ncards = [0]\nread_bytes_per_s = 8000000\n\
    [members.work.train]\ndata = \"disk\"\nloaders = 2\nbatch_bytes = 1000000\nkernel_ms = 30.0\nmemory_share = 0.2\n\
    [data_set]\nfiles = 4\nfile_bytes = 1048576\n";

#[test]
fn a_visitor_sees_a_machine_with_cards() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (_folder, directory) = place();
    let log = "[[kernel_log]]\nseconds_ago = 5.0\ntext = \"NVRM: Xid (PCI:0000:0f:00): 79\"\n";
    let mut kept = start(&directory, &format!("{TWO_CARDS}{log}{NOTEBOOK}"));

    let devices = text(&shell(&directory, None, "ls /dev"));
    for device in ["null", "nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "kmsg", "shm"] {
        assert!(devices.lines().any(|line| line == device), "{device} in {devices}");
    }
    assert!(!devices.contains("nvidia2"));
    let version = text(&shell(&directory, None, "cat /proc/driver/nvidia/version"));
    assert!(version.contains("580.95.05"));
    let vendors = text(&shell(&directory, None, "cat /sys/bus/pci/devices/*/vendor"));
    assert_eq!(vendors.matches("0x10de").count(), 2);
    assert!(text(&shell(&directory, None, "cat /dev/kmsg")).contains("Xid (PCI:0000:0f:00): 79"));
    assert_eq!(text(&shell(&directory, Some("alice"), "id -un; id -u")), "alice\n2001\n");
    assert_eq!(shell(&directory, None, "exit 7").status.code(), Some(7));

    let kernel = text(&shell(&directory, None, "pgrep -u bob -f ipykernel_launcher"));
    let kernel: u32 = kernel.trim().parse().unwrap();
    let opened = text(&shell(&directory, None, &format!("readlink /proc/{kernel}/fd/*")));
    assert!(opened.lines().any(|line| line == "/dev/nvidia1"), "{opened}");
    let status = fs::read_to_string(format!("/proc/{kernel}/status")).unwrap();
    assert!(status.contains("Uid:\t2002"), "{status}");
    assert!(!Path::new("/dev/nvidia0").exists(), "the machine's own /dev is untouched");

    running::stop(&directory).unwrap();
    kept.keeper.wait().unwrap();
}

#[test]
fn nobody_survives_the_end_of_a_box() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let before = delay_accounting();
    let (_folder, directory) = place();
    let mut kept = start(&directory, &format!("{TWO_CARDS}{NOTEBOOK}{DEAD_RUN}"));
    let namespace = namespace_of(&kept.status);
    // Anchor, notebook server, notebook kernel, and what the dead run left behind.
    assert_eq!(process::processes_in(&namespace).len(), 4);
    assert_eq!(delay_accounting(), "1");

    running::stop(&directory).unwrap();
    kept.keeper.wait().unwrap();
    assert_eq!(process::processes_in(&namespace), Vec::<u32>::new());
    assert!(!directory.journal().exists() && !directory.state_file().exists());
    assert!(delay_accounting() == before || others_are_up());
}

#[test]
fn a_dead_run_leaves_a_child_without_its_parent() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (_folder, directory) = place();
    let mut kept = start(&directory, &format!("{TWO_CARDS}{DEAD_RUN}"));
    let child = text(&shell(&directory, None, "pgrep -u alice -f multiprocessing-fork"));
    let status = fs::read_to_string(format!("/proc/{}/status", child.trim())).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t")).unwrap();
    assert_ne!(parent, kept.keeper.id().to_string());
    assert!(process::processes_in(&namespace_of(&kept.status)).iter().all(|pid| pid.to_string() != parent));
    running::stop(&directory).unwrap();
    kept.keeper.wait().unwrap();
}

#[test]
fn the_next_start_puts_back_what_a_killed_keeper_left() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let before = delay_accounting();
    let (_folder, directory) = place();
    let mut kept = start(&directory, &format!("{TWO_CARDS}{SLOW_RUN}{DEAD_RUN}"));
    let namespace = namespace_of(&kept.status);
    let groups: Vec<PathBuf> = journal::entries(&directory)
        .into_iter()
        .filter_map(|entry| match entry {
            journal::Entry::ControlGroup(path) => Some(path),
            _ => None,
        })
        .collect();
    signal(kept.status.keeper, Signal::KILL);
    kept.keeper.wait().unwrap();
    wait_for("members die with their keeper", || process::processes_in(&namespace).is_empty());
    assert!(directory.journal().exists() && delay_accounting() == "1");

    let (_other_folder, other) = place();
    let mut next = start(&other, TWO_CARDS);
    assert!(!directory.journal().exists());
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    running::stop(&other).unwrap();
    next.keeper.wait().unwrap();
    assert!(delay_accounting() == before || others_are_up());
}

#[test]
fn the_end_of_whoever_started_it_takes_a_box_down() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (folder, directory) = place();
    let board = folder.path().join("board.toml");
    fs::write(&board, "[[card]]\nprofile = \"t4\"\n").unwrap();
    let mut lab = Command::new(LAB)
        .args(["up", "--foreground", "--without-library", "--dir"])
        .arg(directory.path())
        .arg(&board)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the box is up", || directory.status().exists());
    lab.kill().unwrap();
    lab.wait().unwrap();
    wait_for("the box is down", || !directory.journal().exists());
}

#[test]
fn a_silent_store_has_readers_that_only_its_end_frees() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (_folder, directory) = place();
    if !Abilities::look(Path::new("/var/tmp")).can_show(Ability::Store) {
        println!("skipped: /dev/fuse cannot be opened");
        return;
    }
    let store = "[[stores]]\nname = \"frozen\"\nsource = \"nas:/home\"\nkind = \"fuse.sshfs\"\nbehaviour = \"silent\"\n";
    let mut kept = start(&directory, &format!("{TWO_CARDS}{store}"));
    let mut reader = Command::new(LAB)
        .arg("shell")
        .arg(directory.path())
        .args(["--", "cat", "/mnt/frozen/silent"])
        .spawn()
        .unwrap();
    wait_for("the reader is in D state", || state_of(reader.id()) == Some('D'));
    let identity = ProcessIdentity::of(reader.id()).unwrap();
    signal(reader.id(), Signal::KILL);
    let looked_until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < looked_until {
        assert!(identity.is_alive(), "the reader cannot be killed");
        std::thread::sleep(Duration::from_millis(10));
    }
    running::stop(&directory).unwrap();
    kept.keeper.wait().unwrap();
    assert!(!reader.wait().unwrap().success());
}

#[test]
fn a_slow_store_makes_its_readers_wait_in_the_kernel() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    if !Abilities::look(Path::new("/var/tmp")).can_show(Ability::Store) {
        println!("skipped: /dev/fuse cannot be opened");
        return;
    }
    let (_folder, directory) = place();
    let store = "[[stores]]\nname = \"nas\"\nsource = \"nas:/data\"\nkind = \"fuse.sshfs\"\n\
        behaviour = { slow = { bytes_per_second = 1000000, files = 2, file_bytes = 500000 } }\n";
    let mut kept = start(&directory, &format!("{TWO_CARDS}{store}"));
    let listing = text(&shell(&directory, Some("alice"), "ls /mnt/nas; stat -c %s /mnt/nas/shard-00001.tar"));
    assert_eq!(listing, "shard-00000.tar\nshard-00001.tar\n500000\n");
    let began = Instant::now();
    assert_eq!(
        text(&shell(&directory, Some("alice"), "cat /mnt/nas/shard-00000.tar | wc -c")).trim(),
        "500000"
    );
    assert!(began.elapsed() >= Duration::from_millis(450), "{:?}", began.elapsed());
    running::stop(&directory).unwrap();
    kept.keeper.wait().unwrap();
}

#[test]
fn an_ordinary_user_has_boxes_too() {
    let _alone = one_at_a_time();
    let (folder, directory) = place();
    let plan_file = folder.path().join("plan.toml");
    fs::write(&plan_file, "[[card]]\nprofile = \"t4\"\ncount = 2\n").unwrap();
    let becomes_ordinary = rustix::process::geteuid().is_root();
    if becomes_ordinary {
        chown(folder.path(), Some(ORDINARY_USER), Some(ORDINARY_USER)).unwrap();
    }
    let lab = |arguments: &[&str]| {
        let mut lab = Command::new(LAB);
        lab.args(arguments);
        if becomes_ordinary {
            lab.uid(ORDINARY_USER).gid(ORDINARY_USER);
        }
        lab.current_dir("/").output().unwrap()
    };
    let path = directory.path().to_str().unwrap();
    let up = lab(&["up", "--without-library", "--dir", path, plan_file.to_str().unwrap()]);
    if String::from_utf8_lossy(&up.stderr).contains("cannot make a namespace") {
        println!("skipped: user namespaces are not allowed here");
        return;
    }
    let status: Status = serde_json::from_str(&text(&up)).unwrap();
    let missing: Vec<Ability> = status.cannot_show.iter().map(|inability| inability.what).collect();
    assert!(missing.contains(&Ability::Users) && missing.contains(&Ability::CpuLimit), "{missing:?}");

    let seen = text(&lab(&[
        "shell",
        path,
        "--",
        "/bin/sh",
        "-c",
        "ls /dev; cat /sys/bus/pci/devices/*/vendor; id -u",
    ]));
    assert!(seen.contains("nvidia1") && seen.matches("0x10de").count() == 2, "{seen}");
    if becomes_ordinary {
        assert!(seen.ends_with(&format!("{ORDINARY_USER}\n")), "{seen}");
    }
    assert!(text(&lab(&["list"])).contains(path));
    text(&lab(&["down", path]));
    assert!(!text(&lab(&["list"])).contains(path));
}
