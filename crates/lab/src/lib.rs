//! An emulated GPU box: everything except the silicon is real.

pub mod board;
pub mod cards;
pub mod client;
pub mod place;
pub mod random;
pub mod scenario;
pub mod stand_in;
pub mod state;
pub mod workloads;
