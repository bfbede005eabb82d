//! The messages of the FUSE protocol that a read-only store needs, as the kernel header lays them out.
//!
//! Source: `include/uapi/linux/fuse.h`, protocol 7.31. Written out by hand because a read-only folder needs a
//! dozen messages, and because an unkillable reader needs answers that a general library would not give.

/// The protocol version that we answer with; the kernel then speaks no newer one.
pub(super) const MAJOR: u32 = 7;
pub(super) const MINOR: u32 = 31;

/// Readahead may have several requests under way (`FUSE_ASYNC_READ`).
pub(super) const ASYNC_READ: u32 = 1;
/// `max_pages` of the answer to `INIT` counts (`FUSE_MAX_PAGES`).
pub(super) const MAX_PAGES: u32 = 1 << 22;

/// The opened file bypasses the page cache (`FOPEN_DIRECT_IO`).
pub(super) const DIRECT_IO: u32 = 1;

/// What the kernel asks for, as far as we answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Lookup,
    Forget,
    GetAttributes,
    Open,
    Read,
    FileSystemStatistics,
    Release,
    Init,
    OpenFolder,
    ReadFolder,
    Interrupt,
    Destroy,
    Other,
}

impl From<u32> for Operation {
    fn from(number: u32) -> Self {
        match number {
            1 => Self::Lookup,
            2 | 42 => Self::Forget,
            3 => Self::GetAttributes,
            14 => Self::Open,
            15 => Self::Read,
            17 => Self::FileSystemStatistics,
            18 | 29 => Self::Release,
            26 => Self::Init,
            27 => Self::OpenFolder,
            28 => Self::ReadFolder,
            36 => Self::Interrupt,
            38 => Self::Destroy,
            _ => Self::Other,
        }
    }
}

/// One request of the kernel: the head that all share, and the rest.
#[derive(Debug)]
pub(super) struct Request<'message> {
    pub(super) operation: Operation,
    pub(super) unique: u64,
    pub(super) node: u64,
    pub(super) pid: u32,
    pub(super) body: &'message [u8],
}

impl<'message> Request<'message> {
    const HEAD: usize = 40;

    /// Takes one message apart; `None` for one that is cut.
    pub(super) fn parse(message: &'message [u8]) -> Option<Self> {
        Some(Self {
            operation: Operation::from(number_at(message, 4)?),
            unique: long_at(message, 8)?,
            node: long_at(message, 16)?,
            pid: number_at(message, 32)?,
            body: message.get(Self::HEAD..)?,
        })
    }

    /// The name at the head of the body (`LOOKUP`).
    pub(super) fn name(&self) -> Option<&str> {
        let end = self.body.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&self.body[..end]).ok()
    }

    /// Offset and size of a `READ` or `READDIR`.
    pub(super) fn range(&self) -> Option<(u64, u32)> {
        Some((long_at(self.body, 8)?, number_at(self.body, 16)?))
    }

    /// The readahead limit that the kernel proposes in `INIT`.
    pub(super) fn readahead_limit(&self) -> Option<u32> {
        number_at(self.body, 8)
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// An answer under construction; the head is filled in last.
#[derive(Debug)]
pub(super) struct Answer {
    bytes: Vec<u8>,
}

impl Answer {
    const HEAD: usize = 16;

    /// An answer without content.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; Self::HEAD] }
    }

    /// Appends a 16-bit number.
    pub(super) fn short(mut self, value: u16) -> Self {
        self.bytes.extend(value.to_ne_bytes());
        self
    }

    /// Appends a 32-bit number.
    pub(super) fn number(mut self, value: u32) -> Self {
        self.bytes.extend(value.to_ne_bytes());
        self
    }

    /// Appends a 64-bit number.
    pub(super) fn long(mut self, value: u64) -> Self {
        self.bytes.extend(value.to_ne_bytes());
        self
    }

    /// Appends bytes as they are.
    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Appends zeros.
    pub(super) fn zeros(mut self, count: usize) -> Self {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }

    /// Appends `struct fuse_attr` of a file or folder.
    pub(super) fn attributes(self, attributes: &Attributes) -> Self {
        self.long(attributes.node)
            .long(attributes.size)
            .long(attributes.size.div_ceil(512))
            .zeros(3 * 8 + 3 * 4)
            .number(attributes.mode)
            .number(1)
            .zeros(3 * 4)
            .number(4096)
            .zeros(4)
    }

    /// Appends one entry of a folder listing, padded as the kernel wants it.
    pub(super) fn entry(self, node: u64, next_offset: u64, name: &str, kind: u32) -> Self {
        let padding = name.len().next_multiple_of(8) - name.len();
        self.long(node)
            .long(next_offset)
            .number(u32::try_from(name.len()).unwrap_or(0))
            .number(kind)
            .raw(name.as_bytes())
            .zeros(padding)
    }

    /// The length of the content so far.
    pub(super) fn content_length(&self) -> usize {
        self.bytes.len() - Self::HEAD
    }

    /// The message to write for the request `unique`.
    pub(super) fn finish(mut self, unique: u64) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..16].copy_from_slice(&unique.to_ne_bytes());
        self.bytes
    }

    /// The message that refuses the request `unique` with `error`.
    pub(super) fn refuse(unique: u64, error: rustix::io::Errno) -> Vec<u8> {
        let mut bytes = Self::new().finish(unique);
        bytes[4..8].copy_from_slice(&(-error.raw_os_error()).to_ne_bytes());
        bytes
    }
}

/// What `stat` shows of one entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes {
    pub(super) node: u64,
    pub(super) size: u64,
    pub(super) mode: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_size_of_the_kernel_struct() {
        let attributes = Attributes { node: 2, size: 4097, mode: 0o100_444 };
        assert_eq!(Answer::new().attributes(&attributes).content_length(), 88);
    }

    #[test]
    fn entries_are_padded_to_eight_bytes() {
        assert_eq!(Answer::new().entry(2, 1, "shard-0", 8).content_length(), 32);
        assert_eq!(Answer::new().entry(2, 1, "shard-00", 8).content_length(), 32);
        assert_eq!(Answer::new().entry(2, 1, "shard-000", 8).content_length(), 40);
    }

    #[test]
    fn refusals_carry_a_negative_error_and_the_request() {
        let message = Answer::refuse(77, rustix::io::Errno::NOSYS);
        assert_eq!(message.len(), 16);
        assert_eq!(i32::from_ne_bytes(message[4..8].try_into().unwrap()), -38);
        assert_eq!(u64::from_ne_bytes(message[8..16].try_into().unwrap()), 77);
    }

    #[test]
    fn a_cut_message_is_no_request() {
        assert!(Request::parse(&[0; 39]).is_none());
    }
}
