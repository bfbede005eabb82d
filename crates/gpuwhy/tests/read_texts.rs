//! `gpuwhy read` on the built binary: what it takes, what it says of it, in which forms it answers.

mod binary;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use binary::{gpuwhy, read, run};
use gpuwhy_model::report::Report;
use gpuwhy_model::scene::SourceKind;

/// Output of `nvidia-smi -q -x` with one card, which somebody holds.
fn card(number: u32, driver: &str) -> String {
    format!(
        "<nvidia_smi_log>\n<driver_version>{driver}</driver_version><attached_gpus>1</attached_gpus>\n<gpu id=\"00000000:{number:02X}:00.0\">\n\
         <product_name>NVIDIA Test</product_name>\n\
         <uuid>GPU-5d1c7a52-9f0e-4a77-b1a3-0a1f6f1f2c0{number}</uuid>\n\
         <fb_memory_usage><total>81920 MiB</total><reserved>500 MiB</reserved><used>40000 MiB</used>\
         <free>41420 MiB</free></fb_memory_usage>\n<utilization><gpu_util>0 %</gpu_util></utilization>\n\
         <processes><process_info><pid>4242</pid><type>C</type><process_name>/home/alice/moonshot/bin/python</process_name>\
         <used_memory>39500 MiB</used_memory></process_info></processes>\n</gpu>\n</nvidia_smi_log>\n"
    )
}

/// A folder with files, and what gpuwhy says of one of them.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))
                .expect("the disk has room");
            std::fs::write(path, bytes).expect("the disk has room");
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, arguments: &[&str]) -> (i32, String, String) {
        // Relative names keep messages short.
        run(gpuwhy(self.0.path()).current_dir(self.0.path()).arg("read").args(arguments))
    }

    fn report(&self, arguments: &[&str]) -> Report {
        let (code, output, errors) = self.read(&[arguments, &["--json"]].concat());
        assert!(code < 2, "{arguments:?}: {errors}");
        report(&output)
    }
}

fn report(json: &str) -> Report {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *bytes).expect("memory can be written");
    }
    builder.into_inner().expect("memory can be written")
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).expect("memory can be written");
        writer.write_all(bytes).expect("memory can be written");
    }
    writer.finish().expect("memory can be written").into_inner()
}

#[test]
fn several_texts_are_one_scene() {
    let one = card(1, "550.1");
    let paste = format!("please help\n\n$ nvidia-smi -q -x\n{}thanks", card(2, "550.1"));
    let folder = Folder::new(&[("one.xml", one.as_bytes()), ("paste.txt", paste.as_bytes())]);
    let report = folder.report(&["one.xml", "paste.txt"]);
    assert_eq!(report.source, SourceKind::Text);
    assert_eq!(report.cards.len(), 2);
    let inputs: Vec<(&str, usize, u64)> = report
        .inputs
        .iter()
        .map(|input| (input.name.as_str(), input.formats.len(), input.not_understood.count))
        .collect();
    assert_eq!(inputs, [("one.xml", 1, 0), ("paste.txt", 1, 2)]);
    assert_eq!(report.inputs[1].formats[0].format, "nvidia-smi -q -x");
    assert_eq!(report.inputs[1].formats[0].lines.ranges[0].first, 4);
}

#[test]
fn a_card_without_a_number_is_called_by_its_address_in_every_form() {
    let log =
        "[ 81.250000] NVRM: Xid (PCI:0000:c1:00): 62, pid=311, name=nvidia-smi, 2a3b 00001f00 00000000\n";
    let folder = Folder::new(&[("dmesg.txt", log.as_bytes())]);
    let report = folder.report(&["dmesg.txt"]);
    assert_eq!(report.findings[0].cause, gpuwhy_model::cause::Cause::XidHwFault);
    assert_eq!(report.findings[0].subject.name, "0000:c1:00.0");
    assert!(report.cards.is_empty(), "nobody gave it a number");
    let forms: [&[&str]; 4] = [&[], &["--lang", "zh-CN"], &["--format", "markdown"], &["--format", "html"]];
    for form in forms {
        let (_, output, errors) = folder.read(&[&["dmesg.txt"], form].concat());
        assert!(output.contains("GPU 0000:c1:00.0"), "{form:?}: {output}{errors}");
        assert!(!output.contains("GPU 0 ") && !output.contains("-i 0 "), "{form:?}: {output}");
    }
}

