//! Emulated boxes as this tool uses them: brought up for one purpose, gone when it is done.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use gpuwhy_lab::place::plan::Plan;
use gpuwhy_lab::place::running::{self, Kept, Lifetime};
use gpuwhy_lab::place::{BoxDirectory, journal};

use crate::workspace::{Profile, Workspace};

/// Where boxes lie: on a real disk, and reachable for every user.
const BOXES: &str = "/var/tmp";

/// What the names of our boxes begin with; the process id of the tool follows.
const BOX_NAME: &str = "gpuwhy-box-";

/// A box that is up; it goes down when this is dropped, and also when this tool dies.
pub(crate) struct EmulatedBox {
    lab: PathBuf,
    directory: BoxDirectory,
    kept: Kept,
}

impl EmulatedBox {
    /// Brings a box up and waits until all its members are at work.
    ///
    /// # Errors
    /// Fails when the box does not come up; nothing is left behind then.
    pub(crate) fn up(workspace: &Workspace, profile: Profile, plan: &Plan) -> Result<Self> {
        let lab = workspace.program(profile, "lab");
        let directory = BoxDirectory::new(fresh_path(&plan.name));
        let kept = running::start(&lab, &directory, plan, Lifetime::WithStarter)
            .with_context(|| format!("the box `{}` did not come up", plan.name))?;
        Ok(Self { lab, directory, kept })
    }

    /// Returns the process that holds the box's namespace open.
    pub(crate) fn anchor(&self) -> u32 {
        self.kept.status.anchor
    }

    /// Returns the folder of the box.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a command that runs a program inside the box, as a user of the box or else as the caller.
    pub(crate) fn command(&self, user: Option<&str>, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(&self.lab);
        command.arg("shell").arg(self.directory.path());
        if let Some(user) = user {
            command.args(["--user", user]);
        }
        command.arg("--").arg(program).stdin(Stdio::null());
        command
    }

    /// Takes the box down and puts back what it changed on the machine.
    ///
    /// # Errors
    /// Fails when something cannot be put back.
    pub(crate) fn down(mut self) -> Result<()> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<()> {
        let path = self.directory.path();
        running::stop(&self.directory)
            .with_context(|| format!("the box at `{}` stays up", path.display()))?;
        self.kept.keeper.wait().context("cannot wait for the keeper of a box")?;
        remove(path)
    }
}

impl Drop for EmulatedBox {
    fn drop(&mut self) {
        if self.directory.path().exists()
            && let Err(error) = self.take_down()
        {
            println!("{error:#}");
        }
    }
}

/// Returns a path for a box that no other run of this tool uses.
pub(crate) fn fresh_path(name: &str) -> PathBuf {
    static BOXES_SO_FAR: AtomicU32 = AtomicU32::new(0);
    let number = BOXES_SO_FAR.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(BOXES).join(format!("{BOX_NAME}{}-{number}-{name}", std::process::id()))
}

/// Removes the folder of a box that is down.
///
/// # Errors
/// Fails when a file cannot be removed.
pub(crate) fn remove(path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    std::fs::remove_dir_all(path).with_context(|| format!("cannot remove `{}`", path.display()))
}

/// Puts back what boxes of earlier runs left changed on the machine, and removes their folders.
///
/// # Errors
/// Fails when something cannot be put back or removed.
pub(crate) fn clear_left_over() -> Result<()> {
    journal::undo_abandoned().context("cannot clear boxes of earlier runs")?;
    for entry in Path::new(BOXES).read_dir().with_context(|| format!("cannot list `{BOXES}`"))? {
        let path = entry.with_context(|| format!("cannot list `{BOXES}`"))?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let Some(owner) = owner_of(name) else {
            continue;
        };
        if !Path::new("/proc").join(owner).exists() {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Returns the process id in the name of one of our boxes.
fn owner_of(name: &str) -> Option<&str> {
    let (owner, _) = name.strip_prefix(BOX_NAME)?.split_once('-')?;
    (!owner.is_empty() && owner.bytes().all(|byte| byte.is_ascii_digit())).then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::{fresh_path, owner_of};

    #[test]
    fn a_box_tells_whose_it_is() {
        let path = fresh_path("idle-reserved.near-worked");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(owner_of(name), Some(std::process::id().to_string().as_str()));
        assert_ne!(path, fresh_path("idle-reserved.near-worked"));
    }

    #[test]
    fn other_folders_are_nobodys() {
        assert_eq!(owner_of("systemd-private-12-x"), None);
        assert_eq!(owner_of("gpuwhy-box--x"), None);
        assert_eq!(owner_of("gpuwhy-box-..-x"), None);
    }
}
