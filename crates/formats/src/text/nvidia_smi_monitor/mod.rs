//! Output of `nvidia-smi dmon` and `nvidia-smi pmon`: one row for each card or process and look.

mod columns;
mod devices;
mod looks;
mod processes;

#[cfg(test)]
mod tests;

use super::{Block, Context, Remark, nvidia_scene};
use crate::paste::Line;

pub(super) use devices::read as read_devices;
pub(super) use processes::read as read_processes;
