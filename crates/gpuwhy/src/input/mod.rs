//! Where an answer comes from: samples of this machine or of a recording, or texts of other tools.

pub(crate) mod live;
pub(crate) mod recorded;
pub(crate) mod texts;

use std::path::Path;

use gpuwhy_model::text::Arg;
use gpuwhy_render::message;

/// Returns whether a path stands for standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns how an input is called in a message.
pub(crate) fn input_name(path: &Path) -> Arg {
    if is_standard(path) { message::standard_input().into() } else { path.display().to_string().into() }
}

/// Returns how an output is called in a message.
pub(crate) fn output_name(path: &Path) -> Arg {
    if is_standard(path) { message::standard_output().into() } else { path.display().to_string().into() }
}
