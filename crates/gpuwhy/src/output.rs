//! Standard output for data, standard error for talk.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd;

use gpuwhy_model::text::Text;
use gpuwhy_render::{Layout, Words, message};
use rustix::fs::{FileType, OFlags};

use crate::failure::{Failure, laid_out};

/// Columns where nothing says how wide the output is.
const WIDTH: usize = 80;

/// Writes data to standard output. A reader that went away is no failure.
///
/// # Errors
/// Fails when standard output cannot be written for any other reason.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(cannot_write(&error)),
    }
}

/// Returns the failure to write to standard output.
pub(crate) fn cannot_write(error: &io::Error) -> Failure {
    Failure::new(message::cannot_write(message::standard_output())).because(error)
}

/// Returns whether standard output was closed when the program began: the run-time has put something in its place,
/// which can be told from a `/dev/null` that a shell was asked for by its open mode.
pub(crate) fn is_closed() -> bool {
    let output = io::stdout();
    let (Ok(there), Ok(flags)) = (rustix::fs::fstat(&output), rustix::fs::fcntl_getfl(&output)) else {
        return true;
    };
    let is_null = FileType::from_raw_mode(there.st_mode) == FileType::CharacterDevice
        && there.st_rdev == rustix::fs::makedev(1, 3);
    is_null && flags.contains(OFlags::RDWR)
}

/// Writes to standard error; there is nobody to tell if that fails.
pub(crate) fn talk(text: &str) {
    let mut output = io::stderr().lock();
    let _ = output.write_all(text.as_bytes());
}

/// Writes a remark as a line of its own to standard error.
pub(crate) fn note(what: Text, words: &Words<'_>) {
    talk(&laid_out(&words.sentence(&message::note(what)), talk_width()));
}

/// Returns how wide standard error is; none where it is no terminal: what reads it wants whole lines.
pub(crate) fn talk_width() -> Option<usize> {
    width_of(io::stderr())
}

/// Returns whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns how the answer is laid out on standard output.
pub(crate) fn layout() -> Layout {
    let width = terminal_width().or_else(columns_variable).unwrap_or(WIDTH);
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    Layout { width, colour: is_terminal() && !is_dumb_terminal() && !is_set("NO_COLOR") }
}

/// Returns whether the terminal, if there is one, understands no escape codes.
pub(crate) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == OsStr::new("dumb"))
}

fn terminal_width() -> Option<usize> {
    width_of(io::stdout())
}

fn width_of(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

fn columns_variable() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}
