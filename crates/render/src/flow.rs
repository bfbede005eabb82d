//! Breaks running text into lines of a given width, Chinese included.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::values::NO_BREAK;

/// What separates a remark from the text before it.
const REMARK: &str = "   ";

/// Returns how many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Breaks a text into lines of at most `width` columns.
///
/// Lines break at spaces and beside characters that are two columns wide, but never so that a line begins with
/// closing punctuation or ends with an opening bracket. A word that is longer than a line is cut. Runs of spaces
/// inside a line are kept; what follows three spaces is a remark, which has a line of its own if it does not fit.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines: Vec<String> = Vec::new();
    for segment in text.split(REMARK) {
        match lines.last_mut() {
            Some(line) if columns(line) + REMARK.len() + columns(segment) <= width => {
                line.push_str(REMARK);
                line.push_str(&finished(segment));
            }
            _ => lines.extend(segment_lines(segment, width)),
        }
    }
    lines
}

fn segment_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut pending_spaces = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Spaces(spaces) => pending_spaces.push_str(spaces),
            Piece::Word(word) => {
                if !line.is_empty() && columns(&line) + columns(&pending_spaces) + columns(word) > width {
                    lines.push(finished(&line));
                    line.clear();
                } else if !line.is_empty() {
                    line.push_str(&pending_spaces);
                }
                pending_spaces.clear();
                for character in word.chars() {
                    if !line.is_empty() && columns(&line) + character.width().unwrap_or(0) > width {
                        lines.push(finished(&line));
                        line.clear();
                    }
                    line.push(character);
                }
            }
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(finished(&line));
    }
    lines
}

fn finished(line: &str) -> String {
    line.replace(NO_BREAK, " ")
}

enum Piece<'text> {
    Spaces(&'text str),
    Word(&'text str),
}

/// Splits a text into spaces and parts that hold together.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    for (place, character) in text.char_indices() {
        if let Some(before) = before
            && is_border(before, character)
        {
            pieces.push(piece(&text[start..place]));
            start = place;
        }
        before = Some(character);
    }
    if start < text.len() {
        pieces.push(piece(&text[start..]));
    }
    pieces
}

fn piece(part: &str) -> Piece<'_> {
    if part.starts_with(' ') { Piece::Spaces(part) } else { Piece::Word(part) }
}

/// Returns whether a piece ends between two neighbours.
fn is_border(before: char, after: char) -> bool {
    if before == ' ' || after == ' ' {
        return before != after;
    }
    let one_is_wide = before.width() == Some(2) || after.width() == Some(2);
    one_is_wide && !is_closing(after) && !is_opening(before) && before != NO_BREAK && after != NO_BREAK
}

/// Returns whether a character must not begin a line.
fn is_closing(character: char) -> bool {
    matches!(
        character,
        '\u{ff0c}'
            | '\u{3002}'
            | '\u{3001}'
            | '\u{ff1b}'
            | '\u{ff1a}'
            | '\u{ff1f}'
            | '\u{ff01}'
            | '\u{ff09}'
            | '\u{300b}'
            | '\u{300d}'
            | '\u{201d}'
            | '\u{2019}'
            | '\u{2026}'
            | ')'
            | ']'
            | ','
            | '.'
            | ':'
            | ';'
            | '%'
    )
}

/// Returns whether a character must not end a line.
fn is_opening(character: char) -> bool {
    matches!(character, '\u{ff08}' | '\u{300a}' | '\u{300c}' | '\u{201c}' | '\u{2018}' | '(' | '[')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

    use super::{columns, lines};

    #[test]
    fn english_breaks_at_spaces() {
        assert_eq!(lines("waiting for data: the storage", 12), ["waiting for", "data: the", "storage"]);
    }

    #[test]
    fn values_hold_together() {
        assert_eq!(lines("frees 31.2\u{a0}GiB now", 12), ["frees", "31.2 GiB now"]);
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_before_punctuation() {
        assert_eq!(lines("存储跟不上\u{ff0c}数据在等", 10), ["存储跟不", "上\u{ff0c}数据在", "等"]);
        assert_eq!(lines("排除\u{ff08}存储太慢\u{ff09}", 10), ["排除\u{ff08}存储", "太慢\u{ff09}"]);
    }

    #[test]
    fn a_remark_stays_whole_if_it_can() {
        assert_eq!(lines("pack it   (more: gpuwhy rule x)", 40), ["pack it   (more: gpuwhy rule x)"]);
        assert_eq!(lines("pack it   (more: gpuwhy rule x)", 24), ["pack it", "(more: gpuwhy rule x)"]);
    }

    #[test]
    fn a_word_longer_than_the_line_is_cut() {
        assert_eq!(lines("/a/very/long/path", 8), ["/a/very/", "long/pat", "h"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn nothing_is_lost_and_no_line_is_too_wide(text in "[a-z 存\u{ff0c}(\\)%]{0,80}", width in 8_usize..40) {
            let broken = lines(&text, width);
            for line in &broken {
                prop_assert!(columns(line) <= width, "{line:?}");
            }
            let without_spaces = |text: &str| text.chars().filter(|character| *character != ' ').collect::<String>();
            prop_assert_eq!(without_spaces(&broken.concat()), without_spaces(&text));
        }
    }
}
