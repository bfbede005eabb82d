//! Files and folders: what was named is opened whatever it is, below a folder only files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use gpuwhy_formats::unpack::{Problem, Unpacker};
use gpuwhy_render::message;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::failure::Failure;
use crate::input::input_name;

/// Reads what was named on the command line.
///
/// # Errors
/// Fails when it is not there or may not be read.
pub(super) fn read(path: &Path, unpacker: &mut Unpacker<'_>) -> Result<(), Failure> {
    let cannot_read = |error: io::Error| Failure::new(message::cannot_read(input_name(path))).because(&error);
    let metadata = fs::metadata(path).map_err(cannot_read)?;
    if metadata.is_dir() {
        // That one may not look into it is an error, unlike what lies deeper.
        let entries = entries(path).map_err(cannot_read)?;
        below(entries, unpacker);
        return Ok(());
    }
    let file = File::open(path).map_err(cannot_read)?;
    let name = path.display().to_string();
    if metadata.is_file() {
        unpacker.file(&name, file);
    } else {
        unpacker.stream(&name, file);
    }
    Ok(())
}

/// Reads all files among and below what lies in a folder, in the order of their names. Links are not followed.
fn below(entries: Vec<PathBuf>, unpacker: &mut Unpacker<'_>) {
    let mut waiting = entries;
    // The last one is taken first.
    waiting.reverse();
    while let Some(path) = waiting.pop() {
        let name = path.display().to_string();
        if unpacker.is_full() {
            return;
        }
        match look(&path) {
            Ok(Found::File(file)) => unpacker.file(&name, file),
            Ok(Found::Folder(mut entries)) if unpacker.folder(&name) => {
                entries.reverse();
                waiting.extend(entries);
            }
            Ok(Found::Folder(_) | Found::Other) => {}
            Err(error) => unpacker.refused(&name, Problem::Broken(error.to_string())),
        }
    }
}

enum Found {
    File(File),
    /// What lies in it, by name.
    Folder(Vec<PathBuf>),
    /// A link, a device, a pipe.
    Other,
}

/// Returns what lies in a folder, by name.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries?;
    entries.sort();
    Ok(entries)
}

fn look(path: &Path) -> io::Result<Found> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_dir() {
        return Ok(Found::Folder(entries(path)?));
    }
    if !kind.is_file() {
        return Ok(Found::Other);
    }
    // Neither a link nor a pipe that came into its place meanwhile is followed or waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    let is_file = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) == FileType::RegularFile;
    Ok(if is_file { Found::File(file) } else { Found::Other })
}
