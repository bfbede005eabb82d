//! Emulated boxes as this tool uses them: brought up for one purpose, gone when it is done.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use gpuwhy_lab::place::BoxDirectory;
use gpuwhy_lab::place::keeper::Status;
use gpuwhy_lab::place::plan::Plan;
use gpuwhy_lab::place::running::{self, Kept, Lifetime};

use crate::workspace::{Profile, Workspace};

/// Where boxes lie: on a real disk, and reachable for every user.
const BOXES: &str = "/var/tmp";

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

    /// Returns what came of bringing it up.
    pub(crate) fn status(&self) -> &Status {
        &self.kept.status
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
        if path.exists() {
            std::fs::remove_dir_all(path).with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
        Ok(())
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
fn fresh_path(name: &str) -> PathBuf {
    static BOXES_SO_FAR: AtomicU32 = AtomicU32::new(0);
    let number = BOXES_SO_FAR.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(BOXES).join(format!("gpuwhy-{name}-{}-{number}", std::process::id()))
}
