//! Text of two bytes a character as UTF-8, while it is read: what a shell on Windows redirects into a file.

use std::io::{self, Read};

/// A reader of UTF-16 that gives UTF-8; what cannot be understood becomes U+FFFD.
pub(super) struct Utf16Reader<R> {
    reader: R,
    is_little_endian: bool,
    /// A first byte, or the first half of a character, that waits for the rest.
    pending_byte: Option<u8>,
    pending_half: Option<u16>,
    ready: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16Reader<R> {
    pub(super) fn new(reader: R, is_little_endian: bool) -> Self {
        Self { reader, is_little_endian, pending_byte: None, pending_half: None, ready: Vec::new(), given: 0 }
    }

    /// Reads some more; returns whether there is more.
    fn fill(&mut self) -> io::Result<bool> {
        let mut raw = [0; 4096];
        let read = self.reader.read(&mut raw)?;
        let mut text = String::new();
        if read == 0 {
            let is_cut = self.pending_byte.take().is_some() | self.pending_half.take().is_some();
            if is_cut {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        for byte in &raw[..read] {
            let Some(first) = self.pending_byte.take() else {
                self.pending_byte = Some(*byte);
                continue;
            };
            let pair = [first, *byte];
            let unit =
                if self.is_little_endian { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
            self.add(unit, &mut text);
        }
        self.ready = text.into_bytes();
        self.given = 0;
        Ok(read > 0)
    }

    fn add(&mut self, unit: u16, text: &mut String) {
        let is_first_half = (0xd800..0xdc00).contains(&unit);
        let half = self.pending_half.take();
        if is_first_half {
            self.pending_half = Some(unit);
            text.extend(half.map(|_| char::REPLACEMENT_CHARACTER));
            return;
        }
        let characters = char::decode_utf16(half.into_iter().chain([unit]));
        let characters = characters.map(|each| each.unwrap_or(char::REPLACEMENT_CHARACTER));
        // The mark that says in which order the bytes stand is no text.
        text.extend(characters.filter(|character| *character != '\u{feff}'));
    }
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if !self.fill()? && self.ready.is_empty() {
                break;
            }
        }
        let length = (self.ready.len() - self.given).min(buffer.len());
        buffer[..length].copy_from_slice(&self.ready[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::Utf16Reader;
    use crate::decoding::decoded;

    #[test]
    fn it_reads_as_a_whole_text_is_decoded() {
        let text = "<é😀> 训练\r\n".repeat(1000);
        for (mark, bytes) in
            [("\u{feff}", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("\u{feff}", u16::to_be_bytes)]
        {
            let raw: Vec<u8> = format!("{mark}{text}").encode_utf16().flat_map(bytes).collect();
            for length in [raw.len(), raw.len() - 1, 10, 3, 2] {
                let raw = &raw[..length];
                let mut read = String::new();
                Utf16Reader::new(raw, raw[0] == 0xff).read_to_string(&mut read).unwrap();
                assert_eq!(read, decoded(raw), "{length}");
            }
        }
    }
}
