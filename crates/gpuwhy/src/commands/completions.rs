//! `gpuwhy completions SHELL`: what a shell needs to complete our command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output;

/// Prints completions.
///
/// # Errors
/// Fails when standard output cannot be written.
pub(crate) fn run(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "gpuwhy", &mut script);
    output::data(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
