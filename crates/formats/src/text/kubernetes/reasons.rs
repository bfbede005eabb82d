//! Why a pod or workload waits, in the sentences of its scheduler.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::scene::WaitReason;

/// No sentence has more parts.
const PARTS_MAX: usize = 64;

/// A longer part is cut.
const WORDS_MAX: usize = 300;

/// What a scheduler says of a pod that it cannot place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Nodes that it looked at.
    pub(super) nodes: Option<u64>,
    /// What is wrong with them.
    pub(super) reasons: Vec<WaitReason>,
    /// What it says of ending others.
    pub(super) preemption: Vec<WaitReason>,
}

/// Begins of the sentence that counts nodes, behind the number of nodes.
const COUNTED: &[&str] =
    &[" nodes are available", " node is available", " nodes are unavailable", " node is unavailable"];

/// Old and other wordings of the same.
const UNCOUNTED: &[&str] = &[
    "no nodes are available that match all of the predicates",
    "no nodes are available that match all of the following predicates",
    "all nodes are unavailable",
];

/// Returns where the sentence about nodes begins in a text.
pub(super) fn begin_of_sentence(text: &str) -> Option<usize> {
    if let Some(place) = COUNTED.iter().find_map(|words| text.find(words)) {
        let before = &text[..place];
        let length = before.bytes().rev().take_while(|byte| byte.is_ascii_digit() || *byte == b'/').count();
        if before[before.len() - length..].contains('/') {
            return Some(before.len() - length);
        }
    }
    let lower = text.to_ascii_lowercase();
    UNCOUNTED.iter().find_map(|words| lower.find(words))
}

/// Reads what a scheduler says of a pod that it cannot place.
pub(super) fn attempt(message: &str) -> Attempt {
    let message = message.trim();
    let Some(begin) = begin_of_sentence(message) else {
        let reasons = if message.is_empty() { Vec::new() } else { vec![plain(message)] };
        return Attempt { reasons, ..Attempt::default() };
    };
    let sentence = &message[begin..];
    let nodes = sentence.split_once('/').and_then(|(_, rest)| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().ok()
    });
    let (own, preemption) = match find_ignoring_case(sentence, " preemption:") {
        Some(place) => (&sentence[..place], &sentence[place + " preemption:".len()..]),
        None => (sentence, ""),
    };
    Attempt { nodes, reasons: counted(own), preemption: counted(preemption) }
}

fn find_ignoring_case(text: &str, words: &str) -> Option<usize> {
    text.to_ascii_lowercase().find(words)
}

/// Reads the parts behind the colon of a sentence that counts nodes.
fn counted(sentence: &str) -> Vec<WaitReason> {
    let Some((_, parts)) = sentence.split_once(':') else {
        return Vec::new();
    };
    let parts = parts.trim_start_matches(':').trim().trim_end_matches(['.', ' ']);
    split_before_numbers(parts).into_iter().take(PARTS_MAX).filter_map(part).collect()
}

/// Splits at each comma that a number follows: what stands in braces may hold commas itself. The oldest wording has the
/// number behind, in brackets.
fn split_before_numbers(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut from = 0;
    while let Some(place) = text[from..].find(", ").map(|place| from + place) {
        let next = text[place + 2..].trim_start();
        let is_border =
            next.starts_with(|first: char| first.is_ascii_digit()) || text[..place].ends_with(')');
        if is_border {
            parts.push(&text[begin..place]);
            begin = place + 2;
        }
        from = place + 2;
    }
    parts.push(&text[begin..]);
    parts
}

fn part(text: &str) -> Option<WaitReason> {
    let text = text.trim().trim_end_matches('.');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (nodes, words) = if digits > 0 && text[digits..].starts_with(' ') {
        (text[..digits].parse().ok(), text[digits..].trim())
    } else if let Some((words, number)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        match number.parse() {
            Ok(number) => (Some(number), words),
            Err(_) => (None, text),
        }
    } else {
        (None, text)
    };
    (!words.is_empty()).then(|| WaitReason { nodes, ..plain(words) })
}

/// Makes a reason of words alone.
pub(super) fn plain(words: &str) -> WaitReason {
    let words = words.trim();
    let end = (0..=WORDS_MAX.min(words.len())).rev().find(|end| words.is_char_boundary(*end)).unwrap_or(0);
    WaitReason { word: masked_text(&words[..end]), ..WaitReason::default() }
}

/// Begins of parts in the sentences of Kueue.
const PARTS_OF_QUEUE: &[&str] = &[
    "insufficient ",
    "flavor ",
    "topology ",
    "untolerated taint",
    "borrowing limit",
    "resource ",
    "couldn't ",
    "pending the preemption",
];

