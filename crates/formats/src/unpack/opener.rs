//! Opens what comes in, layer by layer.

use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::captured::{Captured, capture};
use super::kind::{self, Kind, kind};
use super::meter::{Allowance, Meter};
use super::utf_16::Utf16Reader;
use super::{Content, Limits, Problem, Unpacked, tape, zipped};

/// An archive that must be searched from its end is held in memory up to this size, where it is no file of its own.
const ARCHIVE_IN_MEMORY_MAX: u64 = 256 << 20;

/// The window of compressed data may be so large, as a power of two: what `zstd` itself takes without being asked.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Where a reader stands in the layers around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// How many archives and compressions are around it.
    pub(super) depth: u32,
    /// Whether what it reads is counted already.
    is_metered: bool,
    /// Whether it is what a compressed file holds: an archive right there adds no layer.
    is_unpacked: bool,
}

/// Turns files and streams into texts, and hands each over as soon as it is there.
pub struct Unpacker<'take> {
    pub(super) limits: Limits,
    allowance: Rc<Allowance>,
    members: u64,
    is_full: bool,
    take: &'take mut dyn FnMut(Unpacked),
}

impl<'take> Unpacker<'take> {
    /// Makes one that hands over what it finds.
    pub fn new(limits: Limits, take: &'take mut dyn FnMut(Unpacked)) -> Self {
        Self { limits, allowance: Rc::new(Allowance::new(limits.bytes)), members: 0, is_full: false, take }
    }

    /// Returns whether a limit of all inputs together was hit, so that nothing more is read.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Reads a file, in which one can go back and forth.
    pub fn file(&mut self, name: &str, mut file: impl Read + Seek) {
        if !self.next_member(name) {
            return;
        }
        let mut head = Vec::new();
        let began = (&mut file)
            .take(kind::HEAD as u64)
            .read_to_end(&mut head)
            .and_then(|_| file.seek(SeekFrom::Start(0)));
        match began {
            Ok(_) if kind(&head) == Kind::Zip => self.zip(name, file, Place::OUTSIDE),
            Ok(_) => self.open(name, &mut file, Place::OUTSIDE),
            Err(error) => self.give(name, Content::Nothing, vec![Problem::Broken(error.to_string())]),
        }
    }

    /// Reads a stream, in which one cannot go back.
    pub fn stream(&mut self, name: &str, mut stream: impl Read) {
        if self.next_member(name) {
            self.open(name, &mut stream, Place::OUTSIDE);
        }
    }

    /// Counts a folder; returns whether one may look into it.
    pub fn folder(&mut self, name: &str) -> bool {
        self.next_member(name)
    }

    /// Says that something cannot be read.
    pub fn refused(&mut self, name: &str, problem: Problem) {
        self.give(name, Content::Nothing, vec![problem]);
    }

    /// Counts one more file or member; returns whether it may be read.
    pub(super) fn next_member(&mut self, name: &str) -> bool {
        if self.is_full {
            return false;
        }
        if self.members >= self.limits.members {
            self.is_full = true;
            self.give(name, Content::Nothing, vec![Problem::TooManyMembers(self.limits.members)]);
            return false;
        }
        self.members += 1;
        true
    }

    pub(super) fn give(&mut self, name: &str, content: Content, problems: Vec<Problem>) {
        (self.take)(Unpacked { name: name.to_owned(), content, problems });
    }

    /// Opens what a reader holds, whatever it is.
    pub(super) fn open(&mut self, name: &str, reader: &mut dyn Read, place: Place) {
        let mut head = Vec::new();
        if let Err(error) = reader.take(kind::HEAD as u64).read_to_end(&mut head)
            && head.is_empty()
        {
            self.give(name, Content::Nothing, vec![Problem::Broken(error.to_string())]);
            return;
        }
        let kind = kind(&head);
        let mut whole = Cursor::new(head).chain(reader);
        match kind {
            Kind::Gzip => self.decompressed(name, &mut MultiGzDecoder::new(BufReader::new(whole)), place),
            Kind::Zstd => self.zstd(name, &mut whole, place),
            Kind::Tar => self.tar(name, &mut whole, place),
            Kind::Zip => self.zip_in_memory(name, &mut whole, place),
            Kind::Packed(packer) => self.give(name, Content::PackedBy(packer), Vec::new()),
            Kind::Recording => self.give(name, Content::Recording, Vec::new()),
            Kind::Binary => self.give(name, Content::Binary, Vec::new()),
            Kind::Utf16 { little_endian } => {
                let mut reader = Utf16Reader::new(whole, little_endian);
                self.once_metered(&mut reader, place, |unpacker, reader| unpacker.text(name, reader));
            }
            Kind::Text => {
                self.once_metered(&mut whole, place, |unpacker, reader| unpacker.text(name, reader));
            }
        }
    }