#[test]
fn no_number_is_made_up_for_a_card_of_an_excerpt() {
    let rows = "    Remapped Rows\n        Correctable Error                 : 0\n        \
                Uncorrectable Error               : 1\n        Pending                           : Yes\n        \
                Remapping Failure Occurred        : No\n";
    let of_card = format!("GPU 00000000:A1:00.0\n{rows}");
    let folder = Folder::new(&[("card.txt", of_card.as_bytes()), ("rows.txt", rows.as_bytes())]);
    let forms: [&[&str]; 4] = [&[], &["--lang", "zh-CN"], &["--format", "markdown"], &["--format", "html"]];
    for form in forms {
        let (_, output, errors) = folder.read(&[&["card.txt"], form].concat());
        assert!(output.contains("GPU 0000:a1:00.0"), "{form:?}: {output}{errors}");
        assert!(output.contains("--gpu-reset"), "{form:?}: {output}");
        let (_, nameless, _) = folder.read(&[&["rows.txt"], form].concat());
        assert!(nameless.contains("nvidia-smi -q -d ECC,ROW"), "{form:?}: {nameless}");
        for output in [output, nameless] {
            assert!(!output.contains("GPU 0 ") && !output.contains("-i 0 "), "{form:?}: {output}");
        }
    }
    let report = folder.report(&["card.txt"]);
    assert!(report.cards.is_empty(), "nobody gave it a number");
    assert_eq!(report.unnumbered_cards[0].called.as_deref(), Some("0000:a1:00.0"));
    let report = folder.report(&["rows.txt"]);
    assert_eq!((report.findings[0].subject.name.as_str(), &report.unnumbered_cards[0].called), ("", &None));
}

#[test]
fn every_packing_and_standard_input_give_the_same_answer() {
    let text = card(1, "550.1");
    let text = text.as_bytes();
    let zstd = zstd::encode_all(text, 1).unwrap();
    let folder = Folder::new(&[
        ("plain", text),
        ("a.gz", &gzip(text)),
        ("b", &zstd),
        ("c.tar", &tar(&[("x/gpu.log", text)])),
        ("d.tgz", &gzip(&tar(&[("x/gpu.log.gz", &gzip(text))]))),
        ("e.zip", &zip(&[("x/gpu.log", text)])),
        ("f/deep/er/gpu.log", text),
    ]);
    let plain = folder.report(&["plain"]);
    for name in ["a.gz", "b", "c.tar", "d.tgz", "e.zip", "f"] {
        let report = folder.report(&[name]);
        assert_eq!((&report.findings, &report.cards), (&plain.findings, &plain.cards), "{name}");
    }
    assert_eq!(folder.report(&["d.tgz"]).inputs[0].name, "d.tgz/x/gpu.log.gz");
    for arguments in [&["-"][..], &[]] {
        let file = std::fs::File::open(folder.path("e.zip")).unwrap();
        let mut command = gpuwhy(folder.0.path());
        let (_, output, _) = run(command.arg("read").args(arguments).arg("--json").stdin(file));
        let report = report(&output);
        assert_eq!((&report.findings, report.inputs[0].name.as_str()), (&plain.findings, "stdin/x/gpu.log"));
    }
    let mut command = gpuwhy(folder.0.path());
    let mut child =
        command.args(["read", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&zip(&[("a", text)])).unwrap();
    let (_, output, _) = read(child.wait_with_output().unwrap());
    assert_eq!(report(&output).findings, plain.findings, "a pipe");
}

#[test]
fn folders_are_read_in_the_order_of_names_without_following_links() {
    let texts: Vec<String> = (1..=4).map(|number| card(number, "550.1")).collect();
    let folder = Folder::new(&[
        ("in/b.txt", texts[0].as_bytes()),
        ("in/a/z.txt", texts[1].as_bytes()),
        ("in/c.bin", b"\x7fELF\x02\x01\x01\0\0\0"),
        ("in/d.txt", b"nothing known\n"),
        ("out/e.txt", texts[2].as_bytes()),
        ("f.txt", texts[3].as_bytes()),
    ]);
    std::os::unix::fs::symlink(folder.path("out"), folder.path("in/link")).unwrap();
    std::os::unix::fs::symlink(folder.path("f.txt"), folder.path("in/file-link")).unwrap();
    std::os::unix::fs::symlink(folder.path("in"), folder.path("in/loop")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path("in/pipe")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let report = folder.report(&["in"]);
    let names: Vec<&str> = report.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["in/a/z.txt", "in/b.txt", "in/c.bin", "in/d.txt"]);
    // What is named is followed.
    std::os::unix::fs::symlink(folder.path("out"), folder.path("named")).unwrap();
    assert_eq!(folder.report(&["named"]).inputs[0].name, "named/e.txt");
}

#[test]
fn what_was_read_stands_at_the_end_of_the_answer_and_in_the_talk() {
    let paste = format!("please help\n{}thanks\n", card(1, "550.1"));
    let folder = Folder::new(&[("paste.txt", paste.as_bytes())]);
    let (_, output, errors) = folder.read(&["paste.txt"]);
    let said = "read: paste.txt: nvidia-smi -q -x (lines 2-11)\nnot understood: paste.txt: lines 1, 12";
    let squeezed = |text: &str| text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed(&output).contains(&squeezed(said)), "{output}");
    assert!(squeezed(&errors).contains(&squeezed(said)), "{errors}");
    let (_, chinese, _) = folder.read(&["paste.txt", "--lang", "zh-CN"]);
    assert!(chinese.contains("已读取：paste.txt：nvidia-smi -q -x（第 "), "{chinese}");
}

