//! What a file is, by its first bytes.

use crate::recording::{SAMPLE_START, ZSTD_MAGIC};

/// Enough to know every kind: an archive's first header, and enough of a text to tell it from data.
pub(super) const HEAD: usize = 8 << 10;

/// So large a share of control characters has no text.
const CONTROL_SHARE_MAX: f64 = 0.02;

const TAR_HEADER: usize = 512;
const TAR_CHECKSUM: std::ops::Range<usize> = 148..156;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gzip,
    Zstd,
    Tar,
    Zip,
    /// Packed in a way that is not unpacked here.
    Packed(&'static str),
    Recording,
    /// Text of two bytes a character, with the lower one first or not.
    Utf16 {
        little_endian: bool,
    },
    Binary,
    Text,
}

/// Packers that are known and not unpacked, by how their files begin.
const PACKED: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\x1f\x9d", "compress"),
    (b"LZIP", "lzip"),
];

/// Returns what a file is that begins so.
pub(super) fn kind(head: &[u8]) -> Kind {
    if head.starts_with(&[0x1f, 0x8b, 8]) {
        return Kind::Gzip;
    }
    if head.starts_with(ZSTD_MAGIC) {
        return Kind::Zstd;
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Kind::Zip;
    }
    if let Some((_, name)) = PACKED.iter().find(|(magic, _)| head.starts_with(magic)) {
        // `BZh` alone could begin a word.
        let is_word = *name == "bzip2" && head.get(4..10) != Some(b"1AY&SY");
        if !is_word {
            return Kind::Packed(name);
        }
    }
    if is_tar(head) {
        return Kind::Tar;
    }
    if head.trim_ascii_start().starts_with(SAMPLE_START) {
        return Kind::Recording;
    }
    match head {
        [0xff, 0xfe, ..] => Kind::Utf16 { little_endian: true },
        [0xfe, 0xff, ..] => Kind::Utf16 { little_endian: false },
        _ if is_binary(head) => Kind::Binary,
        _ => Kind::Text,
    }
}

/// Returns whether the first header's checksum is right: the magic word came later than the format.
fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..TAR_HEADER).filter(|header| header[0] != 0) else {
        return false;
    };
    let digits = header[TAR_CHECKSUM].trim_ascii();
    let digits = digits.split(|byte| *byte == 0 || *byte == b' ').next().unwrap_or_default();
    let Some(said) = std::str::from_utf8(digits).ok().and_then(|text| u64::from_str_radix(text, 8).ok())
    else {
        return false;
    };
    let sum = |byte: (usize, &u8)| {
        // The checksum itself counts as blanks.
        u64::from(if TAR_CHECKSUM.contains(&byte.0) { b' ' } else { *byte.1 })
    };
    header.iter().enumerate().map(sum).sum::<u64>() == said
}

/// Returns whether bytes are no text. Zeros do not count: a machine that lost power leaves them in its logs.
fn is_binary(head: &[u8]) -> bool {
    let written = head.iter().filter(|byte| **byte != 0).count();
    // Tables may be cut by the separators of ASCII (0x1c to 0x1f).
    let is_control = |byte: &&u8| matches!(**byte, 0x01..=0x06 | 0x0e..=0x1a | 0x7f);
    let controls = head.iter().filter(is_control).count();
    // One bad byte makes no data of a short text.
    let is_full_of_them = controls > 1 && controls as f64 >= written as f64 * CONTROL_SHARE_MAX;
    !head.is_empty() && (written == 0 || is_full_of_them)
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind};

    #[test]
    fn kinds_are_known_by_their_begin() {
        for (head, known) in [
            (&b"\x1f\x8b\x08\0"[..], Kind::Gzip),
            (b"\x28\xb5\x2f\xfd\x04", Kind::Zstd),
            (b"PK\x03\x04\x14", Kind::Zip),
            (b"\xfd7zXZ\0\0", Kind::Packed("xz")),
            (b"BZh91AY&SYxx", Kind::Packed("bzip2")),
            (b"BZhello", Kind::Text),
            (b"\n{\"schema\":\"gpuwhy.sample/1\"", Kind::Recording),
            (b"\xff\xfea\0", Kind::Utf16 { little_endian: true }),
            (b"\xfe\xff\0a", Kind::Utf16 { little_endian: false }),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0", Kind::Binary),
            (b"\0\0\0\0", Kind::Binary),
            (b"\0\0\0\0\0\0Nov 30 10:00:00 n1 kernel: x\n", Kind::Text),
            (b"\x1b[31mred\x1b[0m \x08\x07 text\r\n", Kind::Text),
            (b"\x1e4\x1fn1\x1fgpu\n\x1e4\x1fn2\x1fgpu\n", Kind::Text),
            (b"n1 idle \x02\n", Kind::Text),
            ("训练".as_bytes(), Kind::Text),
            (b"\xd1\xb5\xc1\xb7 gbk", Kind::Text),
            (b"", Kind::Text),
        ] {
            assert_eq!(kind(head), known, "{head:?}");
        }
    }

    #[test]
    fn an_archive_is_known_by_its_checksum() {
        let mut header = tar::Header::new_old();
        header.set_path("a.log").unwrap();
        header.set_size(3);
        header.set_cksum();
        assert_eq!(kind(header.as_bytes()), Kind::Tar);
        header.as_mut_bytes()[0] = b'b';
        assert_ne!(kind(header.as_bytes()), Kind::Tar);
        assert_ne!(kind(&[b'7'; 512]), Kind::Tar);
    }
}
