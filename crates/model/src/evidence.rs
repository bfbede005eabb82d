//! Evidence: one signal with its value, what would be normal, and who measured it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::signal::{Reader, Signal};
use crate::text::Text;
use crate::units::Unit;

/// One thing that was seen and that speaks for or against a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was seen.
    pub signal: Signal,
    /// Its value.
    pub value: Value,
    /// The value's unit.
    pub unit: Unit,
    /// What would be normal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Normal>,
    /// Who measured it.
    pub source: EvidenceSource,
    /// The sentence for people.
    pub text: Text,
}

/// A value as the report gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// Raw text.
    Text(String),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Whole(u64::from(value))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Whole(u64::from(value))
    }
}

impl From<f64> for Value {
    /// Rounds to three decimals: no signal is more exact, and a report stays readable.
    fn from(value: f64) -> Self {
        Self::Number((value * 1000.0).round() / 1000.0)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// What would be normal: the value compared with a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Normal {
    /// How the value would compare with the limit.
    pub op: Comparison,
    /// The limit, in the evidence's unit.
    pub value: f64,
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparison {
    /// Less.
    #[serde(rename = "<")]
    Less,
    /// Less or equal.
    #[serde(rename = "<=")]
    AtMost,
    /// Equal.
    #[serde(rename = "=")]
    Equal,
    /// Greater or equal.
    #[serde(rename = ">=")]
    AtLeast,
    /// Greater.
    #[serde(rename = ">")]
    Greater,
}

/// Who measured a value, how often and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceSource {
    /// The reader.
    pub reader: Reader,
    /// Number of distinct device time stamps, or of looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
    /// Seconds from the first to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
}

impl EvidenceSource {
    /// Makes the source of a single look.
    pub const fn once(reader: Reader) -> Self {
        Self { reader, n: None, span_s: None }
    }

    /// Makes the source of several looks over a span.
    pub const fn over(reader: Reader, n: usize, span_s: f64) -> Self {
        Self { reader, n: Some(n), span_s: Some(span_s) }
    }
}
