//! A box is a place: a directory, a private mount namespace, and the processes that live in it.

pub mod ability;
mod announcement;
mod container;
pub mod control_group;
pub mod data_set;
mod directory;
mod enlist;
mod error;
pub mod journal;
pub mod keeper;
pub mod landscape;
pub mod launch;
pub mod namespace;
mod pci;
pub mod plan;
pub mod process;
pub mod programs;
pub mod running;
pub mod server;
pub mod shortage;
pub mod store;
mod substitute;
mod timeline;
pub mod users;

pub use crate::board::BoxDirectory;
pub use error::PlaceError;
