//! What a box changed on the machine, written down before it is changed, so that it can always be put back.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::BoxDirectory;
use super::process::{ProcessIdentity, end_all_in};
use crate::state::State;

/// One thing to put back, or one to know when putting back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// The process that watches over the box.
    Keeper(ProcessIdentity),
    /// The mount namespace of the box; everything in it belongs to the box.
    Namespace(PathBuf),
    /// A kernel setting and what it was.
    Setting {
        /// File of the setting.
        file: PathBuf,
        /// Its content before the first box changed it.
        before: String,
    },
    /// A controller that was switched on for the groups below a control group.
    Controller {
        /// The `cgroup.subtree_control` of the group.
        switch: PathBuf,
        /// The controller's name.
        name: String,
    },
    /// A control group that was made.
    ControlGroup(PathBuf),
    /// A folder outside of the box directory.
    Folder(PathBuf),
}

/// Why something could not be written down or put back.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal or the register of boxes cannot be used.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Processes of the box do not die.
    #[error("processes of the box do not end: {0:?}")]
    Immortal(Vec<u32>),
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { path, source }
}

/// Appends to the journal of one box.
#[derive(Debug)]
pub struct Journal {
    directory: BoxDirectory,
    file: File,
}

impl Journal {
    /// Starts the journal of a box that the calling process keeps, and enters the box into the register, so that
    /// the next start finds it.
    ///
    /// # Errors
    /// Fails when the journal or the register cannot be written.
    pub fn begin(directory: &BoxDirectory) -> Result<Self, JournalError> {
        let path = directory.journal();
        let file = File::options().create(true).append(true).open(&path).map_err(failed(&path))?;
        let mut journal = Self { directory: directory.clone(), file };
        // A registered box without a living keeper counts as abandoned, so the keeper is written down first.
        if let Some(ourselves) = ProcessIdentity::of(std::process::id()) {
            journal.note(&Entry::Keeper(ourselves))?;
        }
        let register = register_folder();
        fs::create_dir_all(&register).map_err(failed(&register))?;
        let mark = register_mark(directory);
        fs::write(&mark, directory.path().as_os_str().as_encoded_bytes()).map_err(failed(&mark))?;
        Ok(journal)
    }

    /// Writes `entry` down; it is on disk when this returns.
    ///
    /// # Errors
    /// Fails when the journal cannot be written.
    pub fn note(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let path = self.directory.journal();
        let mut line = serde_json::to_string(entry).map_err(io::Error::from).map_err(failed(&path))?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed(&path))
    }

    /// Changes a kernel setting for the time that the box is up.
    ///
    /// # Errors
    /// Fails when the setting cannot be read or written, or not be written down.
    pub fn change_setting(&mut self, file: &Path, value: &str) -> Result<(), JournalError> {
        let now = fs::read_to_string(file).map_err(failed(file))?.trim().to_owned();
        let original = other_claims(&self.directory, file).into_iter().next().unwrap_or(now);
        self.note(&Entry::Setting { file: file.to_owned(), before: original })?;
        fs::write(file, value).map_err(failed(file))
    }

    /// Switches a controller on for the time that the box is up, unless it is on.
    ///
    /// # Errors
    /// Fails when the switch cannot be read or written, or not be written down.
    pub fn switch_controller_on(&mut self, switch: &Path, name: &str) -> Result<(), JournalError> {
        let on = fs::read_to_string(switch).map_err(failed(switch))?;
        if on.split_whitespace().any(|already| already == name) {
            return Ok(());
        }
        self.note(&Entry::Controller { switch: switch.to_owned(), name: name.to_owned() })?;
        fs::write(switch, format!("+{name}")).map_err(failed(switch))
    }

    /// Makes a control group for the time that the box is up.
    ///
    /// # Errors
    /// Fails when the group cannot be made or not be written down.
    pub fn make_control_group(&mut self, path: &Path) -> Result<(), JournalError> {
        self.note(&Entry::ControlGroup(path.to_owned()))?;
        match fs::create_dir(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(path)(error)),
            _ => Ok(()),
        }
    }

    /// Makes a folder of the box in memory, so that what is written there never waits for a disk.
    ///
    /// Without `/dev/shm` it is an ordinary folder.
    ///
    /// # Errors
    /// Fails when the folder cannot be made or not be written down.
    pub fn make_folder_in_memory(&mut self, folder: &Path) -> Result<(), JournalError> {
        let name = self.directory.path().to_string_lossy().replace('/', "-");
        let last = folder.file_name().unwrap_or_default().to_string_lossy();
        let target = Path::new("/dev/shm").join(format!("gpuwhy-lab{name}-{last}-{}", std::process::id()));
        // An earlier box may have lain here.
        if folder.is_symlink() {
            fs::remove_file(folder).map_err(failed(folder))?;
        } else if folder.is_dir() {
            fs::remove_dir_all(folder).map_err(failed(folder))?;
        }
        self.note(&Entry::Folder(target.clone()))?;
        if fs::create_dir(&target).is_err() {
            return fs::create_dir_all(folder).map_err(failed(folder));
        }
        symlink(&target, folder).map_err(failed(folder))
    }
}

