//! The input of a recording, compressed or not.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use zstd::stream::read::Decoder;

/// The first bytes of what zstd has compressed.
pub(crate) const ZSTD_MAGIC: &[u8; 4] = b"\x28\xb5\x2f\xfd";

/// An input whose first bytes were looked at.
type Looked<R> = BufReader<Chain<Cursor<Vec<u8>>, R>>;

/// Lines of a recording.
pub(super) enum Input<R: Read> {
    Compressed(BufReader<Decoder<'static, Looked<R>>>),
    Plain(Looked<R>),
}

impl<R: Read> Input<R> {
    /// Looks at the first bytes and decides how to read on.
    pub(super) fn new(mut input: R) -> io::Result<Self> {
        let mut start = Vec::new();
        input.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut start)?;
        let is_compressed = start == ZSTD_MAGIC;
        let looked = BufReader::new(Cursor::new(start).chain(input));
        if !is_compressed {
            return Ok(Self::Plain(looked));
        }
        Ok(Self::Compressed(BufReader::new(Decoder::with_buffer(looked)?)))
    }

    /// Returns whether errors of the data are the decompressor's.
    pub(super) const fn is_compressed(&self) -> bool {
        matches!(self, Self::Compressed(_))
    }

    /// Appends bytes up to a line end, or up to `most` of them.
    pub(super) fn read_line(&mut self, line: &mut Vec<u8>, most: u64) -> io::Result<usize> {
        match self {
            Self::Compressed(lines) => lines.take(most).read_until(b'\n', line),
            Self::Plain(lines) => lines.take(most).read_until(b'\n', line),
        }
    }
}
