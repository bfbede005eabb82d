//! The formats that are looked for in a paste, in the order in which they are asked.
//!
//! A format that is sure by its first line comes before one that reads anything that looks like a table or a log.

use super::TextFormat;
use crate::{Format, nvidia_smi_xml};

pub(super) static FORMATS: &[TextFormat] =
    &[TextFormat { format: Format::NvidiaSmiXml, read: nvidia_smi_xml::read_lines }];
