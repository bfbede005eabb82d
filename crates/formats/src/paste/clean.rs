//! One line without what a terminal or a web page put into it.

use std::borrow::Cow;

/// Names of characters as web pages write them.
const ENTITIES: &[(&str, &str)] =
    &[("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];

/// Returns a line without colours, overwritten beginnings, names of characters and trailing blanks.
pub(super) fn cleaned(raw: &str) -> Cow<'_, str> {
    let raw = raw.trim_end_matches('\r');
    // A progress bar goes back to the beginning of the line: what was written last is what stands there.
    let raw = raw.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
    let mut text = without_escapes(raw);
    // Where a tag stands as it is, names of characters are part of the text.
    if text.contains('&') && !text.contains('<') && ENTITIES.iter().any(|(name, _)| text.contains(name)) {
        let named = ENTITIES.iter().fold(text.into_owned(), |text, (name, mark)| text.replace(name, mark));
        text = Cow::Owned(named);
    }
    if text.contains('\u{a0}') {
        text = Cow::Owned(text.replace('\u{a0}', " "));
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
    }
}

/// Returns whether a line only opens or closes a frame of Markdown.
pub(super) fn is_fence(text: &str) -> bool {
    let text = text.trim_start_matches(['>', ' ']);
    let Some(rest) = text.strip_prefix("```").or_else(|| text.strip_prefix("~~~")) else {
        return false;
    };
    rest.chars().all(|character| character.is_ascii_alphanumeric() || "-_+`~ ".contains(character))
}

/// Returns a text without control sequences of terminals (ECMA-48) and without other control characters but the tab.
fn without_escapes(raw: &str) -> Cow<'_, str> {
    let is_control = |character: char| character.is_control() && character != '\t';
    if !raw.contains(is_control) {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next() {
                // A control sequence ends with its letter.
                Some('[') => while characters.next().is_some_and(|part| !('@'..='~').contains(&part)) {},
                // A command to the terminal ends with a bell, or with an escape and a backslash.
                Some(']') => {
                    while let Some(part) = characters.next() {
                        if part == '\u{7}' || part == '\u{1b}' && characters.next_if_eq(&'\\').is_some() {
                            break;
                        }
                    }
                }
                // Choosing a set of characters takes one more.
                Some('(' | ')') => drop(characters.next()),
                _ => {}
            },
            '\u{8}' => drop(text.pop()),
            // What separates cells keeps them apart.
            '\u{1f}' => text.push('\t'),
            other if is_control(other) => {}
            plain => text.push(plain),
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::{cleaned, is_fence};

    #[test]
    fn colours_and_controls_go() {
        assert_eq!(cleaned("\u{1b}[1;31m| ERR! |\u{1b}[0m  "), "| ERR! |");
        assert_eq!(cleaned("\u{1b}]0;title\u{7}a\u{1b}(B\u{0}b"), "ab");
        assert_eq!(cleaned("\u{1b}]8;;http://x\u{1b}\\link"), "link");
        assert_eq!(cleaned("ab\u{8}c\u{1b}["), "ac");
        assert_eq!(cleaned("a\tb"), "a\tb");
        assert_eq!(cleaned("\u{1e}4\u{1f}n1\u{1f}gpu"), "4\tn1\tgpu");
    }

    #[test]
    fn the_last_writing_stands() {
        assert_eq!(cleaned(" 10%|#\r 50%|###\r100%|####\r"), "100%|####");
        assert_eq!(cleaned("\r"), "");
    }

    #[test]
    fn names_of_characters_are_read() {
        assert_eq!(cleaned("a &lt;b&gt; &amp;lt;"), "a <b> &lt;");
        assert_eq!(cleaned("x & y"), "x & y");
        assert_eq!(cleaned("<name>a &amp; b</name>"), "<name>a &amp; b</name>");
    }

    #[test]
    fn frames_are_known() {
        for fence in ["```", "```console", "> ```", "~~~", "````"] {
            assert!(is_fence(fence), "{fence}");
        }
        assert!(!is_fence("``` says: x.y()") && !is_fence("| ``` |"));
    }
}
