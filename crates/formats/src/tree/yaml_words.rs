//! Keys and values of YAML inside one line: quotes, comments, marks, small flow values.

use super::Tree;

/// A row of `key:` is no longer.
const KEY_MAX: usize = 300;

/// Returns whether a text opens a block text: `|`, `>-`, `|2+`.
pub(super) fn is_head_of_block(text: &str) -> bool {
    without_comment(text)[1..].bytes().all(|byte| b"+-0123456789".contains(&byte))
}

/// Splits `key: value`; a key may be quoted, and may itself hold colons (`k:{"type":"Ready"}:`).
pub(super) fn key_and_value(text: &str) -> Option<(String, &str)> {
    if let Some(quote) = text.chars().next().filter(|first| "\"'".contains(*first)) {
        let end = text[1..].find(quote)? + 1;
        let value = text[end + 1..].strip_prefix(':')?;
        return (value.is_empty() || value.starts_with(' ')).then(|| (text[1..end].to_owned(), value.trim()));
    }
    let (key, value) = match text.split_once(": ") {
        Some((key, value)) => (key, without_comment_alone(value.trim())),
        None => (text.strip_suffix(':')?, ""),
    };
    let is_key = !key.is_empty()
        && key.len() <= KEY_MAX
        && !key.starts_with(['{', '[', '|', '>', '@', '%', '&', '!'])
        && !key.contains(['\t']);
    is_key.then(|| (key.trim_end().to_owned(), value))
}

/// Drops a value that is nothing but a comment.
pub(super) fn without_comment_alone(value: &str) -> &str {
    if value.starts_with('#') { "" } else { value }
}

pub(super) fn without_comment(text: &str) -> &str {
    text.split_once(" #").map_or(text, |(text, _)| text.trim_end())
}

/// Drops a type or a mark before a value.
pub(super) fn without_tag(text: &str) -> &str {
    let mut rest = text;
    while rest.starts_with(['!', '&']) {
        let Some((_, behind)) = rest.split_once(' ') else {
            return "";
        };
        rest = behind.trim_start();
    }
    rest
}

/// Returns the text up to the closing quote, if it is there.
pub(super) fn unquoted(text: &str, quote: char) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == quote {
            if quote == '\'' && characters.next_if_eq(&'\'').is_some() {
                plain.push('\'');
                continue;
            }
            return Some(plain);
        }
        if character != '\\' || quote == '\'' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('u') => {
                let code: String = characters.by_ref().take(4).collect();
                plain
                    .push(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).unwrap_or('\u{fffd}'));
            }
            Some(other) => plain.push(other),
            None => return None,
        }
    }
    None
}

/// Reads `{a: b, c: d}` and `[a, b]` of plain words, one level deep.
pub(super) fn plain_flow(text: &str) -> Option<Tree> {
    let text = without_comment(text);
    let word = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let words = inside.split(',').map(word).filter(|word| !word.is_empty());
        return Some(Tree::List(words.map(Tree::Text).collect()));
    }
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    if inside.contains(['{', '[']) {
        return None;
    }
    let entries = inside.split(',').filter(|entry| !entry.trim().is_empty());
    let entries: Option<Vec<(String, Tree)>> = entries
        .map(|entry| entry.split_once(':').map(|(key, value)| (word(key), Tree::Text(word(value)))))
        .collect();
    Some(Tree::Map(entries?))
}
