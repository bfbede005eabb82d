//! This machine, boxes of the lab and written trees, read into samples.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod cards;
mod driver;
mod hostile;
mod ordinary_user;
mod stuck;
mod support;
mod written_tree;
