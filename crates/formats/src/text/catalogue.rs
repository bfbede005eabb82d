//! The formats that are looked for in a paste, in the order in which they are asked.
//!
//! A format that is sure by its first line comes before one that reads anything that looks like a table or a log.

use super::{TextFormat, kernel_log, nvidia_smi, nvidia_smi_list, nvidia_smi_monitor, program};
use crate::{Format, nvidia_smi_xml};

pub(super) static FORMATS: &[TextFormat] = &[
    TextFormat { format: Format::NvidiaSmiXml, read: nvidia_smi_xml::read_lines },
    TextFormat { format: Format::NvidiaSmi, read: nvidia_smi::read },
    TextFormat { format: Format::NvidiaSmiList, read: nvidia_smi_list::read },
    TextFormat { format: Format::NvidiaSmiDmon, read: nvidia_smi_monitor::read_devices },
    TextFormat { format: Format::NvidiaSmiPmon, read: nvidia_smi_monitor::read_processes },
    TextFormat { format: Format::KernelLog, read: kernel_log::read },
    TextFormat { format: Format::ProgramLog, read: program::read },
];
