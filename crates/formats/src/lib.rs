//! Text of other tools, of `/proc` and of sysfs, turned into Samples and Scene parts; the recording.
//!
//! Every parser takes bytes or text that somebody else has read, and never guesses a value that was not there.

mod decoding;
mod fabric_manager;
mod format;
mod malformed;
mod nvidia_cell;
mod tree;

pub mod kernel_log;
pub mod nvidia_smi_xml;
pub mod paste;
pub mod proc;
pub mod recording;
pub mod sys;
pub mod text;
pub mod trace;
pub mod unpack;

pub use decoding::decoded;
pub use fabric_manager::fabric_manager_version;
pub use format::{Format, FormatError, recognise};
pub use malformed::Malformed;
