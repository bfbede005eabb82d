//! The GPU processes with their trees, as deep as each look needs.

mod cgroups;
mod description;
mod effort;
mod holders;
mod index;
mod libraries;
mod limits;
mod ourselves;
mod seen;
mod suspicion;
mod table;
mod tree;

pub(crate) use description::People;
pub(crate) use holders::Holders;
pub(crate) use ourselves::Ourselves;
pub(crate) use table::{ProcessLook, Processes};
