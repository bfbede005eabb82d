//! The board file: which cards a box has, which driver answers for them, and what is broken.
//!
//! [`BoardFile`] is the text (TOML, unknown keys refused); [`Board`] is what it means once profiles and
//! defaults are filled in.

mod card;
mod directory;
mod event;
mod fabric;
mod fault;
mod file;
mod instance;
mod library;
mod profile;
mod setting;
mod timeline;

use std::path::PathBuf;

pub use card::Card;
pub use directory::BoxDirectory;
pub use event::BoardEvent;
pub use fabric::{Fabric, FabricManager, LinkPeer};
pub use fault::{Fault, Hang};
pub use file::{Board, BoardFile, Driver, KernelModule};
pub use instance::Instance;
pub use library::{LibraryError, install_library};
pub use profile::{
    Architecture, Brand, ClockProfile, Ecc, HeatProfile, LinkProfile, NvLinkProfile, PowerProfile, Profile,
    StateProfile,
};
pub use setting::{
    CardSetting, EccSetting, ErrorCounts, FabricSetting, FabricState, FailedFan, MigSetting, NvLinkSetting,
    PcieErrors, RepairSetting,
};
pub use timeline::Phase;

/// Why a board file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// The file could not be read.
    #[error("cannot read board `{}`", path.display())]
    Read {
        /// The board file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The text is not a board.
    #[error("board `{}` is not valid", path.display())]
    Syntax {
        /// The board file.
        path: PathBuf,
        /// What the parser said.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The board cannot be written as TOML.
    #[error("board cannot be written as toml")]
    Write(#[source] Box<toml::ser::Error>),
    /// The profiles inside the crate are broken.
    #[error("the lab's own card profiles are not valid")]
    Profiles {
        /// What the parser said.
        #[source]
        source: toml::de::Error,
    },
    /// A card names a product that the lab does not have.
    #[error("no card profile `{name}`; known profiles: {known}")]
    UnknownProfile {
        /// The name that was asked for.
        name: String,
        /// All names, comma separated.
        known: String,
    },
    /// A value is outside of what a real board can have.
    #[error("board: {what}")]
    Impossible {
        /// What is impossible, in words.
        what: String,
    },
}
