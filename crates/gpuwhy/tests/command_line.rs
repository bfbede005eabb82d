//! The binary as people and scripts call it: exit codes, messages, languages, recordings, pipes.

mod binary;
mod places;

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use binary::{gpuwhy, read, run};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::report::Report;
use gpuwhy_model::sample::{MachineSample, ReadTime, Sample};
use gpuwhy_model::scene::SourceKind;
use places::places;

/// Returns a folder with a recording of a machine without cards, made by hand.
fn recording() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("two.jsonl");
    let mut file = std::fs::File::create(&path).expect("a file for the test");
    for second in [10, 15] {
        let wall = jiff::Timestamp::from_second(1_796_032_800 + second).expect("a time of this century");
        let taken = ReadTime { boot_ns: u64::try_from(second).expect("positive") * 1_000_000_000, wall };
        let mut sample = Sample::empty(taken);
        sample.machine.value = Reading::Known(MachineSample {
            pci_cards: Reading::Known(Vec::new()),
            ..MachineSample::default()
        });
        writeln!(file, "{}", serde_json::to_string(&sample).expect("a sample is JSON"))
            .expect("the disk has room");
    }
    (folder, path.display().to_string())
}

fn report(json: &str) -> Report {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
}

#[test]
fn usage_errors_end_with_2_and_say_what_was_meant() {
    let empty = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (&["recrod"][..], "did you mean `gpuwhy record`?"),
        (&["--gpu", "1", "--pid", "2"], "cannot be used with"),
        (&["--once", "--for", "3s"], "cannot be used with"),
        (&["--for", "soon"], "is no length of time"),
        (&["--once", "rule"], "options go after the command: gpuwhy rule"),
        (&["--from", "3s"], "--replay"),
        (&["--once", "--from", "3s"], "cannot be used with"),
        (&["--record", "x", "--from", "3s"], "cannot be used with"),
        (&["--record", "-"], "hint: only the recording, and no answer: gpuwhy record -"),
        (&["--for", "99999h"], "is too long"),
        (&["--lang", "fr"], "hint: languages: en, zh-CN"),
    ] {
        let (code, output, errors) = run(gpuwhy(empty.path()).args(arguments));
        assert_eq!(code, 2, "{arguments:?}: {errors}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
        assert!(output.is_empty(), "{arguments:?}: {output}");
    }
}

#[test]
fn help_and_version_are_data() {
    let empty = tempfile::tempdir().unwrap();
    for arguments in [&["--help"][..], &["-h"], &["record", "-h"], &["--version"]] {
        let (code, output, errors) = run(gpuwhy(empty.path()).args(arguments));
        assert_eq!((code, errors.as_str()), (0, ""), "{arguments:?}");
        assert!(output.contains("gpuwhy"), "{arguments:?}: {output}");
        assert!(!output.contains("--nvml-lib"), "{arguments:?}: hidden options are shown");
    }
}

#[test]
fn data_that_could_not_be_written_are_no_success() {
    let empty = tempfile::tempdir().unwrap();
    for arguments in [&["--help"][..], &["--version"], &["rule"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let (code, _, errors) = run(gpuwhy(empty.path()).args(arguments).stdout(full));
        assert_eq!(code, 2, "{arguments:?}");
        assert!(errors.starts_with("error: cannot write `standard output`: "), "{arguments:?}: {errors}");
    }
}

#[test]
fn rules_are_listed_and_explained_in_both_languages() {
    let empty = tempfile::tempdir().unwrap();
    let (code, list, _) = run(gpuwhy(empty.path()).arg("rule"));
    assert_eq!(code, 0);
    for id in ["vram-held-by-dead-process", "starved-by-storage", "nothing-wrong"] {
        assert!(list.lines().any(|line| line.starts_with(&format!("{id} "))), "{id} in {list}");
        let mut pages = Vec::new();
        for language in ["en", "zh-CN"] {
            let (code, page, errors) = run(gpuwhy(empty.path()).args(["rule", id, "--lang", language]));
            assert_eq!((code, errors.as_str()), (0, ""), "{id} {language}");
            pages.push(page);
        }
        assert_ne!(pages[0], pages[1], "{id}");
    }
}

#[test]
fn a_mistyped_cause_is_recognised() {
    let empty = tempfile::tempdir().unwrap();
    let (code, output, errors) = run(gpuwhy(empty.path()).args(["rule", "starved-by-storge"]));
    assert_eq!((code, output.as_str()), (2, ""));
    assert_eq!(
        errors,
        "error: `starved-by-storge` is no cause that gpuwhy knows\nhint: did you mean starved-by-storage?\n"
    );
    let (code, _, errors) = run(gpuwhy(empty.path()).env("LC_ALL", "zh_CN.UTF-8").args(["rule", "coffee"]));
    assert_eq!(code, 2);
    assert!(errors.starts_with("错误"), "{errors}");
    assert_eq!(errors.lines().count(), 2, "{errors}");
}

#[test]
fn inputs_that_cannot_be_read_are_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let cut = file("cut.xml", b"<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<gpu id=\"00000000:01:00.0\">\n");
    let foreign = file("foreign.xml", b"<?xml version=\"1.0\" ?>\n<html><body/></html>\n");
    let prose = file("prose.txt", b"my GPU is slow\n");
    let empty = file("empty", b"");
    let missing = folder.path().join("missing").display().to_string();
    for arguments in [
        ["read", cut.as_str()],
        ["read", foreign.as_str()],
        ["read", prose.as_str()],
        ["read", empty.as_str()],
        ["read", missing.as_str()],
        ["--replay", prose.as_str()],
        ["--replay", empty.as_str()],
        ["--replay", missing.as_str()],
        ["--config", prose.as_str()],
    ] {
        let (code, output, errors) = run(gpuwhy(folder.path()).args(arguments));
        assert_eq!((code, output.as_str()), (2, ""), "{arguments:?}");
        let said = errors.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(said, 1, "{arguments:?}: {errors}");
        assert!(errors.contains(arguments[1]), "{arguments:?}: {errors}");
        assert!(
            errors.lines().all(|line| line.starts_with("error: ") || line.starts_with("hint: ")),
            "{arguments:?}: {errors}"
        );
    }
}

