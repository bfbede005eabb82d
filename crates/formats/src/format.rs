//! Which formats are known, by what they begin with, and why one could not be read.

use std::fmt;

use crate::decoding::decoded;
use crate::recording::{SAMPLE_START, ZSTD_MAGIC};

/// How far into an input the root of an XML document is looked for: a prompt or a warning may come first.
const LOOKED_AT: usize = 64 << 10;

/// A format that is read as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A recording of samples.
    Recording,
    /// Output of `nvidia-smi -q -x`.
    NvidiaSmiXml,
    /// The table of `nvidia-smi`, and what it says instead of one.
    NvidiaSmi,
    /// Output of `nvidia-smi -L`.
    NvidiaSmiList,
    /// Output of `nvidia-smi dmon`.
    NvidiaSmiDmon,
    /// Output of `nvidia-smi pmon`.
    NvidiaSmiPmon,
    /// Lines of the kernel log, as any tool shows them.
    KernelLog,
    /// Tracebacks, training and serving logs, and what is said of a program's end.
    ProgramLog,
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Recording => "recording of gpuwhy",
            Self::NvidiaSmiXml => "nvidia-smi -q -x",
            Self::NvidiaSmi => "nvidia-smi",
            Self::NvidiaSmiList => "nvidia-smi -L",
            Self::NvidiaSmiDmon => "nvidia-smi dmon",
            Self::NvidiaSmiPmon => "nvidia-smi pmon",
            Self::KernelLog => "kernel log",
            Self::ProgramLog => "log of a program",
        })
    }
}

/// Why a text could not be read: in what, where, what was expected and what stood there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{format}, line {line}: expected {expected}, found {found}")]
pub struct FormatError {
    /// The format that the text has or should have.
    pub format: Format,
    /// The line, from 1.
    pub line: u64,
    /// What should have stood there.
    pub expected: String,
    /// What stood there.
    pub found: String,
}

/// Returns the format of an input by its first bytes; none when it is not known.
pub fn recognise(input: &[u8]) -> Option<Format> {
    let start = input.trim_ascii_start();
    if input.starts_with(ZSTD_MAGIC) || start.starts_with(SAMPLE_START) {
        return Some(Format::Recording);
    }
    let looked_at = decoded(&input[..input.len().min(LOOKED_AT)]);
    looked_at.contains("<nvidia_smi_log").then_some(Format::NvidiaSmiXml)
}

#[cfg(test)]
mod tests {
    use super::{Format, recognise};

    #[test]
    fn formats_are_known_by_their_begin() {
        for (input, format) in [
            (&b"\x28\xb5\x2f\xfd\x04"[..], Some(Format::Recording)),
            (b"{\"schema\":\"gpuwhy.sample/1\",\"taken\":", Some(Format::Recording)),
            (b"\n {\"schema\":\"gpuwhy.sample/1\"", Some(Format::Recording)),
            (b"{\"schema\":\"gpuwhy.report/1\"", None),
            (
                b"<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"x.dtd\">\n<nvidia_smi_log>",
                Some(Format::NvidiaSmiXml),
            ),
            (b"\xff\xfe<\0n\0v\0i\0d\0i\0a\0_\0s\0m\0i\0_\0l\0o\0g\0>\0", Some(Format::NvidiaSmiXml)),
            (b"$ nvidia-smi -q -x\n<nvidia_smi_log>", Some(Format::NvidiaSmiXml)),
            (b"<html>", None),
            (b"", None),
        ] {
            assert_eq!(recognise(input), format);
        }
    }
}
