//! A box for one test, and what belongs to this process.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gpuwhy_lab::board::{BoardFile, BoxDirectory, install_library};
use gpuwhy_lab::state::State;
use gpuwhy_sources::nvml::{CHILD_COMMAND, ChildProgram};
use gpuwhy_sources::{Observer, Options, Roots};

/// Tests that count children or descriptors must not see those of others.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A board with its library, without a place of its own.
pub(crate) struct TestBox {
    pub(crate) directory: BoxDirectory,
    _temporary: tempfile::TempDir,
}

impl TestBox {
    /// Brings up a box with the board in `text`.
    pub(crate) fn up(text: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(temporary.path());
        std::fs::write(directory.board_file(), text).unwrap();
        let board = BoardFile::load(&directory.board_file()).unwrap();
        State::create(&directory).unwrap();
        let library =
            beside_the_tests("libnvidia_ml.so").expect("cargo builds the library before these tests");
        install_library(&library, &directory, &board.driver.omitted_symbols).unwrap();
        std::fs::write(temporary.path().join("kmsg"), "").unwrap();
        Self { directory, _temporary: temporary }
    }

    pub(crate) fn observer(&self) -> Observer {
        self.observer_with(Options { child: child_program(), ..Options::default() })
    }

    pub(crate) fn observer_with_init_limit(&self, limit: Duration) -> Observer {
        self.observer_with(Options { child: child_program(), init_limit: Some(limit), ..Options::default() })
    }

    fn observer_with(&self, options: Options) -> Observer {
        let roots = Roots {
            nvml_library: Some(self.directory.library()),
            kernel_log: Some(self.directory.path().join("kmsg")),
            ..Roots::default()
        };
        Observer::start(roots, options)
    }
}

impl Drop for TestBox {
    fn drop(&mut self) {
        State::remove(&self.directory).unwrap();
    }
}

/// The example that becomes the child.
pub(crate) fn child_program() -> ChildProgram {
    let path =
        beside_the_tests("examples/look").expect("`cargo test -p gpuwhy-sources` builds the example first");
    ChildProgram { path, ..ChildProgram::default() }
}

/// Finds what cargo has built, in the folder of the test program or the one above.
pub(crate) fn beside_the_tests(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().unwrap();
    program.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.exists())
}

/// Waits for something that comes about by itself.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Counts the children of this process that ask the driver.
pub(crate) fn children_of_ours() -> usize {
    children().len()
}

/// Kills them.
pub(crate) fn kill_children() {
    for pid in children() {
        assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    }
}

fn children() -> Vec<u32> {
    let own = std::process::id().to_string();
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let words =
            std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&CHILD_COMMAND.as_bytes()) && words.get(2) == Some(&own.as_bytes())
    })
    .collect()
}

/// Counts the open descriptors of this process.
pub(crate) fn descriptors_of_ours() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
