//! This machine, read into Samples.
//!
//! Every reader takes the root below which it reads, leaves the understanding of texts to `gpuwhy-formats`, and never
//! turns "cannot read" into a number.

mod clock;
mod file;
mod host;
mod kernel_log;
mod look;
mod machine;
pub mod nvml;
mod observer;
mod proc;
mod processes;
mod roots;

pub use look::{Look, Progress, look};
pub use observer::{Depth, Observer, Options};
pub use roots::Roots;
