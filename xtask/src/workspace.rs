//! The workspace that this tool works on: where it lies, and how commands are run in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The root folder of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

/// Which of cargo's two ready-made profiles a program is built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quick to build.
    Development,
    /// What a user gets.
    Release,
}

impl Workspace {
    /// Returns the workspace that this tool was built from.
    pub(crate) fn of_this_tool() -> Result<Self> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = package.parent().context("xtask lies in no workspace")?.to_owned();
        Ok(Self { root })
    }

    /// Returns the path of a file or folder that is given relative to the root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Returns a path as seen from the root, with `/` between its parts.
    pub(crate) fn relative<'path>(&self, path: &'path Path) -> &'path Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Returns the folder of everything that is built.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.path("target"), PathBuf::from)
    }

    /// Returns the path of a built program of a profile.
    pub(crate) fn program(&self, profile: Profile, name: &str) -> PathBuf {
        let folder = match profile {
            Profile::Development => "debug",
            Profile::Release => "release",
        };
        self.target().join(folder).join(name)
    }

    /// Returns a command that runs in the root and reads nothing.
    pub(crate) fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// Returns the cargo that started this tool.
    pub(crate) fn cargo(&self) -> Command {
        self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// Builds what is needed to run gpuwhy in an emulated box: for development everything, so that tests reuse it; for
    /// release only the programs themselves.
    ///
    /// # Errors
    /// Fails when something does not compile.
    pub(crate) fn build(&self, profile: Profile) -> Result<()> {
        let mut command = self.cargo();
        command.arg("build");
        match profile {
            Profile::Development => command.arg("--workspace"),
            Profile::Release => {
                command.args(["--release", "-p", "gpuwhy", "-p", "gpuwhy-lab", "-p", "gpuwhy-lab-nvml"])
            }
        };
        succeed(&mut command)
    }
}

/// Runs a command with its output passed through.
///
/// # Errors
/// Fails when it cannot be started or ends with anything but 0.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", words(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", words(command));
    }
    Ok(())
}

/// Runs a command and returns what it wrote to stdout; stderr is passed through.
///
/// # Errors
/// Fails when it cannot be started, ends with anything but 0 or writes no UTF-8.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", words(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}", words(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote no UTF-8", words(command)))
}

fn words(command: &Command) -> String {
    let mut words = format!("`{}", Path::new(command.get_program()).display());
    for argument in command.get_args() {
        words.push(' ');
        words.push_str(&argument.to_string_lossy());
    }
    words.push('`');
    words
}
