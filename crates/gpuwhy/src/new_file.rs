//! A file that takes its name only when it is whole: nothing is written through a link, into a device, or over what
//! belongs to somebody else.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use gpuwhy_model::text::Text;
use gpuwhy_render::message;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::failure::Failure;

/// How many names are tried for the file until it is whole.
const NAMES_TRIED: u32 = 100;

/// A file under a name of its own, beside the one that it will have.
pub(crate) struct NewFile {
    path: PathBuf,
    folder: OwnedFd,
    name: OsString,
    name_until_whole: OsString,
    file: File,
    replaces: bool,
    is_settled: bool,
}

impl NewFile {
    /// Makes a file that only its owner can read.
    ///
    /// # Errors
    /// Fails when the folder cannot be written, or when something stands under the name that is no regular file of
    /// the caller.
    pub(crate) fn begin(path: &Path) -> Result<Self, Failure> {
        let cannot = |error: Errno| cannot_write(path).because(&io::Error::from(error));
        let Some(name) = path.file_name() else {
            return Err(cannot_write(path).because_of(message::not_a_regular_file()));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, parent.unwrap_or(Path::new(".")), flags, Mode::empty());
        let folder = folder.map_err(cannot)?;
        let replaces = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => {
                let kind = FileType::from_raw_mode(there.st_mode);
                if let Some(why) = refusal(kind, there.st_uid, rustix::process::geteuid().as_raw()) {
                    return Err(cannot_write(path).because_of(why));
                }
                true
            }
            Err(Errno::NOENT) => false,
            Err(error) => return Err(cannot(error)),
        };
        let (name_until_whole, file) = create_beside(&folder, name).map_err(cannot)?;
        let (path, name) = (path.to_owned(), name.to_owned());
        Ok(Self { path, folder, name, name_until_whole, file, replaces, is_settled: false })
    }

    /// Returns another handle to write to the file.
    ///
    /// # Errors
    /// Fails when there are too many open files.
    pub(crate) fn handle(&self) -> Result<File, Failure> {
        self.file.try_clone().map_err(|error| cannot_write(&self.path).because(&error))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Fails when the disk has not taken everything, or when somebody else has made a file of this name meanwhile;
    /// the file stays where it is then.
    pub(crate) fn settle(mut self) -> Result<(), Failure> {
        let settled = self.file.sync_all().and_then(|()| Ok(self.rename()?));
        let kept = self.leave();
        settled.map_err(|error| {
            cannot_write(&self.path).because(&error).hint(message::hint_kept(kept.display().to_string()))
        })
    }

    /// Leaves the file as it is, and returns its path.
    pub(crate) fn leave(&mut self) -> PathBuf {
        self.is_settled = true;
        self.path.with_file_name(&self.name_until_whole)
    }

    fn rename(&self) -> Result<(), Errno> {
        let plainly = || rustix::fs::renameat(&self.folder, &self.name_until_whole, &self.folder, &self.name);
        if self.replaces {
            return plainly();
        }
        let (old, new, flags) = (&self.name_until_whole, &self.name, RenameFlags::NOREPLACE);
        match rustix::fs::renameat_with(&self.folder, old, &self.folder, new, flags) {
            // Not every file system knows how.
            Err(Errno::INVAL | Errno::NOSYS) => plainly(),
            done => done,
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_settled {
            // What holds nothing is of no use; there is nobody to tell if it cannot be removed.
            let _ = rustix::fs::unlinkat(&self.folder, &self.name_until_whole, AtFlags::empty());
        }
    }
}

/// Returns why something of this kind and owner must not be replaced.
fn refusal(kind: FileType, owner: u32, caller: u32) -> Option<Text> {
    match kind {
        FileType::Symlink => Some(message::a_symbolic_link()),
        FileType::RegularFile if owner == caller => None,
        FileType::RegularFile => Some(message::belongs_to_another()),
        _ => Some(message::not_a_regular_file()),
    }
}

/// Makes a file that was not there before.
fn create_beside(folder: &OwnedFd, name: &OsStr) -> Result<(OsString, File), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Root sees everybody's arguments; who may read them later is for root to decide.
    let mode = Mode::RUSR | Mode::WUSR;
    let mut last = Errno::EXIST;
    for number in 0..NAMES_TRIED {
        let mut beside = name.to_owned();
        beside.push(format!(".{}-{number}.part", std::process::id()));
        match rustix::fs::openat(folder, &beside, flags, mode) {
            Ok(file) => return Ok((beside, File::from(file))),
            Err(Errno::EXIST) => last = Errno::EXIST,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn cannot_write(path: &Path) -> Failure {
    Failure::new(message::cannot_write(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::path::Path;

    use rustix::fs::FileType;

    use super::{NewFile, refusal};

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_takes_its_name_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let new = NewFile::begin(&path).unwrap();
        new.handle().unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        new.settle().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["a.zst"]);
    }

    #[test]
    fn a_file_that_was_given_up_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        drop(NewFile::begin(&path).unwrap());
        assert!(names(folder.path()).is_empty());
        let kept = NewFile::begin(&path).unwrap().leave();
        assert_eq!(kept.parent(), Some(folder.path()));
        assert_eq!(names(folder.path()), [kept.file_name().unwrap().to_str().unwrap()]);
    }

    #[test]
    fn nothing_goes_through_a_link_into_a_folder_or_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let link = folder.path().join("link");
        symlink(&victim, &link).unwrap();
        let dangling = folder.path().join("dangling");
        symlink(folder.path().join("nowhere"), &dangling).unwrap();
        let before = names(folder.path());
        for path in [link.as_path(), &dangling, folder.path(), Path::new("/dev/null"), Path::new("/")] {
            assert!(NewFile::begin(path).is_err(), "{}", path.display());
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(names(folder.path()), before);
    }

    #[test]
    fn what_belongs_to_another_stays() {
        assert_eq!(refusal(FileType::RegularFile, 1000, 1000), None);
        // Root is no exception: whoever owns the file could read what root sees.
        assert!(refusal(FileType::RegularFile, 1000, 0).is_some());
        assert!(refusal(FileType::RegularFile, 0, 1000).is_some());
        assert!(refusal(FileType::Fifo, 0, 0).is_some());
    }

    #[test]
    fn what_came_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        let new = NewFile::begin(&path).unwrap();
        fs::write(&path, "of another").unwrap();
        assert!(new.settle().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"of another");
        assert_eq!(names(folder.path()).len(), 2, "what was written is kept");
    }
}
