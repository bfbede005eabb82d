//! What stands before every line of a part of a text: a quoted table in an answer, a numbered excerpt among prose.

use std::ops::Range;

use super::Line;
use super::margin::{cut_front, numbered, quoted};
use super::prompt::command_after_prompt;

/// Fewer lines in a row prove no quotation.
const QUOTED_MIN: usize = 2;

/// Fewer lines in a row prove no margin of another kind.
const MARGIN_MIN: usize = 4;

/// Marks of comments and of frames.
const COMMENT_MARKS: &[&str] = &["#", "//", "│", "┃"];

/// How commands end that go on in the next line, behind another prompt.
const UNFINISHED: &[&str] = &["|", "&&", "||", " do", " then", "{", "("];

/// Takes off what the lines of a block bear before their text.
pub(super) fn take_off(lines: &mut [Line<'_>]) {
    take_off_quotes(lines);
    for block in runs(
        lines,
        |text| numbered(text).map(|(number, _)| number),
        |one, next| one.checked_add(1) == Some(*next),
    ) {
        cut_block(lines, block, |text| numbered(text).map(|(_, rest)| rest));
    }
    for block in runs(lines, |text| commented(text).map(|(mark, _)| mark), PartialEq::eq) {
        cut_block(lines, block, |text| commented(text).map(|(_, rest)| rest));
    }
    // Two machines that print a table each stay two.
    let named_blocks: Vec<Range<usize>> =
        runs(lines, |text| named(text).map(|(name, _)| name), PartialEq::eq)
            .into_iter()
            .filter(|block| is_margin(&lines[block.clone()], |text| named(text).map(|(_, rest)| rest)))
            .collect();
    let mut names = named_blocks.iter().map(|block| named(&lines[block.start].text).map(|(name, _)| name));
    let first = names.next();
    if names.all(|name| Some(name) == first) {
        for block in named_blocks {
            cut_block(lines, block, |text| named(text).map(|(_, rest)| rest));
        }
    }
}

/// Takes off quote marks: a text that quotes several lines in a row may quote one line elsewhere.
fn take_off_quotes(lines: &mut [Line<'_>]) {
    let blocks: Vec<Range<usize>> = runs(lines, quoted_in_block, |_, _| true)
        .into_iter()
        .filter(|block| !goes_on_typed(&lines[..block.start]) && !is_compared(&lines[..block.start]))
        .collect();
    if !blocks.iter().any(|block| block.len() >= QUOTED_MIN) {
        return;
    }
    for block in blocks {
        cut(&mut lines[block], quoted_in_block);
    }
}

/// Returns the runs of lines that bear a mark, each of which follows from the one before.
fn runs<'text, Mark>(
    lines: &'text [Line<'_>],
    mark: impl Fn(&'text str) -> Option<Mark>,
    follows: impl Fn(&Mark, &Mark) -> bool,
) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut before: Option<Mark> = None;
    for (place, line) in lines.iter().enumerate() {
        let own = mark(&line.text);
        if let Some(own) = &own {
            let is_next = before.as_ref().is_some_and(|before| follows(before, own));
            match runs.last_mut().filter(|_| is_next) {
                Some(run) => run.end = place + 1,
                None => runs.push(place..place + 1),
            }
        }
        before = own;
    }
    runs
}

fn cut_block(lines: &mut [Line<'_>], block: Range<usize>, mark: impl Fn(&str) -> Option<&str>) {
    let block = &mut lines[block];
    if is_margin(block, &mark) {
        cut(block, mark);
    }
}

fn cut(block: &mut [Line<'_>], mark: impl Fn(&str) -> Option<&str>) {
    for line in block {
        if let Some(length) = mark(&line.text).map(|rest| line.text.len() - rest.len()) {
            cut_front(line, length);
        }
    }
}

/// Returns whether what a block bears is no part of it: only a margin stands before a drawn line, or a log's first words.
fn is_margin(block: &[Line<'_>], mark: impl Fn(&str) -> Option<&str>) -> bool {
    block.len() >= MARGIN_MIN
        && block.iter().filter_map(|line| mark(&line.text)).any(|rest| {
            let rest = rest.trim();
            is_drawn(rest) || rest.starts_with("Traceback (most recent") || begins_with_kernel_time(rest)
        })
}

fn is_drawn(text: &str) -> bool {
    text.len() >= 8 && text.bytes().all(|byte| b"+-=|".contains(&byte)) && text.contains(['-', '='])
}

/// `[  123.456789] `
fn begins_with_kernel_time(text: &str) -> bool {
    let time = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    time.is_some_and(|(time, _)| time.contains('.') && time.trim().parse::<f64>().is_ok())
}

/// Returns what stands behind a quote mark; `>>>` is Python's prompt, `>=` compares.
fn quoted_in_block(text: &str) -> Option<&str> {
    let begin = text.trim_start();
    quoted(text).filter(|_| !begin.starts_with(">>>") && !begin.starts_with(">="))
}

/// Returns whether a command before goes on: what follows stands behind the shell's second prompt.
fn goes_on_typed(before: &[Line<'_>]) -> bool {
    let Some(last) = before.last() else {
        return false;
    };
    if last.text.ends_with('\\') || last.text.contains("<<") {
        return true;
    }
    command_after_prompt(&last.text).is_some_and(|command| {
        let is_open = |mark: char| command.matches(mark).count() % 2 == 1;
        UNFINISHED.iter().any(|end| command.ends_with(end)) || is_open('"') || is_open('\'')
    })
}

/// Returns whether `diff` said before which lines follow: `12,14c12,15`, or `---` below the lines of the other file.
fn is_compared(before: &[Line<'_>]) -> bool {
    let Some((last, others)) = before.split_last() else {
        return false;
    };
    let text = last.text.as_ref();
    let is_place =
        text.split_once(['a', 'c', 'd']).is_some_and(|(old, new)| [old, new].into_iter().all(is_range));
    is_place || text == "---" && others.last().is_some_and(|line| line.text.starts_with('<'))
}

/// `12` or `12,14`
fn is_range(text: &str) -> bool {
    text.split(',').all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the mark of a comment, or of a frame, and what stands behind it.
fn commented(text: &str) -> Option<(&'static str, &str)> {
    let text = text.trim_start();
    COMMENT_MARKS.iter().find_map(|mark| {
        let rest = text.strip_prefix(mark)?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| (*mark, rest.strip_prefix(' ').unwrap_or(rest)))
    })
}

/// Returns a name and what stands behind it, as `pdsh` and `docker compose` write it: `node7: text`, `web-1 | text`.
fn named(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_./".contains(letter))?;
    let (name, rest) = text.split_at(end);
    let is_name = name.bytes().any(|byte| byte.is_ascii_alphabetic());
    let rest = rest.strip_prefix(':').or_else(|| rest.trim_start().strip_prefix('|'))?;
    is_name.then(|| (name, rest.strip_prefix(' ').unwrap_or(rest)))
}
