//! Which releases of CUDA have code for which cards.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::table::{rows, words};

/// An architecture of cards.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ArchitectureFact {
    /// Its name.
    #[serde(rename = "arch")]
    pub name: String,
    /// Its compute capabilities: `8.6`.
    #[serde(deserialize_with = "words")]
    pub capabilities: Vec<String>,
    /// The first release of CUDA that has code for it.
    pub first_cuda: String,
    /// The last one; empty while there is none.
    pub last_cuda: String,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

/// Returns every row, the oldest first.
pub fn architectures() -> &'static [ArchitectureFact] {
    static TABLE: OnceLock<Vec<ArchitectureFact>> = OnceLock::new();
    TABLE.get_or_init(|| rows(include_str!("../data/archs.csv")))
}

/// Returns the architecture with this compute capability.
pub fn architecture(capability: &str) -> Option<&'static ArchitectureFact> {
    architectures().iter().find(|fact| fact.capabilities.iter().any(|known| known == capability))
}

#[cfg(test)]
mod tests {
    use super::{architecture, architectures};

    #[test]
    fn every_row_is_read() {
        assert_eq!(architectures().len(), 14);
        assert!(
            architectures().iter().all(|fact| !fact.capabilities.is_empty() && !fact.first_cuda.is_empty())
        );
    }

    #[test]
    fn capabilities_find_their_architecture() {
        let named = |capability| {
            architecture(capability)
                .map(|fact| (fact.name.as_str(), fact.first_cuda.as_str(), fact.last_cuda.as_str()))
        };
        assert_eq!(named("12.0"), Some(("Blackwell", "12.8", "")));
        assert_eq!(named("7.0"), Some(("Volta", "9.0", "12.9")));
        assert_eq!(named("4.0"), None);
    }
}
