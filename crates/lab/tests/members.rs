//! Members and places that are hard to have: what the kernel says about them, and that they go away again.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests fail and speak as tests do")]

mod support;

use std::fs;
use std::path::Path;

use gpuwhy_lab::place::ability::{Abilities, Ability};
use gpuwhy_lab::place::keeper::Status;
use gpuwhy_lab::place::plan::{Member, Plan};
use gpuwhy_lab::place::{BoxDirectory, process, running};
use gpuwhy_lab::workloads::truth::{Figures, Span, figures_of};
use support::{is_root, one_at_a_time, place, plan, shell, start, text, wait_for};

const TWO_CARDS: &str = "[[board.card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 2\n";

/// The head of a member of alice on card 0.
const MEMBER: &str =
    "[[members]]\nname = \"run\"\nuser = \"alice\"\ncommand = [\"python3\", \"train.py\"]\ncards = [0]\n";

fn can_show(ability: Ability) -> bool {
    let can = is_root() && Abilities::look(Path::new("/var/tmp")).can_show(ability);
    if !can {
        println!("skipped: this machine cannot show {ability:?}");
    }
    can
}

/// What the only member of a plan says of itself.
fn figures(directory: &BoxDirectory, plan: &Plan) -> Vec<Figures> {
    let member: &Member = &plan.members[0];
    figures_of(directory, member)
}

fn first_process(status: &Status) -> u32 {
    status.members["run"]
}

fn stop(directory: &BoxDirectory, mut kept: running::Kept) {
    let namespace = process::mount_namespace(kept.status.anchor).unwrap();
    running::stop(directory).unwrap();
    kept.keeper.wait().unwrap();
    assert_eq!(process::processes_in(&namespace), Vec::<u32>::new());
}

#[test]
fn a_zombie_holds_its_card_until_the_box_goes() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (_folder, directory) = place();
    let text = format!("{TWO_CARDS}{MEMBER}[members.work.zombie]\nmemory_share = 0.5\nworked_s = 0.1\n");
    let kept = start(&directory, &text);
    let pid = first_process(&kept.status);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains("State:\tZ"), "{status}");
    assert!(fs::read_dir(format!("/proc/{pid}/task")).unwrap().count() > 1);
    assert!(figures(&directory, &plan(&text))[0].bytes_held > 40 << 30);
    stop(&directory, kept);
}

#[test]
fn a_frozen_run_survives_its_own_death() {
    let _alone = one_at_a_time();
    if !can_show(Ability::Store) {
        return;
    }
    let (_folder, directory) = place();
    let store = "[[stores]]\nname = \"frozen\"\nsource = \"nas:/home\"\nkind = \"fuse.sshfs\"\nbehaviour = \"silent\"\n";
    let work = "[members.work.frozen]\nmemory_share = 0.5\nworked_s = 0.1\nstore = \"frozen\"\nrank_command = [\"python3\", \"-u\", \"train.py\"]\n";
    let text = format!("{TWO_CARDS}{MEMBER}{work}{store}");
    let kept = start(&directory, &text);
    let pid = figures(&directory, &plan(&text))[0].processes[0].identity.pid;
    wait_for("it is blocked in the kernel, and its other threads are gone", || {
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        threads.is_ok_and(|threads| threads.count() == 1)
            && status.is_ok_and(|status| status.contains("State:\tD"))
    });
    stop(&directory, kept);
    assert!(!Path::new(&format!("/proc/{pid}/exe")).exists());
}

