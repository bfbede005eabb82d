//! `lab down`

use std::path::Path;

use anyhow::Context;
use gpuwhy_lab::place::{BoxDirectory, running};

/// Takes the box down; one whose keeper is gone is put back all the same.
pub(super) fn run(directory: &Path) -> anyhow::Result<()> {
    let directory =
        directory.canonicalize().with_context(|| format!("no box at `{}`", directory.display()))?;
    running::stop(&BoxDirectory::new(directory)).context("cannot take the box down")
}
