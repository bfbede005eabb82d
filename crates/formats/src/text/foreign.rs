//! Documents that no format knows: they are passed over as a whole, so that nobody is asked about each of their lines.

use crate::paste::{Line, command_after_prompt};

/// Returns how many lines a JSON document has that begins with the first one; none if none does.
pub(super) fn document(lines: &[Line<'_>]) -> Option<usize> {
    if !begins(lines) {
        return None;
    }
    let mut depth = 0_usize;
    let mut state = State::Outside;
    for (place, line) in lines.iter().enumerate() {
        if place > 0 && !looks_inside(&line.text) {
            // Its end is missing: what follows is something else.
            return Some(place);
        }
        for byte in line.text.bytes() {
            state = match (state, byte) {
                (State::Outside, b'{' | b'[') => {
                    depth += 1;
                    State::Outside
                }
                (State::Outside, b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(place + 1);
                    }
                    State::Outside
                }
                (State::Outside, b'"') | (State::Escaped, _) => State::String,
                (State::String, b'"') => State::Outside,
                (State::String, b'\\') => State::Escaped,
                (state, _) => state,
            };
        }
        // A string ends on its line.
        state = State::Outside;
    }
    Some(lines.len())
}

#[derive(Debug, Clone, Copy)]
enum State {
    Outside,
    String,
    Escaped,
}

/// Returns whether a document of several lines begins with the first one.
fn begins(lines: &[Line<'_>]) -> bool {
    let mut texts = lines.iter().map(|line| line.text.trim()).filter(|text| !text.is_empty());
    let (Some(first), Some(second)) = (texts.next(), texts.next()) else {
        return false;
    };
    let behind = first.strip_prefix(['{', '[']).map(str::trim_start);
    let opens = behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(['"', '{', '[']));
    // A log's line begins with a bracket too, and `{` may stand anywhere.
    opens && !first.ends_with('}') && second.starts_with(['"', '{', '[', '}', ']'])
}

/// Returns whether a line may stand inside a document.
fn looks_inside(text: &str) -> bool {
    let text = text.trim_start();
    let is_value = |first: char| "\"{}[],-".contains(first) || first.is_ascii_digit();
    let is_word = ["true", "false", "null"].iter().any(|word| text.starts_with(word));
    (text.is_empty() || text.starts_with(is_value) || is_word) && command_after_prompt(text).is_none()
}

#[cfg(test)]
mod tests {
    use super::document;
    use crate::paste::Paste;

    fn length(text: &str) -> Option<usize> {
        document(&Paste::of(text).lines)
    }

    #[test]
    fn a_document_ends_with_its_last_bracket() {
        assert_eq!(length("{\n  \"a\": [1,\n  2], \"b\": \"}\\\"}\"\n}\n$ free\n"), Some(4));
        assert_eq!(length("[\n{\"a\": 1}\n]\nrest"), Some(3));
        assert_eq!(length("{\"a\": {\n\"b\": 2\n}}"), Some(3));
    }

    #[test]
    fn one_without_an_end_reaches_as_far_as_it_looks_like_one() {
        assert_eq!(length("{\n\"a\": [\n1,\n2\n\nfree\n}"), Some(5));
        assert_eq!(length("{\n\"a\": [\n1,"), Some(3));
    }

    #[test]
    fn other_lines_begin_none() {
        for text in [
            "",
            "{",
            "{\"a\": 1}\n{\"b\": 2}",
            "[ 1.0] NVRM: x\n[ 1.1] y",
            "[12] x\n\"a\"",
            "{ x\n}",
            "a {\n\"b\"",
        ] {
            assert_eq!(length(text), None, "{text}");
        }
    }
}
