//! A box is a place: a directory, a private mount namespace, and the processes that live in it.

mod directory;
pub mod journal;
pub mod namespace;
pub mod process;
pub mod store;
pub mod users;

pub use directory::BoxDirectory;
