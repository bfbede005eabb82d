//! Archives that are cut anywhere or damaged: nothing panics, nothing goes on for ever, limits hold.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

use std::io::{Cursor, Write as _};

use gpuwhy_formats::unpack::{Content, Limits, Unpacked, Unpacker};
use proptest::prelude::*;

const LIMITS: Limits = Limits { bytes: 1 << 20, members: 20, depth: 2 };

const LOG: &[u8] =
    b"Nov 30 10:00:00 n1 kernel: NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let packed = gzip(LOG);
    let long = format!("{}/kern.log", "folder".repeat(30));
    for (name, bytes) in [("a.log", LOG), (&long, LOG), ("b.gz", &packed)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zip() -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["a.log", "b/c.log"] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(LOG).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Every kind of archive.
fn archives() -> Vec<Vec<u8>> {
    let utf_16: Vec<u8> = "\u{feff}NVRM: Xid".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![gzip(LOG), zstd::encode_all(LOG, 1).unwrap(), tar(), zip(), gzip(&tar()), gzip(&zip()), utf_16]
}

/// Opens bytes as a file and as a stream; returns how many bytes of text came out.
fn opened(bytes: &[u8]) -> usize {
    let mut length = 0;
    let mut take = |unpacked: Unpacked| {
        if let Content::Text(text) = &unpacked.content {
            text.with_paste(|paste| length += paste.lines.iter().map(|line| line.text.len()).sum::<usize>());
        }
    };
    let mut unpacker = Unpacker::new(LIMITS, &mut take);
    unpacker.file("file", Cursor::new(bytes));
    unpacker.stream("stream", bytes);
    length
}

#[test]
fn archives_cut_anywhere_are_survived() {
    for archive in archives() {
        let whole = opened(&archive);
        assert!(whole > 0);
        for length in (0..archive.len()).step_by(1 + archive.len() / 600) {
            opened(&archive[..length]);
        }
    }
}

proptest! {
    #[test]
    fn damaged_archives_are_survived(
        which in 0..7_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = archives().swap_remove(which);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        // What comes out of two ways of one file is no more than is allowed.
        prop_assert!(opened(&bytes) <= 1 << 20);
    }

    #[test]
    fn any_bytes_behind_a_magic_number_are_survived(
        magic in prop::sample::select(vec![&b"\x1f\x8b\x08"[..], b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PK\x05\x06", b"\xff\xfe"]),
        rest in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        opened(&[magic, &rest].concat());
    }
}
