//! Lines from the child, as far as they have come.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// How much is taken from the connection at once.
const CHUNK: usize = 16 * 1024;

/// No answer is longer; a child that sends more has lost its mind.
const LINE_MAX: usize = 4 << 20;

/// What came of a try to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A whole line.
    Line(Vec<u8>),
    /// Nothing more for now.
    Nothing,
    /// The child has closed the connection.
    End,
}

/// Reads lines without waiting.
pub(super) struct Lines {
    connection: OwnedFd,
    pending: Vec<u8>,
    /// How much of `pending` is known to hold no line end.
    searched: usize,
}

impl Lines {
    pub(super) fn new(connection: OwnedFd) -> Self {
        Self { connection, pending: Vec::new(), searched: 0 }
    }

    pub(super) const fn connection(&self) -> &OwnedFd {
        &self.connection
    }

    /// Returns the next line, if it is there.
    pub(super) fn next(&mut self) -> Received {
        loop {
            if let Some(offset) = memchr::memchr(b'\n', &self.pending[self.searched..]) {
                let rest = self.pending.split_off(self.searched + offset + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                line.pop();
                self.searched = 0;
                return Received::Line(line);
            }
            self.searched = self.pending.len();
            if self.pending.len() > LINE_MAX {
                return Received::End;
            }
            match self.receive() {
                Ok(0) => return Received::End,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Received::Nothing,
                Err(_) => return Received::End,
            }
        }
    }

    fn receive(&mut self) -> Result<usize, Errno> {
        let start = self.pending.len();
        self.pending.resize(start + CHUNK, 0);
        let result = recv(&self.connection, &mut self.pending[start..], RecvFlags::DONTWAIT);
        let length = result.as_ref().map_or(0, |(_, length)| *length);
        self.pending.truncate(start + length);
        result.map(|_| length)
    }
}
