//! Why a job waits, as Slurm writes it: `(Resources)`, `(ReqNodeNotAvail, UnavailableNodes:n[1-3])`, a sentence.

use gpuwhy_knowledge::{slurm_reason, slurm_reason_begun, slurm_reason_word, slurm_sentence};
use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::scene::WaitReason;

use super::hostlist;

/// Returns the reason that a cell holds; none where it holds nothing. A cell in brackets is surely a reason.
pub(super) fn reason(text: &str) -> Option<WaitReason> {
    let is_bracketed = text.trim_start().starts_with('(');
    let (text, is_cut) = unwrapped(text);
    if text.is_empty() || text.eq_ignore_ascii_case("null") {
        return None;
    }
    let (word, rest) = word_and_rest(text);
    if let Some(word) = slurm_reason_word(word) {
        return Some(with_rest(word, rest));
    }
    let is_sentence = slurm_sentence(text).is_some();
    if !is_sentence
        && (is_cut || is_bracketed)
        && let Some(whole) = slurm_reason_begun(text)
    {
        return Some(WaitReason { word: whole.to_owned(), ..WaitReason::default() });
    }
    Some(WaitReason { word: masked_text(text), named_nodes: named_nodes(text), ..WaitReason::default() })
}

/// Returns the reason that a cell holds if it is one that Slurm is known to give.
pub(super) fn known_reason(text: &str) -> Option<WaitReason> {
    reason(text).filter(|reason| slurm_reason(&reason.word).is_some())
}

/// Returns a text without brackets around it, and whether its closing one is missing.
fn unwrapped(text: &str) -> (&str, bool) {
    let mut text = text.trim().trim_matches('"').trim();
    let mut is_cut = false;
    while let Some(inside) = text.strip_prefix('(') {
        if let Some(whole) = inside.strip_suffix(')') {
            text = whole.trim();
        } else {
            is_cut = true;
            text = inside.trim();
        }
    }
    (text, is_cut)
}

/// Returns the first word and what follows its comma, colon or bracket.
fn word_and_rest(text: &str) -> (&str, &str) {
    // `scontrol` writes bars where others write blanks.
    let end = text.find([',', '(', ':', ' ']).unwrap_or(text.len());
    (&text[..end], &text[end..])
}

fn with_rest(word: &str, rest: &str) -> WaitReason {
    let rest = rest.trim_start_matches([',', '(', ':', ' ', '_']).trim_end_matches(')').trim();
    WaitReason {
        word: word.to_owned(),
        note: (!rest.is_empty() && rest != "null").then(|| masked_text(rest)),
        named_nodes: named_nodes(rest),
        nodes: None,
    }
}

/// Returns the nodes that a text names as unavailable.
fn named_nodes(text: &str) -> Vec<String> {
    let marks = ["UnavailableNodes:", "Unavailable:"];
    let list = marks.iter().find_map(|mark| text.split_once(mark)).map(|(_, list)| list);
    let end = |list: &str| list.find(|sign: char| sign.is_whitespace() || sign == ')').unwrap_or(list.len());
    list.map(|list| hostlist::names(&list[..end(list)])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{known_reason, reason};

    fn parts(text: &str) -> Option<(String, Option<String>, Vec<String>)> {
        reason(text).map(|reason| (reason.word, reason.note, reason.named_nodes))
    }

    fn word(text: &str) -> Option<String> {
        reason(text).map(|reason| reason.word)
    }

    #[test]
    fn words_with_and_without_brackets() {
        assert_eq!(word("(Resources)").as_deref(), Some("Resources"));
        assert_eq!(word("QOSMaxGresPerUser").as_deref(), Some("QOSMaxGRESPerUser"));
        assert_eq!(word("((Dependency))").as_deref(), Some("Dependency"));
        assert_eq!(word("None").as_deref(), Some("None"));
        assert_eq!((word(""), word("(null)"), word("()")), (None, None, None));
    }

    #[test]
    fn named_nodes_are_unfolded() {
        let nodes = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (word, note, named) = parts("(ReqNodeNotAvail, UnavailableNodes:n[01-02],x1)").unwrap();
        assert_eq!(word, "ReqNodeNotAvail");
        assert_eq!(note.as_deref(), Some("UnavailableNodes:n[01-02],x1"));
        assert_eq!(named, nodes(&["n01", "n02", "x1"]));
        let (word, _, named) = parts("ReqNodeNotAvail(Unavailable:n3)").unwrap();
        assert_eq!((word.as_str(), named), ("ReqNodeNotAvail", nodes(&["n3"])));
        let (word, note, named) = parts("(ReqNodeNotAvail, Reserved for maintenance)").unwrap();
        assert_eq!((word.as_str(), note.as_deref()), ("ReqNodeNotAvail", Some("Reserved for maintenance")));
        assert!(named.is_empty());
    }

    #[test]
    fn sentences_and_what_is_cut() {
        let whole =
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions";
        assert_eq!(word(&format!("({whole})")).as_deref(), Some(whole));
        assert!(known_reason("(Nodes required for job are DOWN, DRAINED or rese").is_some());
        assert_eq!(word("(ReqNodeNotAv").as_deref(), Some("ReqNodeNotAvail"));
        assert_eq!(word("(AssocGrp").as_deref(), Some("AssocGrp"), "many words begin so");
        assert!(known_reason("hello world").is_none());
        assert!(known_reason("(launch failed requeued held)").is_some());
    }
}
