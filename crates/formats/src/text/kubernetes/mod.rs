//! What Kubernetes and its tools print: tables, descriptions, objects, events, logs of what offers cards.

mod columns;
mod describe;
mod event;
mod event_row;
mod log;
mod node;
mod objects;
mod picture;
mod pod;
mod quantity;
mod reasons;
mod refused;
mod resources;
mod table;

pub(super) use columns::Columns;
pub(super) use describe::read as read_describe;
pub(super) use log::read as read_log;
pub(super) use objects::{json_of_lines, read as read_objects};
pub(super) use table::read as read_table;
