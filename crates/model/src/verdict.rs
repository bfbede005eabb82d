//! The answer: findings in rank order, what they explain, what was ruled out, what could not be seen.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Fix, SubjectKind};
use crate::cause::Cause;
use crate::closed_list::closed_list;
use crate::command_line::CommandLine;
use crate::evidence::Evidence;
use crate::input::TextRead;
use crate::limits::LimitChange;
use crate::process::{Pid, ProcessKey};
use crate::reading::Absence;
use crate::scene::SourceKind;
use crate::signal::Signal;
use crate::text::Text;

closed_list! {
    /// How bad a finding is.
    pub enum Severity {
        /// Nothing is wrong.
        Ok = "ok",
        /// Worth knowing.
        Note = "note",
        /// Time or memory is lost.
        Warn = "warn",
        /// Something is broken.
        Fault = "fault",
    }
}

/// One cause, found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// How sure we are, 0 to 1: of the findings with 0.9, nine in ten are right.
    pub confidence: f64,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// Indices of the cards that it is about, sorted.
    pub cards: Vec<u32>,
    /// What it costs.
    pub impact: Impact,
    /// Who makes it so, the main one first.
    pub culprits: Vec<Culprit>,
    /// The finding in one sentence.
    pub summary: Text,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// What speaks against it.
    pub against: Vec<Evidence>,
    /// What to do, the least invasive step first.
    pub fixes: Vec<Fix>,
    /// Further facts by name, raw.
    pub detail: BTreeMap<String, String>,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// What kind of thing.
    pub kind: SubjectKind,
    /// Its id: a card's UUID, a pid, a job's id; the machine's name for a node.
    pub id: String,
    /// What a person calls it: a card's index, a program's name.
    pub name: String,
}

/// What a finding costs in its window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Impact {
    /// Card time lost, in seconds.
    pub gpu_seconds: f64,
    /// Card memory held for nothing, in bytes.
    pub bytes_held: u64,
    /// Processes or jobs that cannot go on.
    pub blocked: u64,
}

/// Who makes it so.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    /// The process; none where only a job or name is known.
    pub process: Option<ProcessKey>,
    /// Its number as given, also where it has no entry in `/proc`.
    pub pid: Option<Pid>,
    /// Its owner.
    pub user: Option<String>,
    /// Its arguments, masked.
    pub command: Option<CommandLine>,
    /// Its program or name, for where the arguments may not be shown.
    pub name: Option<String>,
    /// Container name or id.
    pub container: Option<String>,
    /// Pod name.
    pub pod: Option<String>,
    /// Job of a scheduler.
    pub job: Option<String>,
    /// systemd unit.
    pub unit: Option<String>,
    /// Login session.
    pub session: Option<String>,
    /// Notebook path.
    pub notebook: Option<String>,
    /// What a person should know of it at once: its parent is gone.
    pub remark: Option<Text>,
}

/// State of one card in a word.
#[derive(Debug, Clone, PartialEq)]
pub struct CardVerdict {
    /// The library's index; of a card without a number only what tells it from the others.
    pub index: u32,
    /// What it is called where no input gives its number.
    pub unnumbered: Option<Unnumbered>,
    /// `GPU-…`, where known.
    pub uuid: Option<String>,
    /// Product name, where known.
    pub name: Option<String>,
    /// The state.
    pub state: CardState,
    /// Who holds it for computing, the largest holder first.
    pub holders: Vec<Culprit>,
    /// The findings about it, as positions in [`Verdict::findings`].
    pub findings: Vec<usize>,
    /// Whether what was seen decides neither that something is wrong with it nor that nothing is.
    pub is_undecided: bool,
}

/// What a card is called where no input gives its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unnumbered {
    /// By its PCI address or unique name.
    Called(String),
    /// No input says which card it is.
    Nameless,
}

closed_list! {
    /// State of a card in a word.
    pub enum CardState {
        /// Nobody holds it.
        Free = "free",
        /// It works.
        Busy = "busy",
        /// Somebody holds it and it does not work.
        Held = "held",
        /// It is broken or does not answer.
        Faulty = "faulty",
        /// It could not be seen.
        Unknown = "unknown",
    }
}

/// A finding that another one explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// Position of the finding that explains.
    pub by: usize,
    /// Position of the finding that is explained.
    pub finding: usize,
}

/// A cause that was looked for and that a signal excludes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RuledOut {
    /// The cause.
    pub cause: Cause,
    /// The signal that excludes it.
    pub signal: Signal,
    /// The card it was looked for on; none: the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<u32>,
}

/// A signal that could not be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct BlindSpot {
    /// The signal.
    pub signal: Signal,
    /// Why it could not be seen.
    pub why: Absence,
    /// The causes that it would help to judge, in registry order.
    pub causes: Vec<Cause>,
}

/// The one thing to do next to separate the causes that remain.
#[derive(Debug, Clone, PartialEq)]
pub struct AskNext {
    /// A command, ready to copy.
    pub command: String,
    /// The causes that it separates.
    pub separates: Vec<Cause>,
}

/// The answer. It holds no words; `render` finds them.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Kind of input.
    pub source: SourceKind,
    /// End of the window.
    pub taken_at: Timestamp,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// What was found, the first cause first; never empty.
    pub findings: Vec<Finding>,
    /// Causes that are possible, but below 0.5.
    pub candidates: Vec<Finding>,
    /// Every card.
    pub cards: Vec<CardVerdict>,
    /// Which finding explains which.
    pub explained: Vec<Explained>,
    /// Causes that were excluded.
    pub ruled_out: Vec<RuledOut>,
    /// What could not be seen.
    pub blind_spots: Vec<BlindSpot>,
    /// What to do next to decide.
    pub ask_next: Option<AskNext>,
    /// Limits that differ from the built-in ones.
    pub limits_changed: Vec<LimitChange>,
    /// Remarks that are no finding.
    pub notes: Vec<Text>,
    /// The texts that it rests on, where it does.
    pub inputs: Vec<TextRead>,
}

impl Verdict {
    /// Returns the exit code of a look: 0 when all findings are `ok` and no card is undecided, else 1.
    pub fn exit_code(&self) -> u8 {
        let all_ok = self.findings.iter().all(|finding| finding.severity == Severity::Ok);
        let all_decided = self.cards.iter().all(|card| !card.is_undecided);
        u8::from(!(all_ok && all_decided))
    }
}
