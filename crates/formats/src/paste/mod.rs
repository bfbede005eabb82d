//! What people paste: text of several tools in a row, with prompts, quote marks, colours and frames around it.

mod blocks;
mod borders;
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
        borders::mend(&mut lines);
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
    fn marks_of_a_part_of_a_text_are_taken_off() {
        assert_eq!(
            texts("see\n\n> one\n>  two\n>\n> > three\nso?\nyes\nno"),
            ["see", "", "one", " two", "", "three", "so?", "yes", "no"]
        );
        assert_eq!(texts("a\nb\n> >>> import torch\n> 1\nc"), ["a", "b", ">>> import torch", "1", "c"]);
        // A text that quotes may quote one line elsewhere.
        assert_eq!(texts("> one\n> two\nthree\n> four\nfive"), ["one", "two", "three", "four", "five"]);
        let numbered = "look:\n\n1  +--------+\n2  |  a     |\n3  |  b     |\n4  +--------+\nwhy?\nplease";
        assert_eq!(texts(numbered)[2..6], ["+--------+", "|  a     |", "|  b     |", "+--------+"]);
        let of_a_node = "look:\nso\nn7: +--------+\nn7: |  a     |\nn7: |  b     |\nn7: +--------+\nwhy?";
        assert_eq!(texts(of_a_node)[2..6], ["+--------+", "|  a     |", "|  b     |", "+--------+"]);
        let comment = "set -e\nx=1\n# +--------+\n# |  a     |\n# |  b     |\n# +--------+\nrun";
        assert_eq!(texts(comment)[2..6], ["+--------+", "|  a     |", "|  b     |", "+--------+"]);
    }

    #[test]
    fn lines_keep_the_numbers_of_the_text() {
        let paste = Paste::of("see\n\n> one\n> two\nso?\nwhat\nnow");
        let numbers: Vec<u64> = paste.lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn second_prompts_comparisons_and_tables_are_no_quotations() {
        let typed = "$ docker run \\\n> --gpus all \\\n> image\nstarted\nup\ndone\nend";
        let loop_typed = "$ for i in 0 1; do\n> nvidia-smi -i $i\n> done\na\nb\nc\nd";
        let document = "$ cat > run.sh <<EOF\n> nvidia-smi\n> EOF\na\nb\nc\nd";
        let compared = "3,4c3,4\n< one\n< two\n---\n> three\n> four\n9a10\n> five\n> six";
        let python = ">>> import torch\n>>> x = 1\n>>> torch.cuda.is_available()\nTrue\na\nb\nc";
        let counted = "gpu sm mem\n0  45  52\n1  44  51\n2  40  50\n3  41  49\nend of it\nx\ny";
        let nodes = "a: +--------+\na: |  1     |\na: |  2     |\na: +--------+\n\
                     b: +--------+\nb: |  1     |\nb: |  2     |\nb: +--------+";
        for text in [typed, loop_typed, document, compared, python, counted, nodes] {
            let whole: Vec<&str> = text.split('\n').collect();
            assert_eq!(texts(text), whole);
        }
    }

    #[test]
    fn what_only_looks_like_a_mark_stays() {
        assert_eq!(texts("> one\ntwo\nthree\nfour"), ["> one", "two", "three", "four"]);
        assert_eq!(texts("1 2 3\n4 5 6\n9 8 7"), ["1 2 3", "4 5 6", "9 8 7"]);
        assert_eq!(texts("| a |\n| b |\n| c |"), ["| a |", "| b |", "| c |"]);
    }
}
