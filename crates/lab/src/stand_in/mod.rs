//! Programs that a box puts in the place of the driver's and the system's: our own binary under their names.
//!
//! They answer from the box, need what the real ones need, and every call is written down in the box.

mod library;
mod lspci;
mod nvidia_smi;
mod record;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::board::BoxDirectory;

pub use record::{Call, calls, record};

/// The folder of a box that holds them.
const FOLDER: &str = "tools";

/// The names under which they stand in.
const NAMES: [&str; 2] = ["nvidia-smi", "lspci"];

/// What a stand-in says, and how it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Standard output.
    pub output: String,
    /// Exit code.
    pub code: u8,
}

impl Said {
    fn output(text: String) -> Self {
        Self { output: text, code: 0 }
    }

    fn failure(code: u8, text: impl Into<String>) -> Self {
        Self { output: text.into(), code }
    }
}

impl BoxDirectory {
    /// The folder of the stand-ins, which comes first in the search path of everybody in the box.
    pub fn tools(&self) -> PathBuf {
        self.path().join(FOLDER)
    }
}

/// The names under which our own binary is to be installed in [`BoxDirectory::tools`].
pub fn names() -> &'static [&'static str] {
    &NAMES
}

/// A search path with the stand-ins of a box before everything else.
pub fn search_path(directory: &BoxDirectory, rest: &str) -> String {
    format!("{}:{rest}", directory.tools().display())
}

/// Answers as a stand-in if this process was started as one.
pub fn answer() -> Option<ExitCode> {
    let program = std::env::current_exe().ok()?;
    let directory = box_of(&program)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let said = say(&directory, program.file_name()?.to_str()?, &arguments)?;
    // A reader that has gone wants to hear no more.
    let _ = std::io::stdout().write_all(said.output.as_bytes());
    Some(ExitCode::from(said.code))
}

/// What the stand-in called `name` says in a box, and writes the call down; nothing for other names.
pub fn say(directory: &BoxDirectory, name: &str, arguments: &[String]) -> Option<Said> {
    let said = match name {
        "nvidia-smi" => nvidia_smi::answer(directory, arguments),
        "lspci" => lspci::answer(directory, arguments),
        _ => return None,
    };
    let mut command = vec![name.to_owned()];
    command.extend_from_slice(arguments);
    record(directory, &command, i64::from(said.code));
    Some(said)
}

/// The box of a program in its folder of stand-ins.
fn box_of(program: &Path) -> Option<BoxDirectory> {
    let folder = program.parent()?;
    (folder.file_name()? == FOLDER).then(|| folder.parent().map(BoxDirectory::new)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_knows_its_box_and_nothing_else_is_one() {
        let directory = BoxDirectory::new("/run/box");
        assert_eq!(box_of(&directory.tools().join("lspci")), Some(directory));
        assert_eq!(box_of(Path::new("/usr/bin/lspci")), None);
    }
}