/// The entries of a box's journal; none when there is no journal. A line cut by a crash is left out.
pub fn entries(directory: &BoxDirectory) -> Vec<Entry> {
    let text = fs::read_to_string(directory.journal()).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Whether the keeper of a box is running.
pub fn is_kept(directory: &BoxDirectory) -> bool {
    entries(directory).iter().any(|entry| matches!(entry, Entry::Keeper(keeper) if keeper.is_alive()))
}

/// What other running boxes say that the setting `file` was.
fn other_claims(directory: &BoxDirectory, file: &Path) -> Vec<String> {
    let mut claims = Vec::new();
    for other in known_boxes() {
        if other == *directory || !is_kept(&other) {
            continue;
        }
        for entry in entries(&other) {
            if let Entry::Setting { file: claimed, before } = entry
                && claimed == file
            {
                claims.push(before);
            }
        }
    }
    claims
}

/// Ends everything that belongs to a box and puts back what it changed; harmless when nothing is left to do.
///
/// # Errors
/// Fails when processes do not end within ten seconds, or a change cannot be put back. The journal then stays.
pub fn undo(directory: &BoxDirectory) -> Result<(), JournalError> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let entries = entries(directory);
    for entry in &entries {
        if let Entry::Namespace(namespace) = entry {
            let immortal = end_all_in(namespace, PATIENCE);
            if !immortal.is_empty() {
                return Err(JournalError::Immortal(immortal));
            }
        }
    }
    let mut settings = BTreeMap::new();
    for entry in &entries {
        match entry {
            Entry::Setting { file, before } => {
                settings.entry(file).or_insert(before);
            }
            Entry::Folder(path) => match fs::remove_dir_all(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(path)(error)),
                _ => {}
            },
            Entry::Keeper(_) | Entry::Namespace(_) | Entry::Controller { .. } | Entry::ControlGroup(_) => {}
        }
    }
    // A group goes before the one above it.
    for entry in entries.iter().rev() {
        if let Entry::ControlGroup(path) = entry {
            remove_control_group(path)?;
        }
    }
    for entry in &entries {
        if let Entry::Controller { switch, name } = entry {
            // It stays on where somebody else has come to need it.
            let _ = fs::write(switch, format!("-{name}"));
        }
    }
    for (file, before) in settings {
        if other_claims(directory, file).is_empty() {
            fs::write(file, before).map_err(failed(file))?;
        }
    }
    let state = directory.state_file();
    State::remove(directory).map_err(io::Error::other).map_err(failed(&state))?;
    for path in [directory.journal(), register_mark(directory)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Removes a group whose last process may still be on its way out.
fn remove_control_group(path: &Path) -> Result<(), JournalError> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() >= deadline => return Err(failed(path)(error)),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Puts back what boxes left behind whose keeper is gone.
///
/// # Errors
/// Fails like [`undo`]; boxes that could be undone are undone all the same.
pub fn undo_abandoned() -> Result<Vec<BoxDirectory>, JournalError> {
    let mut undone = Vec::new();
    let mut trouble = Ok(());
    for directory in known_boxes() {
        if is_kept(&directory) {
            continue;
        }
        match undo(&directory) {
            Ok(()) => undone.push(directory),
            Err(error) => trouble = Err(error),
        }
    }
    trouble.map(|()| undone)
}

/// Every box in the register, running or abandoned, in order of its mark.
pub fn known_boxes() -> Vec<BoxDirectory> {
    let Ok(marks) = fs::read_dir(register_folder()) else { return Vec::new() };
    let mut boxes: Vec<PathBuf> =
        marks.filter_map(|mark| fs::read_to_string(mark.ok()?.path()).ok()).map(PathBuf::from).collect();
    boxes.sort();
    boxes.into_iter().map(BoxDirectory::new).collect()
}

/// Where this user's boxes are registered.
fn register_folder() -> PathBuf {
    let user = rustix::process::getuid();
    if user.is_root() {
        return PathBuf::from("/run/gpuwhy-lab");
    }
    std::env::temp_dir().join(format!("gpuwhy-lab-register-{}", user.as_raw()))
}

fn register_mark(directory: &BoxDirectory) -> PathBuf {
    let name: String = directory
        .path()
        .to_string_lossy()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    register_folder().join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_a_cut_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(folder.path());
        let group = Entry::ControlGroup("/sys/fs/cgroup/cpu/x".into());
        let text = format!("{}\n{{\"setting\":{{\"fi", serde_json::to_string(&group).unwrap());
        fs::write(directory.journal(), text).unwrap();
        assert_eq!(entries(&directory), vec![group]);
    }
}
