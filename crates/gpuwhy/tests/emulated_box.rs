//! The binary on an emulated box with a real process that holds a card: what it says about whom, and what it never
//! says.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use gpuwhy_lab::board::{BoardFile, BoxDirectory, install_library};
use gpuwhy_lab::state::State;
use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::report::Report;

const BOARD: &str = "[driver]\nversion = \"580.95.05\"\n[[card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 2\n";

/// What stands in the arguments and the environment of the process that holds the card.
const SECRET_ARGUMENTS: [&str; 6] = [
    "--token",
    "hunter2hunter2",
    "--api-key=plainsecretword",
    "hf_aB3dE5gH7jK9mN1pQ3rS5",
    "postgres://bob:pa55word@db/runs",
    "--lr=0.1",
];
const SECRETS: [&str; 6] = [
    "hunter2hunter2",
    "plainsecretword",
    "hf_aB3dE5gH7jK9mN1pQ3rS5",
    "pa55word",
    "wandbsecretvalue",
    "WANDB_API_KEY",
];

/// The number of an ordinary user.
const NOBODY: u32 = 65534;

/// A box with two cards; a process holds card 0.
struct HeldBox {
    directory: BoxDirectory,
    folder: tempfile::TempDir,
    holder: Child,
}

impl HeldBox {
    fn up() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the box");
        let directory = BoxDirectory::new(folder.path());
        std::fs::write(directory.board_file(), BOARD).expect("the disk has room");
        let board = BoardFile::load(&directory.board_file()).expect("the board is right");
        State::create(&directory).expect("a box can be made here");
        let library = beside_the_tests("libnvidia_ml.so");
        install_library(&library, &directory, &board.driver.omitted_symbols).expect("the library is usable");
        std::fs::write(folder.path().join("kmsg"), "").expect("the disk has room");
        let mut holder = Command::new(beside_the_tests("examples/hold_card"))
            .arg(folder.path())
            .args(SECRET_ARGUMENTS)
            .env("WANDB_API_KEY", "wandbsecretvalue")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let mut said = String::new();
        let output = holder.stdout.take().expect("it was asked for");
        BufReader::new(output).read_line(&mut said).expect("the holder speaks");
        assert_eq!(said, "held\n");
        Self { directory, folder, holder }
    }

    fn gpuwhy(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_gpuwhy"))
            .env_clear()
            .env("LC_ALL", "C")
            .env("XDG_CONFIG_HOME", self.folder.path())
            .arg("--nvml-lib")
            .arg(self.directory.library())
            .arg("--journal")
            .arg(self.folder.path().join("kmsg"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("our binary starts")
    }

    /// Runs gpuwhy as somebody else than the holder's owner, who can reach the box.
    fn gpuwhy_as_nobody(&self, arguments: &[&str]) -> Output {
        let program = self.folder.path().join("gpuwhy");
        std::fs::copy(env!("CARGO_BIN_EXE_gpuwhy"), &program).expect("the disk has room");
        let state = std::fs::canonicalize(self.directory.state_file()).expect("the box is up");
        for (path, mode) in [(self.folder.path(), 0o755), (&state, 0o666)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        }
        Command::new(program)
            .env_clear()
            .env("LC_ALL", "C")
            .env("XDG_CONFIG_HOME", self.folder.path().join("settings"))
            .arg("--nvml-lib")
            .arg(self.directory.library())
            .arg("--journal")
            .arg(self.folder.path().join("kmsg"))
            .args(arguments)
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .expect("our binary starts")
    }

    fn report(&self, arguments: &[&str]) -> Report {
        let output = self.gpuwhy(arguments);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error} in {output:?}"))
    }
}

impl Drop for HeldBox {
    fn drop(&mut self) {
        // The holder ends when its standard input does.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
        let _ = State::remove(&self.directory);
    }
}

