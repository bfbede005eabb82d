//! What the NVIDIA library answers when a call fails.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::table::{rows, words};

/// A return code of the library.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NvmlErrorFact {
    /// The code (`nvmlReturn_t`).
    pub code: u32,
    /// Its C name.
    pub name: String,
    /// What it says, in few words.
    pub meaning: String,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

impl NvmlErrorFact {
    /// The driver is not loaded.
    pub const DRIVER_NOT_LOADED: u32 = 9;
    /// A call timed out.
    pub const TIMEOUT: u32 = 10;
    /// The card fell off the bus.
    pub const GPU_IS_LOST: u32 = 15;
    /// The card must be reset.
    pub const RESET_REQUIRED: u32 = 16;
    /// Library and kernel module have different versions.
    pub const VERSION_MISMATCH: u32 = 18;
    /// Anything else.
    pub const UNKNOWN: u32 = 999;
}

/// Returns every row, by code.
pub fn nvml_errors() -> &'static [NvmlErrorFact] {
    static TABLE: OnceLock<Vec<NvmlErrorFact>> = OnceLock::new();
    TABLE.get_or_init(|| rows(include_str!("../data/nvml_errors.csv")))
}

/// Returns what is known of a return code.
pub fn nvml_error(code: u32) -> Option<&'static NvmlErrorFact> {
    nvml_errors().iter().find(|fact| fact.code == code)
}

#[cfg(test)]
mod tests {
    use super::{NvmlErrorFact, nvml_error, nvml_errors};

    #[test]
    fn every_row_is_read_and_in_order() {
        assert_eq!(nvml_errors().len(), 32);
        assert!(nvml_errors().is_sorted_by(|one, next| one.code < next.code));
        assert!(nvml_errors().iter().all(|fact| fact.name.starts_with("NVML_") && !fact.meaning.is_empty()));
    }

    #[test]
    fn named_codes_are_the_librarys() {
        for (code, name) in [
            (NvmlErrorFact::DRIVER_NOT_LOADED, "NVML_ERROR_DRIVER_NOT_LOADED"),
            (NvmlErrorFact::TIMEOUT, "NVML_ERROR_TIMEOUT"),
            (NvmlErrorFact::GPU_IS_LOST, "NVML_ERROR_GPU_IS_LOST"),
            (NvmlErrorFact::RESET_REQUIRED, "NVML_ERROR_RESET_REQUIRED"),
            (NvmlErrorFact::VERSION_MISMATCH, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
            (NvmlErrorFact::UNKNOWN, "NVML_ERROR_UNKNOWN"),
        ] {
            assert_eq!(nvml_error(code).unwrap().name, name);
        }
        assert_eq!(nvml_error(500), None);
    }
}
