//! Why a box could not be brought up or taken down.

use std::io;
use std::path::PathBuf;

use super::control_group::LimitError;
use super::journal::JournalError;
use super::landscape::LandscapeError;
use super::programs::InstallError;
use crate::board::BoardError;
use crate::state::StateError;

/// Why a box could not be brought up or taken down.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A file of the box cannot be used.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The board is impossible.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The shared state cannot be made or removed.
    #[error(transparent)]
    State(#[from] StateError),
    /// Changes to the machine cannot be written down or put back.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The landscape cannot be written.
    #[error(transparent)]
    Landscape(#[from] LandscapeError),
    /// The programs cannot be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A member cannot be held to a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A helper did not become ready.
    #[error("the helper `{kind}` did not become ready: {said}")]
    Helper {
        /// Which helper.
        kind: String,
        /// What it said.
        said: String,
    },
    /// A member belongs to somebody unknown.
    #[error("no user `{name}` in the box")]
    NoSuchUser {
        /// The unknown name.
        name: String,
    },
    /// A member takes too long.
    #[error("the member `{member}` is not ready: {said}")]
    NotReady {
        /// Which member.
        member: String,
        /// What it said.
        said: String,
    },
    /// A member ended before it was ready.
    #[error("the member `{member}` ended: {said}")]
    Ended {
        /// Which member.
        member: String,
        /// What it said.
        said: String,
    },
    /// A box is up there already.
    #[error("a box is up at `{}` already", path.display())]
    AlreadyUp {
        /// The box directory.
        path: PathBuf,
    },
    /// The keeper does not take the box down.
    #[error("the box at `{}` does not go down", path.display())]
    StaysUp {
        /// The box directory.
        path: PathBuf,
    },
    /// The keeper cannot wait for its orders.
    #[error("cannot watch over the box")]
    Watch(#[source] io::Error),
}
