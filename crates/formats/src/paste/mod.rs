//! What people paste: text of several tools in a row, with prompts, quote marks, colours and frames around it.

mod clean;
mod margin;
mod prompt;

use std::borrow::Cow;

pub use prompt::{command_after_prompt, is_idle_prompt};

/// One line of a paste, with everything taken away that only a terminal, a chat or a web page put around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'text> {
    /// Its number in the text that came in, from 1.
    pub number: u64,
    /// What it says, without line end and trailing blanks.
    pub text: Cow<'text, str>,
}

/// A paste, line by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paste<'text> {
    /// The lines, in order. Frames around them (code fences) are left out.
    pub lines: Vec<Line<'text>>,
}

impl<'text> Paste<'text> {
    /// Cleans a text.
    pub fn of(text: &'text str) -> Self {
        Self::of_lines((1..).zip(text.split('\n')))
    }

    /// Cleans lines, which bear the numbers that they have in a longer text.
    pub fn of_lines(lines: impl IntoIterator<Item = (u64, &'text str)>) -> Self {
        let mut lines: Vec<Line<'text>> = lines
            .into_iter()
            .map(|(number, raw)| Line { number, text: clean::cleaned(raw) })
            .filter(|line| !clean::is_fence(&line.text))
            .collect();
        margin::take_off(&mut lines);
        Self { lines }
    }
}

#[cfg(test)]
mod tests {
    use super::Paste;

    fn texts(text: &str) -> Vec<String> {
        Paste::of(text).lines.iter().map(|line| line.text.clone().into_owned()).collect()
    }

    #[test]
    fn frames_are_left_out_and_numbers_stay() {
        let paste = Paste::of("see:\n```console\n$ nvidia-smi\r\n| a |\n```\n");
        let lines: Vec<(u64, &str)> =
            paste.lines.iter().map(|line| (line.number, line.text.as_ref())).collect();
        assert_eq!(lines, [(1, "see:"), (3, "$ nvidia-smi"), (4, "| a |"), (6, "")]);
    }

    #[test]
    fn marks_of_chats_and_editors_are_taken_off() {
        assert_eq!(texts("> one\n>  two\n>\n> three"), ["one", " two", "", "three"]);
        assert_eq!(texts("  7  one\n  8    two\n  9\n 10  three"), ["one", "  two", "", "three"]);
        assert_eq!(texts("web-1  | one\nweb-1  | two\nweb-1  | three"), ["one", "two", "three"]);
        assert_eq!(texts("    one\n      two\n\n    three"), ["one", "  two", "", "three"]);
    }

    #[test]
    fn what_only_looks_like_a_mark_stays() {
        assert_eq!(texts("> one\ntwo\nthree\nfour"), ["> one", "two", "three", "four"]);
        assert_eq!(texts("1 2 3\n4 5 6\n9 8 7"), ["1 2 3", "4 5 6", "9 8 7"]);
        assert_eq!(texts("| a |\n| b |\n| c |"), ["| a |", "| b |", "| c |"]);
    }
}
