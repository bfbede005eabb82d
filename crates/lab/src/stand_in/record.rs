//! The list of calls that would change a card, or of programs that stand in.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::board::BoxDirectory;
use crate::state::Clock;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// When, on the monotonic clock.
    pub at: u64,
    /// Whose process called.
    pub user: u32,
    /// The process.
    pub process: u32,
    /// Program or function, and its arguments.
    pub command: Vec<String>,
    /// How it ended: 0 for well.
    pub code: i64,
}

impl BoxDirectory {
    /// The list of calls (JSON lines).
    fn calls(&self) -> PathBuf {
        self.path().join("calls")
    }

    /// Makes an empty list of calls that everybody in the box may add to.
    ///
    /// # Errors
    /// Fails when it cannot be written.
    pub fn begin_calls(&self) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.calls();
        std::fs::write(&path, "")?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))
    }
}

/// Adds a call to the list of the box; a box without a list keeps none.
pub fn record(directory: &BoxDirectory, command: &[String], code: i64) {
    let call = Call {
        at: Clock::now(),
        user: rustix::process::geteuid().as_raw(),
        process: std::process::id(),
        command: command.to_vec(),
        code,
    };
    let Ok(mut line) = serde_json::to_vec(&call) else { return };
    line.push(b'\n');
    if let Ok(mut list) = File::options().append(true).open(directory.calls()) {
        // One write per line keeps lines of several processes apart; a full disk loses the line only.
        let _ = list.write_all(&line);
    }
}

/// The calls of a box, oldest first.
///
/// # Errors
/// Fails when the list cannot be read.
pub fn calls(directory: &BoxDirectory) -> std::io::Result<Vec<Call>> {
    let text = std::fs::read_to_string(directory.calls())?;
    text.lines().map(|line| serde_json::from_str(line).map_err(std::io::Error::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_kept_in_their_order() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(temporary.path());
        record(&directory, &["nvidia-smi".to_owned()], 0);
        assert!(calls(&directory).is_err(), "a box without a list keeps none");
        directory.begin_calls().unwrap();
        record(&directory, &["nvidia-smi".to_owned(), "-r".to_owned()], 255);
        record(&directory, &["lspci".to_owned()], 0);
        let found = calls(&directory).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].command.join(" "), found[0].code), ("nvidia-smi -r".to_owned(), 255));
    }
}
