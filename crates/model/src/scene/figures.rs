//! Tables of figures that somebody measured and wrote down.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// One column of a table of figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figures {
    /// What one process held, one row after the other in the order of time.
    MemorySteps(Vec<MemoryStep>),
    /// What transfers between cards moved, alone and several at once.
    Flows(Vec<Flow>),
    /// The same measurement of each of several cards or members.
    Benchmark(Benchmark),
}

/// What one process held at one time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryStep {
    /// What was going on then, where rows name states that come again: `open`, `closed`.
    pub state: String,
    /// How much it held.
    pub held: Bytes,
}

/// What some transfers moved at the same time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flow {
    /// The transfers, `0->4`.
    pub at_once: Vec<String>,
    /// How much they moved a second, in the table's unit.
    pub rate: f64,
    /// Whether the table says that this is all of them together: else it may be the mean of them.
    pub is_total: bool,
}

/// One measurement of several members.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Benchmark {
    /// What the table calls it.
    pub column: String,
    /// Whether it is a time: the longer, the slower. Else the more, the faster.
    pub is_time: bool,
    /// What was measured, with the names that the table gives them.
    pub members: Vec<MemberFigure>,
}

/// What was measured of one member.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemberFigure {
    /// The card, rank or node, as the table names it.
    pub name: String,
    /// The figure, in the table's unit.
    pub value: f64,
}
