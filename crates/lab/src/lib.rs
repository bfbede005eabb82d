//! An emulated GPU box: everything except the silicon is real.

pub mod place;
