//! What the source keys of the tables stand for.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::table::rows;

#[derive(Deserialize)]
struct Row {
    key: String,
    source: String,
}

/// Returns the document that a source key of a row stands for.
pub fn source(key: &str) -> Option<&'static str> {
    static TABLE: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        rows(include_str!("../data/sources.csv")).into_iter().map(|row: Row| (row.key, row.source)).collect()
    });
    table.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn every_row_of_every_table_names_known_sources() {
        let xids = crate::xids().iter().map(|fact| &fact.sources);
        let cards = crate::cards().iter().map(|fact| &fact.sources);
        let errors = crate::nvml_errors().iter().map(|fact| &fact.sources);
        let reasons = crate::clock_reasons().iter().map(|fact| &fact.sources);
        let drivers = crate::cuda_drivers().iter().map(|fact| &fact.sources);
        let architectures = crate::architectures().iter().map(|fact| &fact.sources);
        let cuda = crate::cuda_errors().map(|fact| &fact.sources);
        for sources in
            xids.chain(cards).chain(errors).chain(reasons).chain(drivers).chain(cuda).chain(architectures)
        {
            assert!(!sources.is_empty());
            for key in sources {
                assert!(source(key).is_some_and(|text| !text.is_empty()), "{key}");
            }
        }
    }
}