#[test]
fn texts_that_disagree_are_named_in_both_languages() {
    let folder =
        Folder::new(&[("a.xml", card(1, "550.1").as_bytes()), ("b.xml", card(1, "570.2").as_bytes())]);
    let notes = |language: &str| -> Vec<String> {
        let report = folder.report(&["a.xml", "b.xml", "--lang", language]);
        report.notes.into_iter().map(|note| note.text).collect()
    };
    let english = "the texts disagree about the driver's version: 550.1, then 570.2; the later one was taken";
    assert!(notes("en").iter().any(|note| note == english), "{:?}", notes("en"));
    assert!(notes("zh-CN").iter().any(|note| note.contains("驱动版本说法不一")), "{:?}", notes("zh-CN"));
}

#[test]
fn what_cannot_be_understood_is_one_clear_line() {
    let folder = Folder::new(&[
        ("prose.txt", b"my GPU is slow\n"),
        ("empty.txt", b"\n"),
        ("data.bin", b"\x7fELF\x02\x01\x01\0\0\0"),
        ("log.xz", b"\xfd7zXZ\0\0\x04"),
        ("cut.gz", b"\x1f\x8b\x08"),
        ("cut.zip", b"PK\x03\x04"),
        ("deep.gz", &gzip(&gzip(&gzip(b"x")))),
        ("nothing/a", b"x"),
        ("nothing/b", b"y"),
    ]);
    std::fs::create_dir(folder.path("void")).unwrap();
    for (name, said) in [
        ("prose.txt", "in `prose.txt` gpuwhy finds nothing that it knows"),
        ("empty.txt", "`empty.txt` is empty"),
        ("data.bin", "`data.bin` is not a text"),
        ("log.xz", "`log.xz` is packed by xz"),
        ("cut.gz", "`cut.gz` cannot be read to its end: "),
        ("cut.zip", "`cut.zip` cannot be read to its end: "),
        ("deep.gz", "`deep.gz` is packed more than 2 times over"),
        ("nothing", "in 2 texts gpuwhy finds nothing that it knows"),
        ("void", "there is no text to read"),
        ("missing", "cannot read `missing`: "),
    ] {
        for language in ["en", "zh-CN"] {
            let (code, output, errors) = folder.read(&[name, "--lang", language]);
            assert_eq!((code, output.as_str()), (2, ""), "{name}: {errors}");
            let is_hint = |line: &str| line.starts_with("hint: ") || line.starts_with("提示：");
            assert_eq!(errors.lines().filter(|line| !is_hint(line)).count(), 1, "{name}: {errors}");
            if language == "en" {
                assert!(errors.starts_with(&format!("error: {said}")), "{name}: {errors}");
            }
        }
    }
    let (_, _, errors) = folder.read(&["prose.txt"]);
    assert!(errors.contains("hint: known are outputs of GPU tools (nvidia-smi"), "{errors}");
    assert!(
        errors.contains("hint: notes in your own words and screenshots cannot be read: paste what"),
        "{errors}"
    );
}

#[test]
fn limits_are_said_and_can_be_raised() {
    let (one, two) = (card(1, "550.1"), card(2, "550.1"));
    let bundle = tar(&[("a", one.as_bytes()), ("b", two.as_bytes())]);
    let folder = Folder::new(&[
        ("b.tar", &bundle),
        ("deep.zip", &zip(&[("b.tgz", &gzip(&tar(&[("c.gz", &gzip(one.as_bytes()))])))])),
    ]);
    let (_, _, errors) = folder.read(&["b.tar", "--max-files", "2"]);
    assert!(
        errors.contains("note: there are more than 2 files; the rest was left out (--max-files"),
        "{errors}"
    );
    let (_, _, errors) = folder.read(&["b.tar", "--max-bytes", "1536"]);
    assert!(errors.contains("note: the texts are longer than 1.5 KiB in all"), "{errors}");
    let (code, _, errors) = folder.read(&["deep.zip"]);
    assert!(code == 2 && errors.contains("--max-depth raises this"), "{errors}");
    assert_eq!(folder.report(&["deep.zip", "--max-depth", "3"]).cards.len(), 1);
    let notes = folder.report(&["b.tar", "--max-files", "2"]).notes;
    assert!(notes.iter().any(|note| note.id == "input.too_many_members"), "{notes:?}");
}

