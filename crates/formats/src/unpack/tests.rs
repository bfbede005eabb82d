use std::io::{Cursor, Read, Write as _};

use super::captured::{DOCUMENT_MAX, WHOLE_MAX};
use super::long_text::LINE_MAX;
use super::{Content, Limits, Problem, Unpacked, Unpacker};

fn unpacked_within(limits: Limits, name: &str, bytes: impl AsRef<[u8]>) -> Vec<Unpacked> {
    let mut found = Vec::new();
    let mut take = |unpacked| found.push(unpacked);
    Unpacker::new(limits, &mut take).file(name, Cursor::new(bytes));
    found
}

fn unpacked(bytes: impl AsRef<[u8]>) -> Vec<Unpacked> {
    unpacked_within(Limits::default(), "x", bytes)
}

/// Each name with its text, or what is said instead.
fn shown(found: &[Unpacked]) -> Vec<(String, String)> {
    let content = |unpacked: &Unpacked| match &unpacked.content {
        Content::Text(text) if unpacked.problems.is_empty() => text.whole().unwrap().into_owned(),
        other => format!("{other:?} {:?}", unpacked.problems),
    };
    found.iter().map(|unpacked| (unpacked.name.clone(), content(unpacked))).collect()
}

fn one(name: &str, text: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), text.to_owned())]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn every_packing_gives_the_same_text() {
    assert_eq!(shown(&unpacked(b"abc")), one("x", "abc"));
    assert_eq!(shown(&unpacked(gzip(b"abc"))), one("x", "abc"));
    assert_eq!(shown(&unpacked(zstd::encode_all(&b"abc"[..], 1).unwrap())), one("x", "abc"));
    assert_eq!(shown(&unpacked(tar(&[("./a.log", b"abc")]))), one("x/a.log", "abc"));
    assert_eq!(shown(&unpacked(gzip(&tar(&[("b/a.log", b"abc")])))), one("x/b/a.log", "abc"));
    assert_eq!(shown(&unpacked(zip(&[("a.log", b"abc")]))), one("x/a.log", "abc"));
    let utf_16: Vec<u8> = "\u{feff}abc".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(shown(&unpacked(gzip(&utf_16))), one("x", "abc"));
    // Several compressed files one behind the other are one text, as `nvidia-bug-report.sh` writes them.
    let both = [gzip(b"abc"), gzip(b"def")].concat();
    assert_eq!(shown(&unpacked(&both)), one("x", "abcdef"));
}

#[test]
fn members_keep_their_order_and_their_long_names() {
    let long = format!("{}/kern.log", "folder".repeat(40));
    let members: [(&str, &[u8]); 4] = [("b", b"1"), (&long, b"2"), ("._b", b"3"), ("a", b"4")];
    let wanted = vec![
        ("x/b".to_owned(), "1".to_owned()),
        (format!("x/{long}"), "2".to_owned()),
        ("x/a".to_owned(), "4".to_owned()),
    ];
    assert_eq!(shown(&unpacked(tar(&members))), wanted);
    assert_eq!(shown(&unpacked(zip(&members))), wanted);
}