#[test]
fn a_text_that_was_cut_or_doubled_is_answered_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xml");
    let whole = "<nvidia_smi_log>\n<gpu id=\"00000000:01:00.0\"><product_name>A</product_name></gpu>\n\
                 <gpu id=\"00000000:02:00.0\"></gpu>\n</nvidia_smi_log>\n";
    let utf_16: Vec<u8> = format!("\u{feff}{whole}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let noted = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let (code, output, errors) = run(gpuwhy(folder.path()).arg("read").arg(&path));
        assert!(code < 2 && output.contains("GPU 0"), "{code} {output}");
        errors
    };
    let is_quiet = |said: String| said.starts_with("read: ") && !said.contains("note: ");
    assert!(is_quiet(noted(whole.as_bytes())));
    assert!(is_quiet(noted(&utf_16)));
    let cut = noted(&whole.as_bytes()[..whole.rfind("</gpu>").unwrap()]);
    assert!(cut.starts_with("note: ") && cut.contains("line 3 on; whole cards before it: 1\n"), "{cut}");
    let doubled = noted(whole.repeat(2).as_bytes());
    assert!(doubled.contains("nvidia-smi -q -x (lines 1-8)"), "{doubled}");
}

#[test]
fn each_reader_names_the_other_for_its_input() {
    let (folder, recorded) = recording();
    let xml = folder.path().join("a.xml").display().to_string();
    std::fs::write(
        &xml,
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log>\n<nvidia_smi_log></nvidia_smi_log>\n",
    )
    .unwrap();
    let (_, _, errors) = run(gpuwhy(folder.path()).args(["read", &recorded]));
    assert!(errors.contains("gpuwhy --replay"), "{errors}");
    let (_, _, errors) = run(gpuwhy(folder.path()).args(["--replay", &xml]));
    assert!(errors.contains("gpuwhy read"), "{errors}");
}

#[test]
fn a_machine_without_a_card_gets_an_answer_and_2() {
    let (folder, recorded) = recording();
    let (code, output, errors) = run(gpuwhy(folder.path()).args(["--replay", &recorded]));
    assert_eq!((code, errors.as_str()), (2, ""));
    assert!(output.contains("no GPU in this machine"), "{output}");
    assert!(output.contains("[undetermined]"), "{output}");
}

#[test]
fn a_machine_that_shows_nothing_gets_an_answer_and_2() {
    let empty = tempfile::tempdir().unwrap();
    let (code, output, errors) = run(gpuwhy(empty.path()).args(places(empty.path())).arg("--once"));
    assert_eq!((code, errors.as_str()), (2, ""), "{output}");
    assert!(output.contains("could not see: "), "{output}");
    assert!(output.contains("/sys is not readable"), "{output}");
}

#[test]
fn where_there_is_nothing_to_watch_nobody_waits_unless_he_wants_to() {
    let empty = tempfile::tempdir().unwrap();
    let window = |arguments: &[&str]| {
        let mut command = gpuwhy(empty.path());
        let (_, json, _) = run(command.args(places(empty.path())).arg("--json").args(arguments));
        report(&json).window_s
    };
    assert!(window(&[]).abs() < 1e-9);
    assert!(window(&["--for", "1s"]) >= 1.0);
}

