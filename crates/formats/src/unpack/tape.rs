//! The members of a tar archive, in the order in which they stand.

use std::io::Read;

use tar::{Archive, EntryType};

use super::opener::{Place, Unpacker, is_beside, member_name, read_at_most};
use super::{Content, Problem};

/// A longer name, or description of a member, is not read.
const NAME_MAX: u64 = 64 << 10;

/// Opens every file of an archive.
pub(super) fn members(unpacker: &mut Unpacker<'_>, name: &str, reader: &mut dyn Read, place: Place) {
    let mut archive = Archive::new(reader);
    // Headers are taken as they are: a name of gigabytes would be read into memory else.
    let entries = match archive.entries() {
        Ok(entries) => entries.raw(true),
        Err(error) => return broken(unpacker, name, &error),
    };
    let mut long_name: Option<String> = None;
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return broken(unpacker, name, &error),
        };
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let Ok(raw) = read_at_most(&mut entry, NAME_MAX) else { continue };
                let raw = raw.split(|byte| *byte == 0).next().unwrap_or_default();
                long_name = Some(String::from_utf8_lossy(raw).into_owned());
            }
            EntryType::XHeader => {
                let Ok(raw) = read_at_most(&mut entry, NAME_MAX) else { continue };
                long_name = path_of(&raw).or(long_name);
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let short_name = String::from_utf8_lossy(&entry.header().path_bytes()).into_owned();
                let member = long_name.take().unwrap_or(short_name);
                if is_beside(&member) {
                    continue;
                }
                let member = member_name(name, &member);
                if !unpacker.next_member(&member) {
                    return;
                }
                unpacker.open(&member, &mut entry, place);
            }
            _ => long_name = None,
        }
        if unpacker.is_full() {
            return;
        }
    }
}

fn broken(unpacker: &mut Unpacker<'_>, name: &str, error: &std::io::Error) {
    unpacker.give(name, Content::Nothing, vec![Problem::Broken(error.to_string())]);
}

/// Returns the path in a member's description: lines of `length key=value`.
fn path_of(raw: &[u8]) -> Option<String> {
    let mut rest = raw;
    loop {
        let blank = rest.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&rest[..blank]).ok()?.parse().ok()?;
        let record = rest.get(blank + 1..length)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            let path = path.strip_suffix(b"\n").unwrap_or(path);
            return Some(String::from_utf8_lossy(path).into_owned());
        }
        rest = &rest[length..];
    }
}
