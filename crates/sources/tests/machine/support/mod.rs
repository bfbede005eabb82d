//! A box for one test, and what belongs to this process.

pub(crate) mod written;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gpuwhy_lab::board::{BoardFile, BoxDirectory, install_library};
use gpuwhy_lab::state::State;
use gpuwhy_sources::nvml::{CHILD_COMMAND, ChildProgram};
use gpuwhy_sources::{Observer, Options, Roots};

/// Tests that count children or descriptors must not see those of others, so every machine waits for its turn.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A board with its library, without a place of its own.
pub(crate) struct TestBox {
    pub(crate) directory: BoxDirectory,
    _turn: MutexGuard<'static, ()>,
    _temporary: tempfile::TempDir,
}

impl TestBox {
    /// Brings up a box with the board in `text`.
    pub(crate) fn up(text: &str) -> Self {
        let turn = one_at_a_time();
        let temporary = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(temporary.path());
        std::fs::write(directory.board_file(), text).unwrap();
        let board = BoardFile::load(&directory.board_file()).unwrap();
        State::create(&directory).unwrap();
        let library =
            beside_the_tests("libnvidia_ml.so").expect("cargo builds the library before these tests");
        install_library(&library, &directory, &board.driver.omitted_symbols).unwrap();
        std::fs::write(temporary.path().join("kmsg"), "").unwrap();
        Self { directory, _turn: turn, _temporary: temporary }
    }

    /// Lets every user reach the box.
    pub(crate) fn open_to_all(&self) {
        let state = std::fs::canonicalize(self.directory.state_file()).unwrap();
        for (path, mode) in [(self.directory.path(), 0o755), (&state, 0o666)] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        }
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
    children_of(std::process::id()).len()
}

/// Kills them.
pub(crate) fn kill_children() {
    for pid in children_of(std::process::id()) {
        assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    }
}

/// Returns the children of a process that ask the driver.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let parent = parent.to_string();
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let words =
            std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&CHILD_COMMAND.as_bytes()) && words.get(2) == Some(&parent.as_bytes())
    })
    .collect()
}

/// Returns whether a process runs; its remains do not count.
pub(crate) fn is_alive(pid: u32) -> bool {
    let words = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
    words.is_ok_and(|words| !words.is_empty())
}

/// Counts the open descriptors of this process.
pub(crate) fn descriptors_of_ours() -> usize {
    descriptors_of(std::process::id())
}

/// Counts the open descriptors of a process.
pub(crate) fn descriptors_of(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}
