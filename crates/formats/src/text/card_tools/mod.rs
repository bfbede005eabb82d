//! Tools beside `nvidia-smi` that list cards and who uses them: of other makers, and for all makers.

mod gpustat;
mod looks;
mod nvitop;
mod nvtop;
mod rows;
mod value;

pub(super) use gpustat::read as gpustat;
pub(super) use nvitop::read as nvitop;
pub(super) use nvtop::read as nvtop;
pub(super) use rows::read as rows;

use super::{Block, Context, Remark, json_document, nvidia_scene};
