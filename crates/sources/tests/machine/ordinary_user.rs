//! What an ordinary user sees of another user's processes: who and what, but no arguments, and reasons instead of
//! numbers. It needs root, which can become an ordinary user.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::support::{TestBox, child_program};
use gpuwhy_lab::client::Client;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::Sample;

const NOBODY: u32 = 65534;

/// A child that ends with the test.
struct Loader(Child);

impl Drop for Loader {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Takes a full sample as an ordinary user, through copies that he can reach.
fn look_as_nobody(test_box: &TestBox, options: &[&str]) -> Sample {
    let program = test_box.directory.path().join("look");
    std::fs::copy(child_program().path, &program).unwrap();
    let output = Command::new(&program)
        .args(["--window", "0.2", "--nvml-lib"])
        .arg(test_box.directory.library())
        .args(options)
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let first = output.stdout.split(|byte| *byte == b'\n').next().unwrap();
    serde_json::from_slice(first).unwrap()
}

fn loader() -> Loader {
    let mut command = Command::new("sleep");
    Loader(command.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

#[test]
fn another_users_arguments_are_not_shown() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let test_box = TestBox::up("[[card]]\nprofile = \"a100-sxm4-80gb\"\n");
    test_box.open_to_all();
    let _client = Client::attach(&test_box.directory, 0).unwrap();
    let loader = loader();

    let sample = look_as_nobody(&test_box, &[]);
    let machine = sample.machine.value.known().unwrap();
    assert_eq!(machine.viewer.uid, Reading::Known(NOBODY));
    let processes = &sample.processes.value.known().unwrap().processes;
    let find = |pid: u32| processes.iter().find(|process| process.pid == Pid(pid)).unwrap();
    let own = find(std::process::id());
    assert_eq!(own.user, Reading::Known("root".to_owned()));
    assert_eq!(own.command.known().unwrap().line(), own.name);
    assert_eq!(own.executable, Reading::Denied(Access::RootOrOwner));
    assert_eq!(own.environment, Reading::Denied(Access::RootOrOwner));
    assert_eq!(own.wait_channel, Reading::Denied(Access::RootOrOwner));
    assert!(own.start_ticks > 0 && own.thread_count > 1);
    assert_eq!(find(loader.0.id()).command.known().unwrap().arguments(), ["sleep"]);
    let text = serde_json::to_string(&sample).unwrap();
    assert!(!text.contains("\"1000\""), "the argument of the loader");
}

#[test]
fn another_users_arguments_are_shown_where_the_machine_is_open() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let test_box = TestBox::up("[[card]]\nprofile = \"a100-sxm4-80gb\"\n");
    test_box.open_to_all();
    let _client = Client::attach(&test_box.directory, 0).unwrap();
    let loader = loader();

    let sample = look_as_nobody(&test_box, &["--open"]);
    let processes = &sample.processes.value.known().unwrap().processes;
    let find = |pid: u32| processes.iter().find(|process| process.pid == Pid(pid)).unwrap();
    assert_eq!(find(loader.0.id()).command.known().unwrap().arguments(), ["sleep", "1000"]);
    let own = find(std::process::id());
    assert_eq!(own.environment, Reading::Denied(Access::RootOrOwner), "command lines, and nothing else");
}
