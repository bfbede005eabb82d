//! The programs that stand in for the driver's, on the library of a box.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use gpuwhy_lab::stand_in::{Said, calls, say};
use support::{TestBox, be_a_member};

const BOARD: &str = "[[card]]\nprofile = \"a100-sxm4-80gb\"\nrepair = { pending = true }\n\n\
    [[card]]\nprofile = \"t4\"\nlost = true\n\n\
    [[card]]\nprofile = \"a100-sxm4-80gb\"\nmig = { enabled = true, instances = [\"1g.10gb\"] }\n";

#[test]
#[ignore = "a member of a box, started by the other tests"]
fn member() {
    be_a_member();
}

fn nvidia_smi(test_box: &TestBox, arguments: &str) -> Said {
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    say(&test_box.directory, "nvidia-smi", &arguments).unwrap()
}

#[test]
fn the_list_has_every_card_also_the_lost_one() {
    let test_box = TestBox::up(BOARD);
    let said = nvidia_smi(&test_box, "-L");
    let lines: Vec<&str> = said.output.lines().collect();
    assert_eq!(lines.len(), 4, "{}", said.output);
    assert!(lines[0].starts_with("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-"), "{}", lines[0]);
    assert!(lines[1].contains("gpu 1: GPU is lost"), "{}", lines[1]);
    assert!(lines[3].starts_with("  MIG 1g.10gb") && lines[3].contains("(UUID: MIG-"), "{}", lines[3]);
}

#[test]
fn fields_are_told_with_and_without_units() {
    let test_box = TestBox::up(BOARD);
    let fields = "--query-gpu=index,name,memory.total,fan.speed,mig.mode.current,temperature.gpu";
    let with_header = nvidia_smi(&test_box, &format!("{fields} --format=csv -i 0,1"));
    let mut lines = with_header.output.lines();
    assert_eq!(
        lines.next(),
        Some("index, name, memory.total [MiB], fan.speed [%], mig.mode.current, temperature.gpu")
    );
    let first = lines.next().unwrap();
    assert!(first.starts_with("0, NVIDIA A100-SXM4-80GB, 81920 MiB, [N/A], Disabled, "), "{first}");
    assert!(lines.next().unwrap().starts_with("1, [GPU is lost], "));
    let bare = nvidia_smi(&test_box, &format!("{fields} --format=csv,noheader,nounits -i 2"));
    assert!(bare.output.starts_with("2, NVIDIA A100-SXM4-80GB, 81920, [N/A], Enabled, "), "{}", bare.output);
    assert_eq!(nvidia_smi(&test_box, "--query-gpu=no.such --format=csv").code, 2);
}

#[test]
fn processes_are_told_with_their_memory() {
    let test_box = TestBox::up(BOARD);
    let holder = test_box.member(0, 75 << 20, false);
    let said = nvidia_smi(&test_box, "--query-compute-apps=pid,used_memory --format=csv,noheader");
    assert_eq!(said.output, format!("{}, 500 MiB\n", holder.pid()));
}

#[test]
fn settings_need_root_and_are_written_down() {
    let test_box = TestBox::up(BOARD);
    test_box.directory.begin_calls().unwrap();
    let said = nvidia_smi(&test_box, "-i 0 -pl 250");
    if !rustix::process::geteuid().is_root() {
        assert_eq!(said.code, 4, "{}", said.output);
        return;
    }
    assert!(said.output.contains("was set to 250.00 W from 400.00 W"), "{}", said.output);
    let limit = nvidia_smi(&test_box, "-i 0 --query-gpu=power.limit --format=csv,noheader");
    assert_eq!(limit.output, "250.00 W\n");
    let refused = nvidia_smi(&test_box, "-i 0 -pl 900");
    assert_eq!(refused.code, 2);
    assert!(refused.output.contains("between 100.00 W and 400.00 W"), "{}", refused.output);
    let commands: Vec<(String, i64)> = calls(&test_box.directory)
        .unwrap()
        .into_iter()
        .map(|call| (call.command.join(" "), call.code))
        .collect();
    assert!(
        commands.contains(&("nvmlDeviceSetPowerManagementLimit card=0 250000".to_owned(), 0)),
        "{commands:?}"
    );
    assert_eq!(commands.last().unwrap(), &("nvidia-smi -i 0 -pl 900".to_owned(), 2));
}

#[test]
fn a_reset_needs_a_card_that_answers_and_that_nobody_uses() {
    let test_box = TestBox::up(BOARD);
    if !rustix::process::geteuid().is_root() {
        assert_eq!(nvidia_smi(&test_box, "-r -i 0").code, 4);
        return;
    }
    let holder = test_box.member(0, 1 << 20, false);
    let refused = nvidia_smi(&test_box, "-r -i 0");
    assert!(refused.code != 0 && refused.output.contains("in use by another process"), "{}", refused.output);
    drop(holder);
    let lost = nvidia_smi(&test_box, "-r");
    assert!(lost.code != 0 && lost.output.contains("GPU is lost"), "{}", lost.output);
    let done = nvidia_smi(&test_box, "-r -i 0");
    assert_eq!(done.code, 0, "{}", done.output);
    assert!(done.output.contains("was successfully reset"));
}

#[test]
fn a_driver_that_does_not_start_is_told_as_people_know_it() {
    let unloaded = TestBox::up("[driver]\nloaded = false\n[[card]]\nprofile = \"t4\"\n");
    let said = nvidia_smi(&unloaded, "-L");
    assert_eq!(said.code, 9);
    assert!(said.output.contains("couldn't communicate with the NVIDIA driver"), "{}", said.output);
    let mismatch =
        TestBox::up("[[card]]\nprofile = \"t4\"\n\n[[fault]]\nfunction = \"nvmlInit\"\ncode = 18\n");
    let said = nvidia_smi(&mismatch, "-L");
    assert_eq!(
        (said.code, said.output.trim()),
        (18, "Failed to initialize NVML: Driver/library version mismatch")
    );
}
