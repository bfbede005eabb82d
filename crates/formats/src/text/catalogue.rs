//! The formats that are looked for in a paste, in the order in which they are asked.
//!
//! A format that is sure by its first line comes before one that reads anything that looks like a table or a log.

use super::TextFormat;

pub(super) static FORMATS: &[TextFormat] = &[];
