//! nvsonar as a rival: what it says of each card, and whether that counts as right.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use anyhow::{Context as _, Result};
use gpuwhy_lab::scenario::{Answer, RunningBox, Truth};
use serde::Deserialize;

/// The published table: which causes each of its types is counted as.
const TABLE: &str = include_str!("../../../docs/versus/nvsonar.toml");

/// It must answer within so many seconds.
const ANSWER_WITHIN_S: &str = "60";

/// A type of nvsonar, as its own report writes it.
type TypeName = String;

/// What it says of the cards, by UUID.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Said(BTreeMap<String, TypeName>);

#[derive(Deserialize)]
struct CardReport {
    gpu: Gpu,
    analysis: Analysis,
}

#[derive(Deserialize)]
struct Gpu {
    uuid: String,
}

#[derive(Deserialize)]
struct Analysis {
    bottleneck: TypeName,
}

/// It writes one object for one card, and a list for several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reports {
    One(Box<CardReport>),
    Several(Vec<CardReport>),
}

/// Lets it look inside a box.
///
/// # Errors
/// Fails when it cannot be started.
pub(super) fn ask(running: &mut RunningBox, program: &Path, home: &Path) -> Result<Said> {
    let program = program.to_str().context("the path of nvsonar is no UTF-8")?;
    // It keeps a history in its user's home.
    let home = format!("HOME={}", home.display());
    let command = ["timeout", "--kill-after=5", ANSWER_WITHIN_S, "env", &home, program, "report", "--json"];
    Ok(said(&running.run(None, &command)?))
}

/// Returns what its output says; nothing where it could not look.
fn said(output: &Output) -> Said {
    let reports = match serde_json::from_slice(&output.stdout) {
        Ok(Reports::One(report)) => vec![*report],
        Ok(Reports::Several(reports)) => reports,
        Err(_) => Vec::new(),
    };
    Said(reports.into_iter().map(|report| (report.gpu.uuid, report.analysis.bottleneck)).collect())
}

/// Returns the published table.
///
/// # Errors
/// Fails when it is no table of lists.
pub(super) fn table() -> Result<BTreeMap<TypeName, Vec<String>>> {
    toml::from_str(TABLE).context("docs/versus/nvsonar.toml is not valid")
}

impl Said {
    /// Whether it counts as right: on a card of some right answer its type counts as that answer's cause. Where the
    /// answer is about no card in particular, every card must count.
    pub(super) fn is_right(
        &self,
        truth: &Truth,
        uuids: &[String],
        table: &BTreeMap<TypeName, Vec<String>>,
    ) -> bool {
        let counts = |uuid: &String, answer: &Answer| {
            let causes = self.0.get(uuid).and_then(|named| table.get(named));
            causes.is_some_and(|causes| causes.contains(&answer.cause))
        };
        truth.answers.iter().any(|answer| {
            if answer.cards.is_empty() {
                return !uuids.is_empty() && uuids.iter().all(|uuid| counts(uuid, answer));
            }
            let mut cards = answer.cards.iter().filter_map(|position| uuids.get(*position));
            cards.any(|uuid| counts(uuid, answer))
        })
    }

    /// Returns what it said, for people.
    pub(super) fn story(&self) -> String {
        let mut types: Vec<&str> = self.0.values().map(String::as_str).collect();
        types.dedup();
        if types.is_empty() { "nothing".to_owned() } else { types.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{ExitStatus, Output};

    use gpuwhy_lab::scenario::{Answer, Truth};
    use gpuwhy_model::cause::Cause;

    use super::{said, table};

    fn output(text: &str) -> Output {
        Output { status: ExitStatus::from_raw(0), stdout: text.as_bytes().to_vec(), stderr: Vec::new() }
    }

    fn card(uuid: &str, kind: &str) -> String {
        format!(r#"{{"gpu":{{"uuid":"{uuid}"}},"analysis":{{"bottleneck":"{kind}"}}}}"#)
    }

    fn truth(cause: &str, cards: &[usize]) -> Truth {
        let answer = Answer { cause: cause.to_owned(), culprits: Vec::new(), cards: cards.to_vec() };
        Truth { void: None, answers: vec![answer], also: vec![], near_miss_of: None }
    }

    #[test]
    fn the_table_names_nine_types_and_only_causes() {
        let table = table().unwrap();
        assert_eq!(table.len(), 9);
        assert!(table.values().flatten().all(|cause| Cause::from_id(cause).is_some()));
    }

    #[test]
    fn a_type_counts_on_the_card_that_it_is_about() {
        let uuids = ["GPU-a".to_owned(), "GPU-b".to_owned()];
        let both = format!("[{},{}]", card("GPU-a", "idle"), card("GPU-b", "data_starved"));
        let (said, table) = (said(&output(&both)), table().unwrap());
        assert!(said.is_right(&truth("starved-by-cpu", &[1]), &uuids, &table));
        assert!(!said.is_right(&truth("starved-by-cpu", &[0]), &uuids, &table));
        assert!(!said.is_right(&truth("nothing-wrong", &[]), &uuids, &table), "one card is not idle");
    }

    #[test]
    fn who_cannot_look_is_not_right() {
        let said = said(&output("Error: failed to initialize NVML"));
        assert!(!said.is_right(&truth("driver-not-loaded", &[]), &["GPU-a".to_owned()], &table().unwrap()));
        assert_eq!(said.story(), "nothing");
    }
}
