//! `cargo xtask test`: the gate.

mod gate;
mod suite;

use anyhow::Result;

use crate::workspace::{Profile, Workspace};
use crate::{check, full, prerequisites};

/// Checks, builds, runs every test, and ends with one plain line; returns whether all is well.
///
/// # Errors
/// Fails when something that the tests need is missing or nothing can be built.
pub(crate) fn run(workspace: &Workspace, is_full: bool) -> Result<bool> {
    prerequisites::python_tools(workspace)?;
    let mut tally = check::run(workspace, &[])?;
    workspace.build(Profile::Development)?;
    tally += suite::run(workspace)?;
    tally += gate::run(workspace)?;
    if is_full {
        tally += full::run(workspace, tally)?;
    }
    println!("{tally}");
    Ok(tally.is_good())
}
