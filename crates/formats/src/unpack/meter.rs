//! Counts what is unpacked, over all inputs together, and ends it at the limit.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// What may still be unpacked.
#[derive(Debug)]
pub(super) struct Allowance {
    left: Cell<u64>,
    is_used_up: Cell<bool>,
}

impl Allowance {
    pub(super) fn new(bytes: u64) -> Self {
        Self { left: Cell::new(bytes), is_used_up: Cell::new(false) }
    }

    /// Returns whether something was left out.
    pub(super) fn is_used_up(&self) -> bool {
        self.is_used_up.get()
    }
}

/// A reader that ends where the allowance does.
pub(super) struct Meter<R> {
    reader: R,
    allowance: Rc<Allowance>,
}

impl<R: Read> Meter<R> {
    pub(super) fn new(reader: R, allowance: &Rc<Allowance>) -> Self {
        Self { reader, allowance: Rc::clone(allowance) }
    }
}

impl<R: Read> Read for Meter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.allowance.left.get();
        if left == 0 && !buffer.is_empty() {
            // What is exactly as long as the limit was read to its end.
            if !self.allowance.is_used_up() && self.reader.read(&mut [0])? == 0 {
                return Ok(0);
            }
            self.allowance.is_used_up.set(true);
            return Ok(0);
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.reader.read(&mut buffer[..most])?;
        self.allowance.left.set(left - read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::rc::Rc;

    use super::{Allowance, Meter};

    #[test]
    fn all_readers_share_one_allowance() {
        let allowance = Rc::new(Allowance::new(5));
        let mut text = String::new();
        Meter::new(&b"abc"[..], &allowance).read_to_string(&mut text).unwrap();
        assert!(!allowance.is_used_up());
        Meter::new(&b"defg"[..], &allowance).read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), allowance.is_used_up()), ("abcde", true));
    }

    #[test]
    fn what_is_as_long_as_allowed_is_whole() {
        let allowance = Rc::new(Allowance::new(3));
        let mut text = String::new();
        Meter::new(&b"abc"[..], &allowance).read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), allowance.is_used_up()), ("abc", false));
    }
}
