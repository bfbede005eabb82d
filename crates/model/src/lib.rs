//! The words every part of gpuwhy shares: readings, samples, scenes, findings, verdicts.
//!
//! The crate is pure: it reads no file, no clock and no environment.

pub mod action;
pub mod cause;
mod closed_list;
pub mod command_line;
pub mod evidence;
pub mod input;
pub mod limits;
pub mod pci;
pub mod process;
pub mod reading;
pub mod redaction;
pub mod report;
pub mod sample;
pub mod scene;
pub mod signal;
pub mod text;
pub mod trend;
pub mod units;
pub mod verdict;
pub mod window;
