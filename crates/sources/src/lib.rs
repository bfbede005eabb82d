//! This machine, read into Samples.
//!
//! Every reader takes the root below which it reads, leaves the understanding of texts to `gpuwhy-formats`, and never
//! turns "cannot read" into a number.

mod clock;
mod file;
mod footprint;
mod host;
mod kernel_log;
mod look;
mod machine;
mod meter;
pub mod nvml;
mod observer;
mod other_cards;
mod proc;
mod processes;
mod roots;

pub use footprint::Footprint;
pub use look::{Look, Progress, look};
pub use meter::{Cost, Part};
pub use observer::{Depth, Observer, Options};
pub use roots::Roots;
