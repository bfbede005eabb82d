//! Keeps names and other raw data from steering the terminal.

use std::borrow::Cow;

/// Returns the text with every character escaped that could steer a terminal or reorder a line: control
/// characters, line and paragraph separators, bidirectional overrides, invisible characters.
pub fn safe(raw: &str) -> Cow<'_, str> {
    if !raw.chars().any(is_unsafe) {
        return Cow::Borrowed(raw);
    }
    let mut shown = String::with_capacity(raw.len() + 8);
    for character in raw.chars() {
        if is_unsafe(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether a character changes more than its own cell of the screen.
pub(crate) fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn steering_characters_are_escaped() {
        assert_eq!(safe("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(safe("exe\u{202e}txt"), "exe\\u{202e}txt");
        assert_eq!(safe("x\u{9b}31m\u{2066}y\u{200b}"), "x\\u{9b}31m\\u{2066}y\\u{200b}");
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        assert_eq!(safe("train.py 训练 é"), "train.py 训练 é");
    }
}