#[test]
fn bombs_and_endless_lines_end_soon() {
    let zeros = vec![b'0'; 4 << 20];
    let folder =
        Folder::new(&[("bomb.gz", &gzip(&zeros)), ("bomb.zip", &zip(&[("a", &zeros), ("b", &zeros)]))]);
    for name in ["bomb.gz", "bomb.zip"] {
        let (code, _, errors) = folder.read(&[name, "--max-bytes", "1MiB"]);
        assert_eq!(code, 2, "{errors}");
    }
    // A line of 64 MiB from a pipe.
    let mut command = gpuwhy(folder.0.path());
    let mut child = command.args(["read"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::io::copy(&mut std::io::repeat(b'a').take(64 << 20), &mut pipe).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{errors}");
}

#[test]
fn the_answer_comes_as_markdown_and_as_html() {
    let folder = Folder::new(&[("a.xml", card(1, "550.1").as_bytes())]);
    for language in ["en", "zh-CN"] {
        let (_, markdown, _) = folder.read(&["a.xml", "--format", "markdown", "--lang", language]);
        assert!(markdown.starts_with("# ") && markdown.contains("\n### "), "{markdown}");
        let (_, html, _) = folder.read(&["a.xml", "--format", "html", "--lang", language]);
        assert!(html.starts_with(&format!("<!DOCTYPE html>\n<html lang=\"{language}\">")), "{html}");
        assert!(!html.contains("src=") && !html.contains("<script") && !html.contains("http:"), "{html}");
    }
    let (_, text, _) = folder.read(&["a.xml", "--format", "text"]);
    assert_eq!(text, folder.read(&["a.xml"]).1);
    let (_, json, _) = folder.read(&["a.xml", "--format", "json"]);
    assert_eq!(json, folder.read(&["a.xml", "--json"]).1);
    let (code, _, errors) = folder.read(&["a.xml", "--json", "--format", "html"]);
    assert!(code == 2 && errors.contains("cannot be used with"), "{errors}");
}

#[test]
fn names_are_replaced_in_every_form_of_the_answer() {
    let log = "Nov 30 10:00:00 gpu7 kernel: NVRM: Xid (PCI:0000:01:00): 31, pid=4242, name=python\n";
    let folder = Folder::new(&[
        ("alice-gpu7/a.xml", card(1, "550.1").as_bytes()),
        ("alice-gpu7/kern.log", log.as_bytes()),
    ]);
    for format in ["text", "json", "markdown", "html"] {
        let (code, output, errors) = folder.read(&["alice-gpu7", "--redact", "--format", format]);
        assert!(code < 2, "{errors}");
        for name in ["alice", "gpu7", "moonshot", "5d1c7a52", "/home"] {
            assert!(!output.contains(name), "{format}: {name} in {output}");
            assert!(!errors.contains(name), "{format}: {name} in {errors}");
        }
        assert!(output.contains("text-1"), "{format}: {output}");
    }
}

#[test]
fn a_recording_among_texts_is_named() {
    let folder = Folder::new(&[
        ("a.xml", card(1, "550.1").as_bytes()),
        ("b.zst", b"{\"schema\":\"gpuwhy.sample/1\",\"taken\":1}\n"),
    ]);
    let (code, _, errors) = folder.read(&["a.xml", "b.zst"]);
    assert!(
        code < 2 && errors.contains("note: `b.zst` is a recording; judge it with: gpuwhy --replay b.zst"),
        "{errors}"
    );
    let (code, _, errors) = folder.read(&["b.zst"]);
    assert!(code == 2 && errors.contains("gpuwhy --replay b.zst"), "{errors}");
}

#[test]
fn every_real_file_is_recognised_or_refused_in_one_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/testdata");
    if !folder.is_dir() {
        println!("skipped: no `{}`", folder.display());
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let mut files = 0;
    let mut waiting = vec![folder];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let (code, output, errors) = run(gpuwhy(empty.path()).arg("read").arg(&path).arg("--json"));
        let said = errors.lines().filter(|line| line.starts_with("error: ")).count();
        match code {
            0 | 1 => assert!(!report(&output).inputs.is_empty(), "{}", path.display()),
            2 => assert_eq!(said, 1, "{}: {errors}", path.display()),
            _ => panic!("{}: {code} {errors}", path.display()),
        }
        files += 1;
    }
    assert!(files > 200, "only {files} files");
}
