//! The members of a zip archive, in the order of its directory.

use std::io::{self, Read, Seek, SeekFrom};

use zip::ZipArchive;
use zip::result::ZipError;

use super::opener::{Place, Unpacker, is_beside, member_name, read_at_most};
use super::{Content, Problem};

/// The directory stands at the end and is read into memory: a larger one is refused.
const DIRECTORY_MAX: u64 = 64 << 20;

/// The record at the end: its signature, its length without a comment, the longest comment.
const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const COMMENT_MAX: u64 = 0xffff;

/// Opens every file of an archive.
pub(super) fn members(unpacker: &mut Unpacker<'_>, name: &str, mut file: impl Read + Seek, place: Place) {
    match directory_length(&mut file) {
        Ok(length) if length > DIRECTORY_MAX => {
            return unpacker.give(name, Content::Nothing, vec![Problem::TooLargeForMemory(DIRECTORY_MAX)]);
        }
        Ok(_) => {}
        Err(error) => return broken(unpacker, name, error.to_string()),
    }
    let mut archive = match ZipArchive::new(file) {
        Ok(archive) => archive,
        Err(error) => return broken(unpacker, name, error.to_string()),
    };
    for index in 0..archive.len() {
        let mut member = match archive.by_index(index) {
            Ok(member) => member,
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                unpacker.give(name, Content::Nothing, vec![Problem::Encrypted]);
                return;
            }
            Err(error) => {
                broken(unpacker, name, error.to_string());
                continue;
            }
        };
        let inside = match member.name() {
            Ok(inside) => inside.into_owned(),
            Err(_) => String::from_utf8_lossy(member.name_raw()).into_owned(),
        };
        if !member.is_file() || is_beside(&inside) {
            continue;
        }
        let member_name = member_name(name, &inside);
        if !unpacker.next_member(&member_name) {
            return;
        }
        unpacker.metered(&mut member, |unpacker, reader| unpacker.open(&member_name, reader, place));
        if unpacker.is_full() {
            return;
        }
    }
}

fn broken(unpacker: &mut Unpacker<'_>, name: &str, error: String) {
    unpacker.give(name, Content::Nothing, vec![Problem::Broken(error)]);
}

/// Returns how long the directory is, or could be: all that stands before the end of a file which does not say so.
fn directory_length(file: &mut (impl Read + Seek)) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail = length.min(COMMENT_MAX + END_LENGTH as u64);
    file.seek(SeekFrom::Start(length - tail))?;
    let bytes = read_at_most(file, tail)?;
    file.seek(SeekFrom::Start(0))?;
    let end = bytes.windows(END_LENGTH).rposition(|window| window.starts_with(END_SIGNATURE));
    let said = end.map(|end| {
        let field: [u8; 4] = std::array::from_fn(|place| bytes[end + 12 + place]);
        u32::from_le_bytes(field)
    });
    // All ones: the true length stands elsewhere.
    Ok(said.filter(|said| *said != u32::MAX).map_or(length, u64::from))
}