/// Reads what a queue says of a workload that it does not admit.
pub(super) fn of_queue(message: &str) -> Vec<WaitReason> {
    let mut reasons: Vec<WaitReason> = Vec::new();
    // Each set of pods has its own sentence.
    for sentence in message.split("; ") {
        let lower = sentence.to_ascii_lowercase();
        let rest = match lower
            .find("couldn't assign flavors to pod set ")
            .and_then(|place| sentence[place..].find(": ").map(|colon| place + colon + 2))
        {
            Some(begin) => &sentence[begin..],
            None => sentence,
        };
        let mut is_first = true;
        for part in rest.split(", ").take(PARTS_MAX) {
            let part = part.trim().trim_end_matches('.');
            let begins = PARTS_OF_QUEUE.iter().any(|begin| part.to_ascii_lowercase().starts_with(begin));
            match reasons.last_mut().filter(|_| !begins && !is_first) {
                Some(last) => {
                    let more = masked_text(part);
                    last.note =
                        Some(last.note.take().map_or_else(|| more.clone(), |note| format!("{note}, {more}")));
                }
                None if !part.is_empty() => reasons.push(plain(part)),
                None => {}
            }
            is_first = false;
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::{attempt, of_queue};

    fn parts(message: &str) -> Vec<(Option<u64>, String)> {
        attempt(message).reasons.into_iter().map(|reason| (reason.nodes, reason.word)).collect()
    }

    #[test]
    fn nodes_are_counted_by_reason() {
        let message = "0/16 nodes are available: 8 Insufficient nvidia.com/gpu, 3 node(s) had untolerated taint {dedicated: \
                       web}, 5 node(s) didn't match Pod's node affinity/selector. preemption: 0/16 nodes are available: 8 No \
                       preemption victims found for incoming pod, 8 Preemption is not helpful for scheduling.";
        let found = attempt(message);
        assert_eq!(found.nodes, Some(16));
        assert_eq!(
            parts(message),
            [
                (Some(8), "Insufficient nvidia.com/gpu".to_owned()),
                (Some(3), "node(s) had untolerated taint {dedicated: web}".to_owned()),
                (Some(5), "node(s) didn't match Pod's node affinity/selector".to_owned()),
            ]
        );
        let preemption: Vec<(Option<u64>, &str)> =
            found.preemption.iter().map(|reason| (reason.nodes, reason.word.as_str())).collect();
        assert_eq!(
            preemption,
            [
                (Some(8), "No preemption victims found for incoming pod"),
                (Some(8), "Preemption is not helpful for scheduling")
            ]
        );
    }

    #[test]
    fn old_and_other_wordings_are_read() {
        assert_eq!(
            parts(
                "0/3 nodes are available: 1 node(s) had taint {node-role.kubernetes.io/master: }, that the pod didn't tolerate, 2 Insufficient cpu."
            ),
            [
                (
                    Some(1),
                    "node(s) had taint {node-role.kubernetes.io/master: }, that the pod didn't tolerate"
                        .to_owned()
                ),
                (Some(2), "Insufficient cpu".to_owned())
            ]
        );
        assert_eq!(
            parts(
                "No nodes are available that match all of the predicates: Insufficient nvidia.com/gpu (2), PodToleratesNodeTaints (1)."
            ),
            [
                (Some(2), "Insufficient nvidia.com/gpu".to_owned()),
                (Some(1), "PodToleratesNodeTaints".to_owned())
            ]
        );
        assert_eq!(parts("all nodes are unavailable: 4 Insufficient nvidia.com/gpu.")[0].0, Some(4));
        assert_eq!(
            parts("pod has unbound immediate PersistentVolumeClaims"),
            [(None, "pod has unbound immediate PersistentVolumeClaims".to_owned())]
        );
        assert_eq!(parts(""), []);
        assert_eq!(parts("0/1 nodes are available"), []);
        assert_eq!(parts("0/1 nodes are available: 1 Insuffi"), [(Some(1), "Insuffi".to_owned())]);
    }

    #[test]
    fn queues_name_what_is_short_by_flavor() {
        let reasons = of_queue(
            "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor small, request > maximum \
             capacity (8 > 0), insufficient unused quota for nvidia.com/gpu in flavor large, 3 more needed; couldn't assign \
             flavors to pod set head: topology \"rack\" doesn't allow to fit any of 2 pod(s)",
        );
        let words: Vec<(&str, Option<&str>)> =
            reasons.iter().map(|reason| (reason.word.as_str(), reason.note.as_deref())).collect();
        assert_eq!(
            words,
            [
                (
                    "insufficient quota for nvidia.com/gpu in flavor small",
                    Some("request > maximum capacity (8 > 0)")
                ),
                ("insufficient unused quota for nvidia.com/gpu in flavor large", Some("3 more needed")),
                ("topology \"rack\" doesn't allow to fit any of 2 pod(s)", None),
            ]
        );
        assert_eq!(of_queue("Workload no longer fits after processing another workload").len(), 1);
    }
}
