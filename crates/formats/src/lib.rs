//! Text of other tools, of `/proc` and of sysfs, turned into Samples and Scene parts; the recording.
//!
//! Every parser takes bytes or text that somebody else has read, and never guesses a value that was not there.

mod malformed;

pub mod kernel_log;
pub mod proc;
pub mod recording;

pub use malformed::Malformed;
