//! A box is a place: a directory, a private mount namespace, and the processes that live in it.

mod directory;

pub use directory::BoxDirectory;
