//! Error codes of CUDA: their names, what the runtime says for them, and whom they speak of.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::phrase::{Phrase, Squeezed};
use crate::table::{rows, words, yes_or_no};

/// Whom an error code speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CudaErrorClass {
    /// Memory of the card.
    Memory,
    /// The program.
    App,
    /// Build, driver and card do not fit.
    Compat,
    /// How the machine or container is set up.
    Config,
    /// The card.
    Hardware,
    /// Driver and services.
    System,
    /// The ways between cards.
    Topology,
}

/// An error code.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CudaErrorFact {
    /// The code (`cudaError_t`; the driver's `CUresult` has the same numbers).
    pub code: u32,
    /// Its name in the runtime.
    pub name: String,
    /// Its name in the driver; empty where it has none.
    pub driver_name: String,
    /// What the runtime says for it.
    pub text: String,
    /// What older runtimes said; empty where the same.
    pub older_text: String,
    /// Whom it speaks of.
    pub class: CudaErrorClass,
    /// Whether nobody else says these words.
    #[serde(deserialize_with = "yes_or_no", rename = "alone")]
    speaks_for_itself: bool,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

impl CudaErrorFact {
    /// Memory did not suffice.
    pub const OUT_OF_MEMORY: u32 = 2;
    /// The driver is older than the runtime.
    pub const INSUFFICIENT_DRIVER: u32 = 35;
    /// The card is taken, or in a mode that keeps others out.
    pub const DEVICES_UNAVAILABLE: u32 = 46;
    /// There is no code for this card: of kernels that were built for others.
    pub const INVALID_DEVICE_FUNCTION: u32 = 98;
    /// There is no card.
    pub const NO_DEVICE: u32 = 100;
    /// There is no code for this card.
    pub const NO_KERNEL_IMAGE: u32 = 209;
    /// Memory of the card lost data.
    pub const ECC_UNCORRECTABLE: u32 = 214;
    /// A link between cards lost data.
    pub const NVLINK_UNCORRECTABLE: u32 = 220;
    /// The build is newer than the driver's own compiler.
    pub const UNSUPPORTED_PTX: u32 = 222;
    /// Memory of the card lost data, and only this program was hit.
    pub const CONTAINED: u32 = 226;
    /// Cards behind switches are not set up.
    pub const SYSTEM_NOT_READY: u32 = 802;
    /// Driver and library have different versions.
    pub const DRIVER_MISMATCH: u32 = 803;
    /// A newer CUDA was brought along that this card does not allow.
    pub const COMPAT_NOT_SUPPORTED: u32 = 804;
}

/// A row with its words as phrases.
struct Row {
    fact: CudaErrorFact,
    texts: Vec<Phrase>,
}

fn table() -> &'static [Row] {
    static TABLE: OnceLock<Vec<Row>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let facts: Vec<CudaErrorFact> = rows(include_str!("../data/cuda_errors.csv"));
        facts
            .into_iter()
            .map(|fact| {
                let texts = [&fact.text, &fact.older_text]
                    .into_iter()
                    .filter_map(|text| Phrase::parse(text))
                    .collect();
                Row { fact, texts }
            })
            .collect()
    })
}

/// Returns every row, by code.
pub fn cuda_errors() -> impl Iterator<Item = &'static CudaErrorFact> {
    table().iter().map(|row| &row.fact)
}

/// Returns what is known of a code.
pub fn cuda_error(code: u32) -> Option<&'static CudaErrorFact> {
    cuda_errors().find(|fact| fact.code == code)
}

/// Returns the code that has a name: `cudaErrorNoDevice`, `CUDA_ERROR_NO_DEVICE`.
pub fn cuda_error_named(name: &str) -> Option<&'static CudaErrorFact> {
    cuda_errors().find(|fact| fact.name == name || !fact.driver_name.is_empty() && fact.driver_name == name)
}

/// Returns the code whose words a message has. Words that others use too count only where the message speaks of CUDA.
pub fn cuda_error_in_words(message: &Squeezed, speaks_of_cuda: bool) -> Option<&'static CudaErrorFact> {
    let found = |row: &&Row| {
        (speaks_of_cuda || row.fact.speaks_for_itself) && row.texts.iter().any(|text| text.is_in(message))
    };
    // The longest words that are found are the ones that were said: one code's may stand in another's.
    table().iter().filter(found).map(|row| &row.fact).max_by_key(|fact| (fact.text.len(), fact.code))
}

#[cfg(test)]
mod tests {
    use super::{CudaErrorFact, cuda_error, cuda_error_in_words, cuda_error_named, cuda_errors};
    use crate::phrase::Squeezed;

    #[test]
    fn every_row_is_read_and_in_order() {
        assert_eq!(cuda_errors().count(), 47);
        let codes: Vec<u32> = cuda_errors().map(|fact| fact.code).collect();
        assert!(codes.is_sorted_by(|one, next| one < next));
        assert!(cuda_errors().all(|fact| fact.name.starts_with("cudaError") && !fact.text.is_empty()));
    }

    #[test]
    fn named_codes_are_the_runtimes() {
        for (code, name) in [
            (CudaErrorFact::OUT_OF_MEMORY, "cudaErrorMemoryAllocation"),
            (CudaErrorFact::INSUFFICIENT_DRIVER, "cudaErrorInsufficientDriver"),
            (CudaErrorFact::DEVICES_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"),
            (CudaErrorFact::INVALID_DEVICE_FUNCTION, "cudaErrorInvalidDeviceFunction"),
            (CudaErrorFact::NO_DEVICE, "CUDA_ERROR_NO_DEVICE"),
            (CudaErrorFact::NO_KERNEL_IMAGE, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
            (CudaErrorFact::ECC_UNCORRECTABLE, "cudaErrorECCUncorrectable"),
            (CudaErrorFact::NVLINK_UNCORRECTABLE, "cudaErrorNvlinkUncorrectable"),
            (CudaErrorFact::UNSUPPORTED_PTX, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
            (CudaErrorFact::CONTAINED, "cudaErrorContained"),
            (CudaErrorFact::SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY"),
            (CudaErrorFact::DRIVER_MISMATCH, "cudaErrorSystemDriverMismatch"),
            (CudaErrorFact::COMPAT_NOT_SUPPORTED, "cudaErrorCompatNotSupportedOnDevice"),
        ] {
            assert_eq!(cuda_error_named(name).unwrap().code, code);
        }
        assert_eq!(cuda_error_named(""), None);
        assert_eq!(cuda_error(5000), None);
    }

    #[test]
    fn words_tell_the_code() {
        let code =
            |text: &str, cuda: bool| cuda_error_in_words(&Squeezed::of(text), cuda).map(|fact| fact.code);
        assert_eq!(code("CUDA error: all CUDA-capable devices are busy or unavailable", false), Some(46));
        assert_eq!(
            code("Error 804: forward compatibility was attempted on non supported HW", false),
            Some(804)
        );
        assert_eq!(code("CUDA failure: operation not permitted when stream is capturing", true), Some(900));
        assert_eq!(code("mount: operation not permitted", false), None);
        assert_eq!(code("CUDA error: operation not permitted", true), Some(800));
    }
}
