//! Files that the binary writes: whole or not at all, never through a link, and kept when somebody interrupts.

mod binary;
mod places;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use binary::{gpuwhy, read, run};
use places::places;
use rustix::process::{Pid, Signal, kill_process};

/// Returns the file that a recording is written to until it is whole, once the first sample is in it.
///
/// By then signals are heard.
fn file_until_whole(folder: &Path) -> PathBuf {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder is readable").path();
            let is_part = path.extension().is_some_and(|extension| extension == "part");
            if is_part && fs::metadata(&path).is_ok_and(|data| data.len() > 0) {
                return path;
            }
        }
        assert!(Instant::now() < deadline, "no sample within a minute");
        std::thread::yield_now();
    }
}

/// Begins to record into a file, interrupts after the first sample, and returns the exit code and errors.
fn interrupted(folder: &Path, arguments: &[&str], file: &Path) -> (i32, String) {
    let recorder: Child = gpuwhy(folder)
        .args(places(folder))
        .args(arguments)
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("our binary starts");
    file_until_whole(folder);
    assert!(!file.exists(), "the name is taken at the end");
    kill_process(Pid::from_child(&recorder), Signal::INT).expect("it still runs");
    let (code, output, errors) = read(recorder.wait_with_output().expect("it ends"));
    assert_eq!(output, "");
    (code, errors)
}

#[test]
fn an_interrupted_recording_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.zst");
    assert_eq!(interrupted(folder.path(), &["record", "--for", "0"], &file), (0, String::new()));
    let (_, _, errors) = run(gpuwhy(folder.path()).arg("--replay").arg(&file));
    assert_eq!(errors, "", "nothing was cut off");
}

#[test]
fn an_interrupted_look_keeps_what_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("look.zst");
    let (code, errors) = interrupted(folder.path(), &["--for", "10m", "--record"], &file);
    assert_eq!(code, 2);
    assert!(errors.starts_with("error: interrupted before the answer; samples kept: "), "{errors}");
    let (_, _, errors) = run(gpuwhy(folder.path()).arg("--replay").arg(&file));
    assert_eq!(errors, "", "nothing was cut off");
}

#[test]
fn a_recording_goes_neither_through_a_link_nor_into_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let link = folder.path().join("link");
    symlink(&victim, &link).unwrap();
    for (arguments, path, said) in [
        (&["record"][..], link.as_path(), "a symbolic link"),
        (&["--once", "--record"], &link, "a symbolic link"),
        (&["record"], Path::new("/dev/null"), "not a regular file"),
        (&["--once", "--record"], folder.path(), "not a regular file"),
    ] {
        let (code, output, errors) =
            run(gpuwhy(folder.path()).args(places(folder.path())).args(arguments).arg(path));
        assert_eq!((code, output.as_str()), (2, ""), "{arguments:?}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
    }
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_recording_needs_an_open_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut closed = std::process::Command::new("/bin/sh");
    closed.args(["-c", "exec \"$0\" \"$@\" >&-", env!("CARGO_BIN_EXE_gpuwhy")]);
    let (code, _, errors) = run(closed.env("LC_ALL", "C").args(places(folder.path())).args(["record", "-"]));
    assert_eq!((code, errors.as_str()), (2, "error: cannot write `standard output`: it is closed\n"));
    let null = fs::File::options().write(true).open("/dev/null").unwrap();
    let (code, _, errors) = run(gpuwhy(folder.path())
        .args(places(folder.path()))
        .args(["record", "-", "--for", "1ms"])
        .stdout(null));
    assert_eq!((code, errors.as_str()), (0, ""), "who wants it thrown away gets that");
}