/// Finds what cargo has built, in the folder of the test program or the one above.
fn beside_the_tests(name: &str) -> PathBuf {
    let program = std::env::current_exe().expect("a test knows its program");
    let folders = program.ancestors().skip(1).take(2);
    let built = folders.map(|folder| folder.join(name)).find(|path| path.exists());
    built.unwrap_or_else(|| panic!("`cargo test -p gpuwhy` builds {name} first"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the lines of a recording.
fn unpacked(path: &Path) -> String {
    let file = std::fs::File::open(path).expect("the recording was written");
    let mut reader = gpuwhy_formats::recording::Reader::new(file).expect("the recording can be read");
    let mut lines = String::new();
    while let Some(sample) = reader.next_sample().expect("the recording is whole") {
        lines.push_str(&serde_json::to_string(&sample).expect("a sample is JSON"));
        lines.push('\n');
    }
    lines
}

#[test]
fn secrets_are_in_no_output_and_no_recording() {
    let held = HeldBox::up();
    let recording = held.folder.path().join("look.zst");
    let recorded = recording.display().to_string();
    let other = held.folder.path().join("record.zst");
    let mut seen = Vec::new();
    for arguments in [
        &["--for", "1s", "--record", &recorded][..],
        &["--once"],
        &["--once", "--json"],
        &["--once", "--lang", "zh-CN"],
        &["--replay", &recorded],
        &["--replay", &recorded, "--json"],
        &["record", &other.display().to_string(), "--for", "1s"],
    ] {
        let output = held.gpuwhy(arguments);
        seen.push((arguments.join(" "), text(&output.stdout) + &text(&output.stderr)));
    }
    seen.push(("the recording".to_owned(), unpacked(&recording)));
    seen.push(("the other recording".to_owned(), unpacked(&other)));
    for (what, shown) in &seen {
        for secret in SECRETS {
            assert!(!shown.contains(secret), "{what} shows {secret}: {shown}");
        }
    }
    // The process was seen with its arguments: what is harmless is there.
    let (_, recorded) = &seen[seen.len() - 2];
    assert!(recorded.contains("hold_card") && recorded.contains("--lr=0.1"), "{recorded}");
    assert!(recorded.contains("--api-key=***"), "{recorded}");
}

#[test]
fn only_roots_settings_open_other_peoples_command_lines() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let held = HeldBox::up();
    let settings = |name: &str, owner: u32| {
        let path = held.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the disk has room");
        std::fs::write(&path, "[privacy]\ncommand_lines = \"open\"\n").expect("the disk has room");
        chown(&path, Some(owner), Some(owner)).expect("we are root");
        path.display().to_string()
    };
    let of_root = settings("root.toml", 0);
    let of_nobody = settings("nobody.toml", NOBODY);
    let own_folder = held.folder.path().join("recordings");
    std::fs::create_dir(&own_folder).expect("the disk has room");
    chown(&own_folder, Some(NOBODY), Some(NOBODY)).expect("we are root");
    let recording = |name: &str| own_folder.join(name);
    let record = |arguments: &[&str], to: &Path| {
        let to_name = to.display().to_string();
        let output = held.gpuwhy_as_nobody(&[&["--once", "--record", &to_name], arguments].concat());
        (unpacked(to), text(&output.stderr))
    };

    let (opened, said) = record(&["--config", &of_root], &recording("opened.zst"));
    assert_eq!(said, "");
    assert!(opened.contains("--lr=0.1") && opened.contains("--api-key=***"), "{opened}");
    for secret in SECRETS {
        assert!(!opened.contains(secret), "{secret}: {opened}");
    }

    let (closed, said) = record(&[], &recording("closed.zst"));
    assert_eq!(said, "");
    assert!(closed.contains("hold_card") && !closed.contains("--lr=0.1"), "{closed}");

    let refusal = "has no effect: other people's command lines are for root to open";
    let (closed, said) = record(&["--config", &of_nobody], &recording("refused.zst"));
    assert!(said.starts_with("note: ") && said.contains(refusal), "{said}");
    assert!(closed.contains("hold_card") && !closed.contains("--lr=0.1"), "{closed}");

    // A user's own file has no say for others, whoever wrote it.
    settings("settings/gpuwhy/gpuwhy.toml", 0);
    let (closed, said) = record(&[], &recording("own.zst"));
    assert!(said.contains(refusal), "{said}");
    assert!(!closed.contains("--lr=0.1"), "{closed}");
}

#[test]
fn an_answer_can_be_narrowed_to_a_card_a_process_and_a_user() {
    let held = HeldBox::up();
    let pid = held.holder.id().to_string();
    let indices = |report: &Report| report.cards.iter().map(|card| card.index).collect::<Vec<u32>>();

    let whole = held.report(&["--once", "--json"]);
    assert_eq!(indices(&whole), [0, 1]);
    let holders: Vec<Option<u32>> = whole.cards[0].holders.iter().map(|holder| holder.pid).collect();
    assert_eq!(holders, [Some(held.holder.id())], "who holds a card stands beside its state");
    assert!(whole.cards[1].holders.is_empty());
    assert_eq!(indices(&held.report(&["--once", "--json", "1"])), [1]);
    assert_eq!(indices(&held.report(&["--once", "--json", "--gpu", "0"])), [0]);
    assert_eq!(indices(&held.report(&["--once", "--json", "--pid", &pid])), [0]);

    let free = held.gpuwhy(&["--once", "1"]);
    assert_eq!(free.status.code(), Some(0), "nobody holds card 1: {}", text(&free.stdout));
    assert!(text(&free.stdout).starts_with("GPU 1  free"), "{}", text(&free.stdout));
    let free = held.report(&["--once", "--json", "1"]);
    assert_eq!(free.findings[0].summary.text, "nothing is wrong: GPU 1 is free", "of this card, not of all");
    assert_eq!(free.findings[0].subject.kind, SubjectKind::Card);
    for arguments in [&["--once", "7"][..], &["--once", "--pid", "1"], &["--once", "--user", "nobody-here"]] {
        let output = held.gpuwhy(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(said.starts_with("error: ") && said.contains("\nhint: "), "{arguments:?}: {said}");
    }
}

#[test]
fn a_recording_gives_the_same_report_as_the_look_it_was_made_of() {
    let held = HeldBox::up();
    let recorded = held.folder.path().join("look.zst").display().to_string();
    let live = held.report(&["--for", "2s", "--json", "--record", &recorded]);
    let replayed = held.report(&["--replay", &recorded, "--json"]);
    assert_ne!(live.source, replayed.source);
    assert_eq!(Report { source: live.source, ..replayed }, live);
}