#[test]
fn the_language_follows_the_locale_and_the_option() {
    let (folder, recorded) = recording();
    let text = |locale: &str, arguments: &[&str]| {
        let mut command = gpuwhy(folder.path());
        run(command.env("LC_ALL", locale).args(["--replay", &recorded]).args(arguments)).1
    };
    let english = text("C", &[]);
    let chinese = text("zh_CN.UTF-8", &[]);
    assert!(english.is_ascii() || english.contains(" · "), "{english}");
    assert_ne!(english, chinese);
    assert_eq!(text("C", &["--lang", "zh-CN"]), chinese);
    assert_eq!(text("fr_FR.UTF-8", &[]), english);
    // Programs get English unless they ask.
    assert_eq!(text("zh_CN.UTF-8", &["--json"]), text("C", &["--json"]));
    assert_ne!(text("C", &["--json", "--lang", "zh-CN"]), text("C", &["--json"]));
}

#[test]
fn a_recording_gives_the_same_report_as_the_look_it_was_made_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("look.zst").display().to_string();
    let (live_code, live, _) = run(gpuwhy(folder.path())
        .args(places(folder.path()))
        .args(["--for", "1s", "--json", "--record", &file]));
    let (code, replayed, errors) = run(gpuwhy(folder.path()).args(["--replay", &file, "--json"]));
    assert_eq!((code, errors.as_str()), (live_code, ""));
    let (live, replayed) = (report(&live), report(&replayed));
    assert_eq!((live.source, replayed.source), (SourceKind::Live, SourceKind::Recording));
    assert_eq!(Report { source: SourceKind::Live, ..replayed }, live);
}

#[test]
fn a_recording_passes_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = gpuwhy(folder.path())
        .args(places(folder.path()))
        .args(["record", "-", "--for", "1s"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = recorder.stdout.take().unwrap();
    let (_, replayed, errors) = run(gpuwhy(folder.path()).args(["--replay", "-", "--json"]).stdin(pipe));
    assert_eq!(errors, "");
    assert!(report(&replayed).window_s >= 1.0, "{replayed}");
    assert!(recorder.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_ends_a_recording_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = gpuwhy(folder.path())
        .args(places(folder.path()))
        .args(["record", "-", "--for", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    recorder.stdout.take().unwrap().read_exact(&mut first).unwrap();
    // The pipe is closed now.
    let (code, _, errors) = read(recorder.wait_with_output().unwrap());
    assert_eq!((code, errors.as_str()), (0, ""));
}

#[test]
fn another_window_can_be_cut_from_a_recording() {
    let (folder, recorded) = recording();
    let (_, json, _) = run(gpuwhy(folder.path()).args(["--replay", &recorded, "--json"]));
    assert!((report(&json).window_s - 5.0).abs() < 1e-9);
    let (_, json, _) =
        run(gpuwhy(folder.path()).args(["--replay", &recorded, "--json", "--from", "1s", "--for", "10s"]));
    assert!(report(&json).window_s.abs() < 1e-9, "only the second sample is left");
    let (code, _, errors) = run(gpuwhy(folder.path()).args(["--replay", &recorded, "--from", "1m"]));
    assert_eq!(code, 2);
    assert!(errors.contains("hint: the recording lasts 5 s"), "{errors}");
}

#[test]
fn settings_are_used_or_named() {
    let (folder, recorded) = recording();
    let settings = folder.path().join("settings.toml");
    std::fs::write(&settings, "[limits]\nidle_reserved_s = 8\n[serve]\nanything = 1\n").unwrap();
    let (_, json, _) =
        run(gpuwhy(folder.path()).args(["--replay", &recorded, "--json", "--config"]).arg(&settings));
    let changed = report(&json).limits_changed;
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].limit, "idle_reserved_s");

    std::fs::write(&settings, "[privacy]\ncommand_lines = 'open'\n").unwrap();
    // A file that everybody can write does not speak for root.
    std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o666)).unwrap();
    let (_, _, errors) = run(gpuwhy(folder.path()).args(["--replay", &recorded, "--config"]).arg(&settings));
    assert!(errors.contains("has no effect: other people's"), "a setting that is not used is said: {errors}");

    std::fs::write(&settings, "[limits]\nidle_reserved = 8\n").unwrap();
    let (code, _, errors) =
        run(gpuwhy(folder.path()).args(["--replay", &recorded, "--config"]).arg(&settings));
    assert_eq!(code, 2);
    assert!(errors.contains("there is no setting `idle_reserved` in [limits]"), "{errors}");
    assert!(errors.ends_with("hint: did you mean idle_reserved_s?\n"), "{errors}");
}

#[test]
fn completions_name_our_commands() {
    let empty = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let (code, script, _) = run(gpuwhy(empty.path()).args(["completions", shell]));
        assert_eq!(code, 0, "{shell}");
        assert!(script.contains("record"), "{shell}");
    }
}
