//! Where a scene comes from.

use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;

closed_list! {
    /// The kind of input that a scene was made from.
    #[derive(Default)]
    pub enum SourceKind {
        /// This machine, now.
        #[default]
        Live = "live",
        /// A recording of samples.
        Recording = "recording",
        /// Text of other tools.
        Text = "text",
        /// The daemon's history.
        History = "history",
        /// A Prometheus-compatible server.
        Prometheus = "prometheus",
    }
}

/// Where a scene comes from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// The kind of input.
    pub source: SourceKind,
    /// Inputs by name or format, as far as there is more than the kind to say.
    pub inputs: Vec<String>,
}