#[test]
fn what_is_no_text_is_named() {
    for (bytes, said) in [
        (&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"[..], "Binary []"),
        (b"\xfd7zXZ\0\0\x04", "PackedBy(\"xz\") []"),
        (b"{\"schema\":\"gpuwhy.sample/1\",", "Recording []"),
    ] {
        assert_eq!(shown(&unpacked(bytes)), one("x", said));
        assert_eq!(shown(&unpacked(gzip(bytes))), one("x", said));
    }
}

#[test]
fn what_is_cut_gives_what_came_before() {
    let whole = gzip("a line of text\n".repeat(10_000).as_bytes());
    let found = unpacked(&whole[..whole.len() - 20]);
    assert!(matches!(found[0].problems[..], [Problem::Broken(_)]), "{found:?}");
    let Content::Text(text) = &found[0].content else { panic!("{found:?}") };
    assert!(text.whole().unwrap().starts_with("a line of text\n"));
    let archive = tar(&[("a", b"1"), ("b", &[b'x'; 2000])]);
    let found = unpacked(&archive[..archive.len() - 2500]);
    assert_eq!(found[0].name, "x/a");
    assert!(found.iter().any(|unpacked| !unpacked.problems.is_empty()), "{found:?}");
    for bytes in [&b"PK\x03\x04"[..], b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x05\x06"] {
        let found = unpacked(bytes);
        assert!(matches!(found[0].problems[..], [Problem::Broken(_)]), "{found:?}");
    }
}

#[test]
fn layers_are_counted() {
    let limits = |depth| Limits { depth, ..Limits::default() };
    let log = gzip(b"abc");
    let bundle = gzip(&tar(&[("a.gz", &log)]));
    assert_eq!(shown(&unpacked(&bundle)), one("x/a.gz", "abc"), "two deep");
    let found = unpacked_within(limits(1), "x", &bundle);
    assert!(matches!(found[0].problems[..], [Problem::TooDeep(1)]), "{found:?}");
    let in_bundle = zip(&[("b.tgz", &bundle)]);
    let found = unpacked(&in_bundle);
    assert_eq!(found[0].name, "x/b.tgz/a.gz");
    assert!(matches!(found[0].problems[..], [Problem::TooDeep(2)]), "{found:?}");
    assert_eq!(shown(&unpacked_within(limits(3), "x", &in_bundle)), one("x/b.tgz/a.gz", "abc"));
    let found = unpacked(gzip(&gzip(&gzip(b"abc"))));
    assert!(matches!(found[0].problems[..], [Problem::TooDeep(2)]), "{found:?}");
}

#[test]
fn members_are_counted_over_all_inputs() {
    let mut found = Vec::new();
    let mut take = |unpacked: Unpacked| found.push((unpacked.name, unpacked.problems));
    let mut unpacker = Unpacker::new(Limits { members: 3, ..Limits::default() }, &mut take);
    unpacker.file("one", Cursor::new(b"abc"));
    unpacker.file("two", Cursor::new(tar(&[("a", b"1"), ("b", b"2"), ("c", b"3")])));
    assert!(unpacker.is_full());
    unpacker.file("three", Cursor::new(b"abc"));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["one", "two/a", "two/b"]);
    assert_eq!(found[2].1, [Problem::TooManyMembers(3)]);
}

#[test]
fn bombs_end_at_the_limit() {
    let limits = Limits { bytes: 3 << 20, ..Limits::default() };
    let zeros = vec![b'0'; 5 << 20];
    let bomb = gzip(&zeros);
    let nested = tar(&[("small", b"1"), ("bomb.gz", &bomb), ("never", b"2")]);
    for bytes in [bomb.clone(), zip(&[("a", &zeros)]), gzip(&nested), zip(&[("b", &bomb)])] {
        let found = unpacked_within(limits, "x", bytes);
        assert!(found.iter().any(|one| one.problems == [Problem::TooManyBytes(3 << 20)]), "{found:?}");
        assert!(!found.iter().any(|one| one.name.ends_with("never")));
    }
}

#[test]
fn a_name_of_gigabytes_is_not_read() {
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(64 << 20);
    header.set_cksum();
    let member = tar(&[("a", b"abc")]);
    let name = std::io::repeat(b'n').take(64 << 20);
    let mut found = Vec::new();
    let mut take = |unpacked: Unpacked| found.push(unpacked);
    let stream = Cursor::new(header.as_bytes().to_vec()).chain(name).chain(Cursor::new(member));
    Unpacker::new(Limits::default(), &mut take).stream("x", stream);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name.len(), "x/".len() + (64 << 10));
}

