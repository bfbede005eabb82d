//! Why a scheduler lets a job wait.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer};

use crate::table::{rows, words};

/// What kind of reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitClass {
    /// All that it could use is in use.
    Capacity,
    /// Others are before it.
    Turn,
    /// A limit that several jobs share is reached.
    Quota,
    /// It asks for more than any job may have.
    TooLarge,
    /// It asks for less than a job must.
    TooSmall,
    /// What it asks for does not exist or does not go together.
    Request,
    /// Its owner holds it back.
    Held,
    /// An administrator holds it back.
    HeldByAdministrator,
    /// It waits for another job.
    Dependency,
    /// It waits for something that can never happen.
    Never,
    /// It may not start before some time.
    Later,
    /// Its array lets only so many tasks run at a time.
    ArrayLimit,
    /// Its owner may not use what it asks for.
    Policy,
    /// The queue starts nothing.
    QueueClosed,
    /// Nodes that it needs are down, closed or reserved.
    Nodes,
    /// Starting it failed, or the scheduler itself does.
    Failure,
    /// It is on its way; this passes by itself.
    Passing,
    /// It is over.
    Ended,
    /// The scheduler has not looked at it yet.
    Unknown,
}

/// What a limit counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitReach {
    /// All jobs of an account, or of a user in it.
    Group,
    /// All jobs of a quality of service.
    Qos,
    /// The jobs of each user.
    User,
    /// The jobs of each account.
    Account,
    /// All jobs of a namespace.
    Namespace,
    /// Each job.
    Job,
    /// Each node of a job.
    Node,
}

/// What a limit is a limit of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedResource {
    /// Cards.
    Cards,
    /// Processors.
    Cpus,
    /// Memory of the host.
    Memory,
    /// Nodes.
    Nodes,
    /// Jobs that run.
    Jobs,
    /// Jobs that run or wait.
    SubmittedJobs,
    /// Time.
    Time,
    /// Burst buffer.
    BurstBuffer,
    /// Units that are billed.
    Billing,
    /// Energy.
    Energy,
    /// Licences of programs.
    Licenses,
    /// The scheduler does not say of what.
    Unknown,
}

/// How a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// What is held at a time.
    #[default]
    Amount,
    /// What was used up so far, times its time: a budget.
    Minutes,
    /// What running jobs hold, times the time that they may still take.
    RunningMinutes,
}

/// What a reason means.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WaitFact {
    /// What kind.
    pub class: WaitClass,
    /// What the limit counts together, where it is one.
    #[serde(deserialize_with = "perhaps")]
    pub reach: Option<LimitReach>,
    /// Of what.
    #[serde(deserialize_with = "perhaps")]
    pub resource: Option<LimitedResource>,
    /// How it counts.
    #[serde(default)]
    pub measure: Measure,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

#[derive(Deserialize)]
struct WordRow {
    word: String,
    #[serde(flatten)]
    fact: WaitFact,
}

#[derive(Deserialize)]
struct SentenceRow {
    words: String,
    #[serde(flatten)]
    fact: WaitFact,
}

/// Reads a value that may be empty.
fn perhaps<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    T::deserialize(serde::de::value::StringDeserializer::<D::Error>::new(text)).map(Some)
}

/// Returns every word of Slurm with what it means, by its form for comparing.
fn slurm_words() -> &'static BTreeMap<String, (String, WaitFact)> {
    static TABLE: OnceLock<BTreeMap<String, (String, WaitFact)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        rows(include_str!("../data/slurm_reasons.csv"))
            .into_iter()
            .map(|row: WordRow| (comparable(&row.word), (row.word, row.fact)))
            .collect()
    })
}

fn slurm_sentences() -> &'static [(String, WaitFact)] {
    static TABLE: OnceLock<Vec<(String, WaitFact)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        rows(include_str!("../data/slurm_sentences.csv"))
            .into_iter()
            .map(|row: SentenceRow| (row.words, row.fact))
            .collect()
    })
}

/// Returns Slurm's own spelling of one of its reason words, however the text writes it; none for anything else.
pub fn slurm_reason_word(word: &str) -> Option<&'static str> {
    slurm_words().get(&comparable(word)).map(|(word, _)| word.as_str())
}

/// Returns the one word or sentence of Slurm that begins with a text which was cut off; none where several do.
pub fn slurm_reason_begun(text: &str) -> Option<&'static str> {
    const SIGNS_MIN: usize = 6;
    let begun = comparable(text);
    if begun.len() < SIGNS_MIN {
        return None;
    }
    let words = slurm_words()
        .iter()
        .filter(|(comparable, _)| comparable.starts_with(&begun))
        .map(|(_, (word, _))| word);
    let sentences = slurm_sentences().iter().map(|(words, _)| words);
    let mut found = words.chain(sentences.filter(|words| comparable(words).starts_with(&begun)));
    let only = found.next()?;
    found.next().is_none().then_some(only.as_str())
}

/// Returns what a reason of Slurm means: one of its words, one of its sentences, or a word that is built like its limits.
pub fn slurm_reason(text: &str) -> Option<WaitFact> {
    let text = text.trim();
    if let Some((_, fact)) = slurm_words().get(&comparable(text)) {
        return Some(fact.clone());
    }
    slurm_sentence(text).cloned().or_else(|| built_like_a_limit(text))
}