    fn text(&mut self, name: &str, reader: &mut dyn Read) {
        let mut problems = Vec::new();
        let captured: Captured = capture(reader, &mut problems);
        self.give(name, Content::Text(captured), problems);
    }

    fn zstd(&mut self, name: &str, reader: &mut dyn Read, place: Place) {
        let decoder = ZstdDecoder::new(reader).and_then(|mut decoder| {
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Ok(decoder)
        });
        match decoder {
            Ok(mut decoder) => self.decompressed(name, &mut decoder, place),
            Err(error) => self.give(name, Content::Nothing, vec![Problem::Broken(error.to_string())]),
        }
    }

    fn decompressed(&mut self, name: &str, reader: &mut dyn Read, place: Place) {
        if let Some(depth) = self.within_limit(name, place.depth + 1) {
            let inside = Place { depth, is_metered: true, is_unpacked: true };
            self.metered(reader, |unpacker, reader| unpacker.open(name, reader, inside));
        }
    }

    fn tar(&mut self, name: &str, reader: &mut dyn Read, place: Place) {
        if let Some(depth) = self.within_limit(name, place.depth_of_archive()) {
            let inside = Place { depth, is_metered: true, is_unpacked: false };
            self.once_metered(reader, place, |unpacker, reader| {
                tape::members(unpacker, name, reader, inside);
            });
        }
    }

    fn zip(&mut self, name: &str, archive: impl Read + Seek, place: Place) {
        if let Some(depth) = self.within_limit(name, place.depth_of_archive()) {
            let inside = Place { depth, is_metered: true, is_unpacked: false };
            zipped::members(self, name, archive, inside);
        }
    }

    fn zip_in_memory(&mut self, name: &str, reader: &mut dyn Read, place: Place) {
        let mut bytes = Vec::new();
        match reader.take(ARCHIVE_IN_MEMORY_MAX + 1).read_to_end(&mut bytes) {
            Ok(length) if length as u64 > ARCHIVE_IN_MEMORY_MAX => {
                let problem = Problem::TooLargeForMemory(ARCHIVE_IN_MEMORY_MAX);
                self.give(name, Content::Nothing, vec![problem]);
            }
            Ok(_) => self.zip(name, Cursor::new(bytes), place),
            Err(error) => self.give(name, Content::Nothing, vec![Problem::Broken(error.to_string())]),
        }
    }

    /// Returns a depth if it is not too deep.
    fn within_limit(&mut self, name: &str, depth: u32) -> Option<u32> {
        if depth > self.limits.depth {
            self.give(name, Content::Nothing, vec![Problem::TooDeep(self.limits.depth)]);
            return None;
        }
        Some(depth)
    }

    /// Lets something read that is counted unless it is so already.
    fn once_metered(
        &mut self,
        reader: &mut dyn Read,
        place: Place,
        look: impl FnOnce(&mut Self, &mut dyn Read),
    ) {
        if place.is_metered { look(self, reader) } else { self.metered(reader, look) }
    }

    /// Lets something read that is counted: whatever unpacks is, also within what is counted. Says so when the limit
    /// is hit.
    pub(super) fn metered(&mut self, reader: &mut dyn Read, look: impl FnOnce(&mut Self, &mut dyn Read)) {
        let mut meter = Meter::new(reader, &self.allowance);
        look(self, &mut meter);
        if self.allowance.is_used_up() && !self.is_full {
            self.is_full = true;
            self.give("", Content::Nothing, vec![Problem::TooManyBytes(self.limits.bytes)]);
        }
    }
}

impl Place {
    /// A file or stream as it was given.
    const OUTSIDE: Self = Self { depth: 0, is_metered: false, is_unpacked: false };

    /// Returns the depth of the members of an archive: with its compression it is one layer.
    const fn depth_of_archive(self) -> u32 {
        if self.is_unpacked { self.depth } else { self.depth + 1 }
    }
}

/// Returns the name of a member of an archive.
pub(super) fn member_name(archive: &str, member: &str) -> String {
    let member = member.trim_start_matches(['/', '\\']);
    let member = member.strip_prefix("./").unwrap_or(member);
    format!("{archive}/{member}")
}

/// Returns whether a member holds only what a file manager keeps beside the files.
pub(super) fn is_beside(member: &str) -> bool {
    let name = member.rsplit(['/', '\\']).next().unwrap_or_default();
    name.starts_with("._") || member.starts_with("__MACOSX/")
}

/// Reads at most so many bytes.
pub(super) fn read_at_most(reader: &mut dyn Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    reader.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}