/// What is kept of a long text: the number and length of its lines, and what is said of it.
fn kept(stream: impl Read) -> (Vec<(u64, String)>, Vec<Problem>) {
    let mut found = Vec::new();
    let mut take = |unpacked: Unpacked| found.push(unpacked);
    Unpacker::new(Limits::default(), &mut take).stream("x", stream);
    assert_eq!(found.len(), 1, "{found:?}");
    let Content::Text(text) = &found[0].content else { panic!("{found:?}") };
    let lines = text.with_paste(|paste| {
        paste.lines.iter().map(|line| (line.number, line.text.clone().into_owned())).collect()
    });
    (lines, found.remove(0).problems)
}

#[test]
fn of_a_long_log_the_ends_and_the_marked_lines_are_kept() {
    let count = 400_000_u64;
    let line = |number: u64| match number {
        150_000 => "NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.".to_owned(),
        200_000 => "Traceback (most recent call last):".to_owned(),
        _ => format!("Nov 30 10:00:00 n1 kernel: [{number}] nothing of interest in this line"),
    };
    let text: String = (1..=count).map(|number| line(number) + "\n").collect();
    assert!(text.len() > 3 * WHOLE_MAX);
    let (lines, problems) = kept(text.as_bytes());
    for (number, text) in lines.iter().filter(|(number, _)| *number <= count) {
        assert_eq!(*text, line(*number));
    }
    let has = |number: u64| lines.binary_search_by_key(&number, |(number, _)| *number).is_ok();
    for number in [1, 20_000, 150_000, 199_997, 200_000, 200_060, count - 20_000, count] {
        assert!(has(number), "{number}");
    }
    for number in [100_000, 149_999, 150_001, 199_996, 200_061] {
        assert!(!has(number), "{number}");
    }
    assert!(lines.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let [Problem::OnlyWhatMatters { lines: all, kept, dropped: 0 }] = problems[..] else {
        panic!("{problems:?}")
    };
    assert_eq!(all, count);
    assert!(kept < all / 3, "{kept}");
}

#[test]
fn of_too_many_marked_lines_the_first_and_the_last_are_kept() {
    let count = 600_000_u64;
    let text: Vec<String> =
        (1..=count).map(|number| format!("{number} NVRM: Xid (PCI:0000:65:00): 31, x\n")).collect();
    let (lines, problems) = kept(text.concat().as_bytes());
    let [Problem::OnlyWhatMatters { lines: all, dropped, .. }] = problems[..] else { panic!("{problems:?}") };
    assert!(all == count && dropped > 100_000, "{problems:?}");
    assert!(lines.iter().all(|(number, text)| text.starts_with(&format!("{number} "))));
    assert_eq!((lines[0].0, lines[lines.len() - 1].0), (1, count));
}

#[test]
fn a_line_without_end_is_cut() {
    let stream =
        Cursor::new(b"first\n").chain(std::io::repeat(b'a').take(50 << 20)).chain(Cursor::new(b"\nlast\n"));
    let (lines, problems) = kept(stream);
    let lengths: Vec<(u64, usize)> = lines.iter().map(|(number, text)| (*number, text.len())).collect();
    assert_eq!(lengths, [(1, 5), (2, LINE_MAX), (3, 4)]);
    assert_eq!(problems, [Problem::LinesCut { count: 1, first: 2, bytes: LINE_MAX as u64 }]);
}

#[test]
fn a_document_without_end_is_cut() {
    let mut found = Vec::new();
    let mut take = |unpacked: Unpacked| found.push(unpacked);
    let stream = Cursor::new(b"{\"jobs\": [").chain(std::io::repeat(b'1').take(DOCUMENT_MAX as u64));
    Unpacker::new(Limits::default(), &mut take).stream("x", stream);
    assert_eq!(found[0].problems, [Problem::DocumentCut(DOCUMENT_MAX as u64)]);
}

#[test]
fn a_limit_of_bytes_cuts_a_plain_text_too() {
    let found = unpacked_within(Limits { bytes: 10, ..Limits::default() }, "x", b"0123456789abc");
    assert!(matches!(&found[0].content, Content::Text(text) if text.whole().unwrap() == "0123456789"));
    assert_eq!(found[1].problems, [Problem::TooManyBytes(10)]);
}