/// Returns what a sentence of Slurm means: of a reason, or of a refusal.
pub fn slurm_sentence(text: &str) -> Option<&'static WaitFact> {
    let lower = text.to_ascii_lowercase().replace('_', " ");
    slurm_sentences().iter().find(|(words, _)| lower.contains(words.as_str())).map(|(_, fact)| fact)
}

/// Returns a word without case, blanks and marks.
fn comparable(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Reads a limit out of the parts of its name: versions differ in which combinations they have.
fn built_like_a_limit(text: &str) -> Option<WaitFact> {
    let word = comparable(text);
    let starts = ["assocgrp", "assocmax", "qosgrp", "qosmax", "qosmin", "max", "min"];
    let start = starts.iter().find(|start| word.starts_with(**start))?;
    let is_one_word = !text.contains(char::is_whitespace);
    let resource = RESOURCES.iter().find(|(part, _)| word[start.len()..].contains(part))?.1;
    let reach = match *start {
        _ if word.contains("perjob") => LimitReach::Job,
        _ if word.contains("pernode") => LimitReach::Node,
        _ if word.contains("peruser") => LimitReach::User,
        _ if word.contains("peraccount") => LimitReach::Account,
        "assocgrp" => LimitReach::Group,
        "qosgrp" => LimitReach::Qos,
        "assocmax" => LimitReach::User,
        "qosmin" => LimitReach::Job,
        _ => return None,
    };
    let class = match (*start, reach) {
        ("qosmin" | "min", _) => WaitClass::TooSmall,
        (_, LimitReach::Job | LimitReach::Node) => WaitClass::TooLarge,
        _ => WaitClass::Quota,
    };
    let measure = if word.contains("runmin") {
        Measure::RunningMinutes
    } else if word.contains("mins") || word.contains("minutes") {
        Measure::Minutes
    } else {
        Measure::Amount
    };
    let fact = WaitFact {
        class,
        reach: Some(reach),
        resource: Some(resource),
        measure,
        sources: vec!["slurm".to_owned()],
    };
    is_one_word.then_some(fact)
}

const RESOURCES: &[(&str, LimitedResource)] = &[
    ("gres", LimitedResource::Cards),
    ("gpu", LimitedResource::Cards),
    ("tres", LimitedResource::Unknown),
    ("cpu", LimitedResource::Cpus),
    ("mem", LimitedResource::Memory),
    ("node", LimitedResource::Nodes),
    ("submit", LimitedResource::SubmittedJobs),
    ("jobs", LimitedResource::Jobs),
    ("wall", LimitedResource::Time),
    ("billing", LimitedResource::Billing),
    ("energy", LimitedResource::Energy),
    ("license", LimitedResource::Licenses),
    ("bb", LimitedResource::BurstBuffer),
];

#[cfg(test)]
mod tests {
    use super::{
        LimitReach, LimitedResource, Measure, WaitClass, slurm_reason, slurm_reason_word, slurm_sentences,
        slurm_words,
    };
    use crate::source;

    #[test]
    fn every_row_is_read_and_names_its_source() {
        assert_eq!(slurm_words().len(), 217);
        assert_eq!(slurm_sentences().len(), 43);
        let facts = slurm_words().values().map(|(_, fact)| fact);
        for fact in facts.chain(slurm_sentences().iter().map(|(_, fact)| fact)) {
            assert!(!fact.sources.is_empty());
            assert!(fact.sources.iter().all(|key| source(key).is_some()), "{:?}", fact.sources);
        }
        for (words, _) in slurm_sentences() {
            assert_eq!(*words, words.to_ascii_lowercase());
        }
    }

    #[test]
    fn words_are_found_however_they_are_written() {
        for text in ["QOSMaxGRESPerUser", "QOSMaxGresPerUser", "qos_max_gres_per_user"] {
            let fact = slurm_reason(text).unwrap();
            assert_eq!((fact.class, fact.reach), (WaitClass::Quota, Some(LimitReach::User)));
            assert_eq!(fact.resource, Some(LimitedResource::Cards));
            assert_eq!(slurm_reason_word(text), Some("QOSMaxGRESPerUser"));
        }
        assert_eq!(slurm_reason("Priority").unwrap().class, WaitClass::Turn);
        assert_eq!(slurm_reason("hello"), None);
        assert_eq!(slurm_reason_word("maximum"), None);
    }

    #[test]
    fn limits_that_no_table_lists_are_read_by_their_parts() {
        let fact = slurm_reason("QOSMaxTRESRunMinsPerUser").unwrap();
        assert_eq!((fact.class, fact.measure), (WaitClass::Quota, Measure::RunningMinutes));
        let fact = slurm_reason("MaxGRESPerJob").unwrap();
        assert_eq!((fact.class, fact.resource), (WaitClass::TooLarge, Some(LimitedResource::Cards)));
        assert_eq!(slurm_reason("max memory per job is 5"), None);
    }

    #[test]
    fn sentences_are_found_inside_others() {
        let class = |text: &str| slurm_reason(text).map(|fact| fact.class);
        assert_eq!(class("launch_failed_requeued_held"), Some(WaitClass::Failure));
        assert_eq!(
            class(
                "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
            ),
            Some(WaitClass::Nodes)
        );
        assert_eq!(
            class("Batch job submission failed: Requested node configuration is not available"),
            Some(WaitClass::Request)
        );
        assert_eq!(
            class("Job's QOS not permitted to use this partition (gpu allows a not b)"),
            Some(WaitClass::Policy)
        );
    }
}
