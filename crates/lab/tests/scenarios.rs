//! Runs scenarios without any monitor: what they say is so must be so, and a run without the planted cause must be void.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::PathBuf;

use gpuwhy_lab::scenario::{self, Drawn};
use gpuwhy_lab::workloads::{Data, Work};

fn drawn(name: &str, seed: u64) -> Drawn {
    let mut drawn = scenario::named(name).unwrap().unwrap().draw(seed).unwrap();
    // Nobody calls the library here, so it need not have been built.
    drawn.plan.library_installed = false;
    drawn.needs.clear();
    drawn
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = folder.path().join("box");
    (folder, path)
}

#[test]
fn the_truth_names_the_process_that_a_dead_run_left_behind() {
    let (_folder, path) = place();
    let drawn = drawn("vram-held-by-dead-process", 3);
    let member = drawn.plan.members[0].clone();
    let mut running = drawn.start(&path).unwrap();
    let output = running
        .run(None, &["/bin/sh", "-c", "ls /dev; cat \"$XDG_CONFIG_HOME/gpuwhy/gpuwhy.toml\""])
        .unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    assert!(seen.contains("nvidia0") && seen.contains("idle_reserved_s"), "{seen}");

    let truth = running.truth();
    assert_eq!(truth.void, None);
    assert_eq!(truth.near_miss_of, None);
    let answer = &truth.answers[0];
    assert_eq!((answer.cause.as_str(), &answer.cards), ("vram-held-by-dead-process", &member.cards));
    let [culprit] = answer.culprits.as_slice() else { panic!("one process is left: {answer:?}") };
    let Work::Orphan(orphan) = &member.work else { panic!("a dead run") };
    assert_eq!(culprit.command, orphan.child_command.join(" "));
    assert_eq!(culprit.card, Some(member.cards[0]));
    if rustix::process::geteuid().is_root() {
        assert_eq!(culprit.user, member.user);
    }
    let pid = culprit.pid;
    assert!(PathBuf::from(format!("/proc/{pid}")).exists());
    running.stop().unwrap();
    assert!(!PathBuf::from(format!("/proc/{pid}/exe")).exists());
}

#[test]
fn a_run_that_never_waits_for_data_does_not_count_as_starved() {
    let (_folder, path) = place();
    let mut drawn = drawn("starved-by-storage", 5);
    drawn.plan.stores.clear();
    drawn.plan.members.truncate(1);
    drawn.plan.members[0].read_bytes_per_s = None;
    if let Work::Train(train) = &mut drawn.plan.members[0].work {
        train.data = Data::Memory;
    }
    let mut running = drawn.start(&path).unwrap();
    running.run(None, &["/bin/sleep", "1"]).unwrap();
    let truth = running.truth();
    running.stop().unwrap();
    let void = truth.void.expect("nothing was planted");
    assert!(void.contains("WaitShare"), "{void}");
}

#[test]
fn a_box_goes_down_with_whoever_lets_go_of_it() {
    let (_folder, path) = place();
    let mut drawn = drawn("undetermined.near-free-cards", 1);
    drawn.settle_s = 0.0;
    let running = drawn.start(&path).unwrap();
    let anchor = running.status().anchor;
    drop(running);
    assert!(!PathBuf::from(format!("/proc/{anchor}/exe")).exists());
    assert!(!path.join("journal").exists());
}