#[test]
fn bytes_of_a_server_come_over_an_interface_of_the_machine() {
    let _alone = one_at_a_time();
    if !can_show(Ability::Network) {
        return;
    }
    let interfaces = || -> Vec<String> {
        let entries = fs::read_dir("/sys/class/net").unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let before = interfaces();
    let (_folder, directory) = place();
    let server = "[[servers]]\nname = \"objects\"\nbytes_per_second = 4000000\n";
    let work = "[members.work.train]\ndata = { server = \"objects\" }\nloaders = 2\nbatch_bytes = 200000\nkernel_ms = 5.0\nmemory_share = 0.1\n";
    let text = format!("{TWO_CARDS}{MEMBER}{work}{server}");
    let kept = start(&directory, &text);
    let new: Vec<String> = interfaces().into_iter().filter(|name| !before.contains(name)).collect();
    let [interface] = new.as_slice() else { panic!("one interface is new: {new:?}") };
    let received = || -> u64 {
        let file = format!("/sys/class/net/{interface}/statistics/rx_bytes");
        fs::read_to_string(file).unwrap().trim().parse().unwrap()
    };
    let first = received();
    wait_for("a megabyte comes over it", || received() > first + 1_000_000);
    let figures = figures(&directory, &plan(&text));
    assert!(figures[0].spans_s[&Span::WaitingForData] > figures[0].spans_s[&Span::OnTheCard], "{figures:?}");
    stop(&directory, kept);
    wait_for("the interface is gone", || interfaces() == before);
}

#[test]
fn a_small_shared_memory_holds_loaders_up_but_never_stops_them() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (_folder, directory) = place();
    let work = "[members.work.train]\ndata = \"memory\"\nloaders = 3\nshared_bytes = 3000000\nkernel_ms = 5.0\nmemory_share = 0.1\n";
    let text = format!("shared_memory_bytes = 8388608\n{TWO_CARDS}{MEMBER}{work}");
    let kept = start(&directory, &text);
    let size = self::text(&shell(&directory, None, "df -k --output=size /dev/shm | tail -1"));
    assert_eq!(size.trim(), "8192");
    let plan = plan(&text);
    wait_for("loaders are refused room", || figures(&directory, &plan)[0].refusals > 5);
    let steps = figures(&directory, &plan)[0].steps;
    wait_for("the run goes on", || figures(&directory, &plan)[0].steps > steps + 10);
    stop(&directory, kept);
}

#[test]
fn a_visitor_with_pids_of_its_own_sees_nobody_else() {
    let _alone = one_at_a_time();
    if !can_show(Ability::OwnPids) || !can_show(Ability::TaskLimit) {
        return;
    }
    let (_folder, directory) = place();
    let visitor = "visitor = { own_pids = true, container = \"docker\" }\n";
    let kept =
        start(&directory, &format!("{visitor}{TWO_CARDS}{MEMBER}[members.work.hold]\nmemory_share = 0.2\n"));
    let seen = text(&shell(
        &directory,
        None,
        "ls -d /proc/[0-9]*; cat /proc/driver/nvidia/version; cat /proc/self/cgroup",
    ));
    assert!(seen.lines().filter(|line| line.starts_with("/proc/")).count() <= 3, "{seen}");
    assert!(seen.contains("580.95.05") && seen.contains("/docker/"), "{seen}");
    assert_eq!(shell(&directory, None, "exit 7").status.code(), Some(7));
    assert_eq!(text(&shell(&directory, Some("alice"), "id -u")), "2001\n");
    stop(&directory, kept);
}

#[test]
fn a_machine_short_of_memory_says_so() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (_folder, directory) = place();
    let shortage = "[shortage]\ntotal_bytes = 68719476736\navailable_bytes = 1073741824\nsome_share = 0.5\nfull_share = 0.25\nswapped_per_s = 1000.0\n";
    let kept = start(&directory, &format!("{TWO_CARDS}{shortage}"));
    assert!(text(&shell(&directory, None, "grep MemAvailable /proc/meminfo")).contains("1048576 kB"));
    let stalled = || -> u64 {
        let pressure = text(&shell(&directory, None, "grep full /proc/pressure/memory"));
        pressure.trim().rsplit_once("total=").unwrap().1.parse().unwrap()
    };
    let first = stalled();
    wait_for("pressure grows", || stalled() > first);
    stop(&directory, kept);
}

#[test]
fn ranks_of_a_collective_move_together_until_they_hang() {
    let _alone = one_at_a_time();
    if !is_root() {
        return;
    }
    let (_folder, directory) = place();
    let member = MEMBER.replace("cards = [0]", "cards = [0, 1]");
    let work = "[members.work.spin]\nrank_command = [\"python3\", \"-u\", \"train.py\"]\nmemory_share = 0.1\nkernel_ms = 10.0\nexchange_ms = 5.0\nhang = { after_s = 0.5, absent_rank = 1 }\n";
    let text = format!("{TWO_CARDS}{member}{work}");
    let kept = start(&directory, &text);
    let plan = plan(&text);
    wait_for("rank 1 stands still", || {
        figures(&directory, &plan)[1].spans_s.get(&Span::Idle).is_some_and(|idle| *idle > 0.3)
    });
    let ranks = figures(&directory, &plan);
    assert!(ranks[0].steps > 5 && ranks[0].steps.abs_diff(ranks[1].steps) <= 1, "{ranks:?}");
    assert!(ranks[0].spans_s[&Span::WaitingForOthers] > 0.2, "{ranks:?}");
    stop(&directory, kept);
}
