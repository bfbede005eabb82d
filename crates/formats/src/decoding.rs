//! Bytes as text: what a shell on Windows redirects into a file is UTF-16.

use std::borrow::Cow;

/// Returns the text that bytes hold, by the mark they begin with; without one they are UTF-8.
///
/// What cannot be understood becomes U+FFFD.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf_16(rest, u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    }
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut text: String =
        char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    if !rest.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn marks_say_how_to_read() {
        assert_eq!(decoded(b"\xff\xfe<\0\xe9\0\x3d\xd8\x00\xde"), "<é😀");
        assert_eq!(decoded(b"\xfe\xff\0<\0\xe9\xd8\x3d\xde\x00"), "<é😀");
        assert_eq!(decoded("\u{feff}<é".as_bytes()), "<é");
        assert_eq!(decoded("<é".as_bytes()), "<é");
        assert_eq!(decoded(b""), "");
    }

    #[test]
    fn what_cannot_be_understood_is_marked() {
        assert_eq!(decoded(b"\xff\xfe<\0\x3d\xd8<\0<"), "<\u{fffd}<\u{fffd}");
        assert_eq!(decoded(b"<\xff>"), "<\u{fffd}>");
    }
}
