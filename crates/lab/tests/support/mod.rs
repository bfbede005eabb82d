//! What tests of boxes share: one box at a time, a folder for it, and a shell in it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gpuwhy_lab::place::BoxDirectory;
use gpuwhy_lab::place::plan::Plan;
use gpuwhy_lab::place::running::{self, Lifetime};

pub(crate) const LAB: &str = env!("CARGO_BIN_EXE_lab");

/// Boxes change machine-wide settings, so one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: needs root");
    }
    is_root
}

/// A folder that every user may search, with a box directory to be.
pub(crate) fn place() -> (tempfile::TempDir, BoxDirectory) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let directory = BoxDirectory::new(folder.path().join("box"));
    (folder, directory)
}

pub(crate) fn plan(text: &str) -> Plan {
    toml::from_str(&format!("name = \"test\"\nlibrary_installed = false\n{text}")).unwrap()
}

pub(crate) fn start(directory: &BoxDirectory, text: &str) -> running::Kept {
    running::start(Path::new(LAB), directory, &plan(text), Lifetime::WithStarter).unwrap()
}

pub(crate) fn shell(directory: &BoxDirectory, user: Option<&str>, command: &str) -> Output {
    let mut lab = Command::new(LAB);
    lab.arg("shell").arg(directory.path());
    if let Some(user) = user {
        lab.args(["--user", user]);
    }
    lab.args(["--", "/bin/sh", "-c", command]).output().unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
