//! A row of events, below `Events:` of a description or alone: type, word, age, who, sentence.

use super::event::{Event, is_known};
use super::quantity::seconds;

/// The kinds of events.
const KINDS: &[&str] = &["Normal", "Warning"];

/// Reads a row: `Warning  FailedScheduling  16m (x70 over 5h43m)  default-scheduler  0/1 nodes are available: …`, and the
/// oldest form, in which times and counts come first.
pub(super) fn event_row(text: &str) -> Option<Event> {
    let text = text.trim();
    let kind = KINDS.iter().find(|kind| text.starts_with(**kind));
    let Some(kind) = kind else {
        return oldest_row(text);
    };
    let rest = text[kind.len()..].strip_prefix([' ', '\t'])?.trim_start();
    let (reason, rest) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    if !is_word(reason) {
        return None;
    }
    let (age_s, rest) = age(rest.trim_start())?;
    let (from, message) = from_and_message(rest.trim_start());
    Some(Event {
        reason: reason.to_owned(),
        from: from.to_owned(),
        message: message.trim().to_owned(),
        age_s,
        ..Event::default()
    })
}

/// Returns whether a word can be that of an event.
fn is_word(word: &str) -> bool {
    is_known(word)
        || word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Takes an age off: `16m`, `16m (x70 over 5h43m)`, `<unknown>`; one of them must be there.
fn age(text: &str) -> Option<(Option<f64>, &str)> {
    if let Some(rest) = text.strip_prefix("<unknown>").or_else(|| text.strip_prefix("<invalid>")) {
        return Some((None, after_count(rest)));
    }
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    let age = seconds(&text[..end])?;
    Some((Some(age), after_count(&text[end..])))
}

/// Takes `(x70 over 5h43m)` off.
fn after_count(text: &str) -> &str {
    let rest = text.trim_start();
    let counted = rest.strip_prefix("(x").and_then(|rest| rest.split_once(')'));
    counted.map_or(text, |(_, rest)| rest)
}

/// Splits who says it from the sentence: at two blanks, else behind the first word (`kubelet, node-1` are two).
fn from_and_message(text: &str) -> (&str, &str) {
    if let Some(place) = text.find("  ").or_else(|| text.find('\t')) {
        let from = &text[..place];
        // A sentence may hold two blanks itself.
        if from.len() <= 80 && from.split_whitespace().count() <= 2 {
            return (from, &text[place..]);
        }
    }
    let Some((from, rest)) = text.split_once(' ') else {
        return (text, "");
    };
    if from.ends_with(',')
        && let Some((node, message)) = rest.split_once(' ')
    {
        return (&text[..from.len() + 1 + node.len()], message);
    }
    (from, rest)
}

/// `5m  5m  1  {default-scheduler }  Normal  Scheduled  Successfully …`
fn oldest_row(text: &str) -> Option<Event> {
    let mut words = text.split_whitespace();
    let (first, last) = (words.next()?, words.next()?);
    seconds(first)?;
    let age_s = seconds(last)?;
    words.next()?.parse::<u64>().ok()?;
    let place = KINDS
        .iter()
        .find_map(|kind| text.find(&format!(" {kind} ")).or_else(|| text.find(&format!("\t{kind}\t"))))?;
    let mut rest = text[place..].split_whitespace();
    rest.next()?;
    let reason = rest.next()?;
    is_word(reason).then_some(())?;
    let behind = text[place..].find(reason)? + place + reason.len();
    let from =
        text.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or("", |(from, _)| from.trim());
    Some(Event {
        reason: reason.to_owned(),
        from: from.to_owned(),
        message: text[behind..].trim().to_owned(),
        age_s: Some(age_s),
        ..Event::default()
    })
}

#[cfg(test)]
mod tests {
    use super::event_row;

    fn parts(text: &str) -> Option<(String, Option<f64>, String, String)> {
        event_row(text).map(|event| (event.reason, event.age_s, event.from, event.message))
    }

    #[test]
    fn rows_are_read_however_they_are_spaced() {
        let expected = |age, from: &str, message: &str| {
            Some(("FailedScheduling".to_owned(), age, from.to_owned(), message.to_owned()))
        };
        let message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
        assert_eq!(
            parts(&format!(
                "  Warning  FailedScheduling  16m (x70 over 5h43m)  default-scheduler  {message}"
            )),
            expected(Some(960.0), "default-scheduler", message)
        );
        assert_eq!(
            parts(&format!("Warning FailedScheduling 16m (x70 over 5h43m) default-scheduler {message}")),
            expected(Some(960.0), "default-scheduler", message)
        );
        assert_eq!(
            parts(&format!("Warning  FailedScheduling  <unknown>  default-scheduler  {message}")),
            expected(None, "default-scheduler", message)
        );
        assert_eq!(
            parts("  Normal  Pulled  5s  kubelet, gpu-node-1  Container image already present"),
            Some((
                "Pulled".into(),
                Some(5.0),
                "kubelet, gpu-node-1".into(),
                "Container image already present".into()
            ))
        );
        assert_eq!(
            parts(
                "  5m\t\t4m\t\t3\t{default-scheduler }\t\tWarning\t\tFailedScheduling\tpod (x) failed to fit in any node"
            ),
            expected(Some(240.0), "default-scheduler", "pod (x) failed to fit in any node")
        );
    }

    #[test]
    fn other_lines_are_no_rows() {
        for line in [
            "",
            "Warning: this is bad",
            "Normal operation resumed",
            "Warning  foo  bar",
            "5m 4m x",
            "  Type  Reason  Age",
        ] {
            assert_eq!(event_row(line), None, "{line}");
        }
    }
}
