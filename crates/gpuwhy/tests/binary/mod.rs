//! Our binary, as tests call it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Returns our binary, in English, with no settings of this machine, looking at a machine without anything.
pub(crate) fn gpuwhy(empty: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuwhy"));
    command.env_clear().env("LC_ALL", "C").env("XDG_CONFIG_HOME", empty).stdin(Stdio::null());
    command
}

/// Runs a command to its end; returns its exit code, output and errors.
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    read(command.output().expect("our binary starts"))
}

/// Returns the exit code, output and errors of a command that has ended.
pub(crate) fn read(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("all output is UTF-8");
    (output.status.code().expect("no signal ends it"), text(output.stdout), text(output.stderr))
}
