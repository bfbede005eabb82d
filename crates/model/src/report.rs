//! The report: the verdict as JSON, schema `gpuwhy.report/1`. Its shape is a contract; `render` fills it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Action, FixClass, Target};
use crate::cause::Cause;
use crate::evidence::{EvidenceSource, Normal, Value};
use crate::input::TextRead;
use crate::limits::LimitChange;
use crate::scene::SourceKind;
use crate::signal::Signal;
use crate::text::Arg;
use crate::units::Unit;
use crate::verdict::{CardState, Explained, Impact, RuledOut, Severity, Subject};

/// The schema that a report follows.
pub const REPORT_SCHEMA: &str = "gpuwhy.report/1";

/// A text for people: its id, its values and its words in the report's language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportText {
    /// Id in the catalogue.
    pub id: String,
    /// Values by name.
    pub args: BTreeMap<String, Arg>,
    /// The words.
    pub text: String,
}

/// The verdict as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Always [`REPORT_SCHEMA`].
    pub schema: String,
    /// Kind of input.
    pub source: SourceKind,
    /// End of the window, RFC 3339, UTC.
    pub taken_at: Timestamp,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// What was found, the first cause first; never empty.
    pub findings: Vec<ReportFinding>,
    /// Every card that has a number.
    pub cards: Vec<ReportCard>,
    /// Cards of texts that do not give their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnumbered_cards: Vec<ReportUnnumberedCard>,
    /// Which finding explains which, as positions in `findings`.
    pub explained: Vec<Explained>,
    /// Causes that were excluded, and by what.
    pub ruled_out: Vec<RuledOut>,
    /// What could not be seen.
    pub blind_spots: Vec<ReportBlindSpot>,
    /// What to do next to decide.
    pub ask_next: Option<ReportAskNext>,
    /// Limits that differ from the built-in ones.
    pub limits_changed: Vec<LimitChange>,
    /// Remarks that are no finding.
    pub notes: Vec<ReportText>,
    /// The texts that the answer rests on: what was recognised in them, and which lines were not understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TextRead>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportFinding {
    /// The cause's id.
    pub cause: Cause,
    /// 0 to 1.
    pub confidence: f64,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// What it costs in the window.
    pub impact: Impact,
    /// The main culprit.
    pub culprit: Option<ReportCulprit>,
    /// Every culprit, the main one first.
    pub culprits: Vec<ReportCulprit>,
    /// The finding in one sentence.
    pub summary: ReportText,
    /// What speaks for it.
    pub evidence: Vec<ReportEvidence>,
    /// What speaks against it.
    pub against: Vec<ReportEvidence>,
    /// What to do, the least invasive step first.
    pub fixes: Vec<ReportFix>,
    /// Further facts, raw.
    pub detail: BTreeMap<String, String>,
}

/// Who makes it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportCulprit {
    /// Process number.
    pub pid: Option<u32>,
    /// Start in clock ticks since boot.
    pub start_ticks: Option<u64>,
    /// Owner.
    pub user: Option<String>,
    /// Arguments, masked; the program alone where they may not be shown.
    pub command: Option<String>,
    /// Container.
    pub container: Option<String>,
    /// Pod.
    pub pod: Option<String>,
    /// Job of a scheduler.
    pub job: Option<String>,
    /// systemd unit.
    pub unit: Option<String>,
    /// Login session.
    pub session: Option<String>,
    /// Notebook path.
    pub notebook: Option<String>,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportEvidence {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReportText>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportFix {
    /// What.
    pub action: Action,
    /// What it may cost.
    pub class: FixClass,
    /// On what it acts.
    pub targets: Vec<Target>,
    /// The command of this version that does it.
    pub command: Option<String>,
    /// The step in words.
    pub summary: ReportText,
}

/// One card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportCard {
    /// The library's index.
    pub index: u32,
    /// `GPU-…`
    pub uuid: Option<String>,
    /// Product name.
    pub name: Option<String>,
    /// State in a word.
    pub state: CardState,
    /// Who holds it for computing, the largest holder first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<ReportCulprit>,
    /// Positions in `findings`.
    pub findings: Vec<usize>,
}

/// A card of which no text gives the number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportUnnumberedCard {
    /// Its PCI address or unique name; none: no text says which card it is.
    pub called: Option<String>,
    /// `GPU-…`
    pub uuid: Option<String>,
    /// Product name.
    pub name: Option<String>,
    /// State in a word.
    pub state: CardState,
    /// Who holds it for computing, the largest holder first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<ReportCulprit>,
    /// Positions in `findings`.
    pub findings: Vec<usize>,
}

/// A signal that could not be seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportBlindSpot {
    /// The signal.
    pub signal: Signal,
    /// `unsupported`, `denied` or `failed`.
    pub why: BlindSpotKind,
    /// What could not be seen, why, and what opens it.
    pub summary: ReportText,
}

/// Why a signal could not be seen, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlindSpotKind {
    /// There is no such signal here.
    Unsupported,
    /// It may not be read.
    Denied,
    /// Reading it failed.
    Failed,
}

/// What to do next to decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportAskNext {
    /// A command, ready to copy.
    pub command: String,
    /// The causes that it separates.
    pub separates: Vec<Cause>,
}

/// Returns the JSON Schema of the report.
pub fn report_schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}

/// Returns the JSON Schema of a recording's line.
pub fn sample_schema() -> serde_json::Value {
    schemars::schema_for!(crate::sample::Sample).to_value()
}

#[cfg(test)]
mod tests {
    use super::Report;

    /// The full example of the contract: every field, every kind of value.
    const EXAMPLE: &str = include_str!("report_example.json");

    #[test]
    fn the_example_reads_and_writes_back_unchanged() {
        let value: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
        let report: Report = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(report).unwrap(), value);
    }
}
