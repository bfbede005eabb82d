//! MIG: a card cut into instances.

use serde::{Deserialize, Serialize};

use super::is_default;

/// Whether a card is cut, and into what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MigSetting {
    /// MIG mode is on.
    #[serde(skip_serializing_if = "is_default")]
    pub enabled: bool,
    /// MIG mode after the next reset (as now when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<bool>,
    /// Instances, by the name of their profile such as `1g.10gb`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
}
