//! Breaks running text into lines of a given width, Chinese included.

use std::ops::Range;

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
/// What stands between two back-ticks is a command to be copied: it stays on one line if it fits into one, and an
/// option stays with the word before it and with its value.
pub fn lines(text: &str, width: usize) -> Vec<String> {
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
    for piece in pieces(text, width) {
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

/// Splits a text into spaces and parts that hold together in lines of `width` columns.
fn pieces(text: &str, width: usize) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for whole in split(text, &commands(text)) {
        match whole {
            Piece::Word(word) if word.contains(' ') && columns(word) > width => {
                pieces.extend(split(word, &[]));
            }
            whole => pieces.push(whole),
        }
    }
    pieces
}

/// Splits a text at its borders, but for those that are held.
fn split<'text>(text: &'text str, held: &[Range<usize>]) -> Vec<Piece<'text>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    for (place, character) in text.char_indices() {
        if let Some(before) = before
            && is_border(before, character)
            && !held.iter().any(|range| range.contains(&place))
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

/// Returns where no line may break: inside of commands between back-ticks, and around options outside of those.
fn commands(text: &str) -> Vec<Range<usize>> {
    let mut held = Vec::new();
    for (number, (start, part)) in split_with_places(text, '`').enumerate() {
        let end = start + part.len();
        if number % 2 == 1 && text[end..].starts_with('`') {
            held.push(start..end + 1);
        } else {
            held.extend(options(start, part));
        }
    }
    held
}

/// Returns the places of spaces before an option (` -i`), and between it and what follows (`-i 0`).
fn options(offset: usize, text: &str) -> Vec<Range<usize>> {
    let mut held = Vec::new();
    let mut before = "";
    let mut was_option = false;
    for (start, word) in split_with_places(text, ' ') {
        let letters = word.trim_start_matches('-');
        let dashes = word.len() - letters.len();
        let is_option =
            matches!(dashes, 1 | 2) && letters.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_value = was_option && word.starts_with(|first: char| first.is_ascii_alphanumeric());
        if !before.is_empty() && (is_option || is_value) {
            // The space, and the word behind it.
            held.push(offset + start - 1..offset + start + 1);
        }
        before = word;
        // A long option has its value behind `=`.
        was_option = is_option && dashes == 1;
    }
    held
}

/// Splits a text and says where each part begins.
fn split_with_places(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split(separator).map(move |part| {
        let place = start;
        start += part.len() + separator.len_utf8();
        (place, part)
    })
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

    #[test]
    fn a_command_between_back_ticks_stays_on_one_line_if_it_fits() {
        assert_eq!(
            lines("then, as root: `systemctl start x`", 20),
            ["then, as root:", "`systemctl start x`"]
        );
        assert_eq!(
            lines("then: `systemctl start a.service`", 12),
            ["then:", "`systemctl", "start", "a.service`"]
        );
        assert_eq!(
            lines("\u{4ee5} root \u{6267}\u{884c} `systemctl start x`\u{3002}\u{4e4b}\u{540e}", 22),
            ["\u{4ee5} root \u{6267}\u{884c}", "`systemctl start x`\u{3002}", "\u{4e4b}\u{540e}"]
        );
        // A lone mark holds nothing.
        assert_eq!(lines("it's `not a command", 12), ["it's `not a", "command"]);
    }

    #[test]
    fn an_option_stays_with_its_command_and_its_value() {
        assert_eq!(lines("reset it: nvidia-smi -i 0 now", 20), ["reset it:", "nvidia-smi -i 0 now"]);
        assert_eq!(lines("a - b", 8), ["a - b"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn nothing_is_lost_and_no_line_is_too_wide(text in "[a-z`\\- 存\u{ff0c}(\\)%]{0,80}", width in 8_usize..40) {
            let broken = lines(&text, width);
            for line in &broken {
                prop_assert!(columns(line) <= width, "{line:?}");
            }
            let without_spaces = |text: &str| text.chars().filter(|character| *character != ' ').collect::<String>();
            prop_assert_eq!(without_spaces(&broken.concat()), without_spaces(&text));
        }
    }
}
