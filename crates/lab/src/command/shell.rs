//! `lab shell`

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use gpuwhy_lab::place::{BoxDirectory, running};

/// Arguments of `lab shell`.
#[derive(Args)]
pub(super) struct Shell {
    /// The box directory.
    directory: PathBuf,
    /// Runs the command as this user of the box instead of the caller.
    #[arg(long)]
    user: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

impl Shell {
    /// Becomes the command, inside the box.
    pub(super) fn run(self) -> anyhow::Result<()> {
        let directory = self
            .directory
            .canonicalize()
            .with_context(|| format!("no box at `{}`", self.directory.display()))?;
        let launch = running::visit(&BoxDirectory::new(directory), self.user.as_deref(), self.command)?;
        Err(launch.become_it().into())
    }
}
