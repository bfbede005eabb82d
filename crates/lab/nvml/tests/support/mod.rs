//! A box for one test: board, state, library, and members that are real processes.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gpuwhy_lab::board::{BoardFile, BoxDirectory, install_library};
use gpuwhy_lab::client::{Client, Kernel};
use gpuwhy_lab::state::State;

/// The variable that turns a copy of the test program into a member of a box.
const MEMBER_VARIABLE: &str = "LAB_TEST_MEMBER";

/// A box that goes away with the test.
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
        install_library(&built_library(), &directory, &board.driver.omitted_symbols).unwrap();
        Self { directory, _temporary: temporary }
    }

    /// Starts a process that attaches to `card`, takes `bytes`, and computes all the time if it is `busy`.
    pub(crate) fn member(&self, card: usize, bytes: u64, busy: bool) -> Member {
        let order = format!("{}|{card}|{bytes}|{busy}", self.directory.path().display());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "member", "--ignored"])
            .env(MEMBER_VARIABLE, order)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("attached")), "the member did not attach");
        Member { child }
    }
}

impl Drop for TestBox {
    fn drop(&mut self) {
        State::remove(&self.directory).unwrap();
    }
}

/// A process of a box, killed when it is dropped.
pub(crate) struct Member {
    child: Child,
}

impl Member {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a member does when the test program is started as one: it ends when its standard input is closed.
pub(crate) fn be_a_member() {
    let Ok(order) = std::env::var(MEMBER_VARIABLE) else { return };
    let [directory, card, bytes, busy] = order.split('|').collect::<Vec<_>>()[..] else {
        panic!("`{order}` is no order for a member");
    };
    let client = Client::attach(&BoxDirectory::new(directory), card.parse().unwrap()).unwrap();
    client.allocate(bytes.parse().unwrap()).unwrap();
    std::io::stdout().write_all(b"attached\n").unwrap();
    if busy == "true" {
        loop {
            client.run_kernel(&Kernel::of_arithmetic(Duration::from_millis(100)));
        }
    }
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// The library as cargo built it for this test: beside the test program.
fn built_library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().unwrap();
    let candidates = [folder.join("libnvidia_ml.so"), folder.parent().unwrap().join("libnvidia_ml.so")];
    candidates.into_iter().find(|path| path.exists()).expect("cargo builds the library before its tests")
}
