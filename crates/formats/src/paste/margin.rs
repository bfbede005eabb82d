//! What stands before every line: quote marks, line numbers, the name of a container, blanks.

use std::borrow::Cow;

use super::{Line, blocks};

/// So large a share of the lines must bear a mark before it is taken for one.
const MOST: f64 = 0.8;

/// Fewer lines prove no habit.
const LINES_MIN: usize = 3;

/// Takes off what most lines bear before their text, and what the lines of a part of it bear.
pub(super) fn take_off(lines: &mut [Line<'_>]) {
    take_off_where_most(lines, quoted);
    if are_numbered(lines) {
        take_off_where_most(lines, |text| numbered(text).map(|(_, rest)| rest));
    }
    if let Some(name) = common_name(lines) {
        take_off_where_most(lines, |text| {
            after_name(text).filter(|(own, _)| *own == name).map(|(_, rest)| rest)
        });
    }
    blocks::take_off(lines);
    take_off_blanks(lines);
}

fn take_off_where_most(lines: &mut [Line<'_>], mark: impl Fn(&str) -> Option<&str>) {
    let written = lines.iter().filter(|line| !line.text.trim().is_empty());
    let (all, marked) = written.fold((0_usize, 0_usize), |(all, marked), line| {
        (all + 1, marked + usize::from(mark(&line.text).is_some()))
    });
    if all < LINES_MIN || (marked as f64) < all as f64 * MOST {
        return;
    }
    for line in lines {
        if let Some(length) = mark(&line.text).map(|rest| line.text.len() - rest.len()) {
            cut_front(line, length);
        }
    }
}

/// Takes so many bytes off the front of a line; the rest begins at a boundary of characters.
pub(super) fn cut_front(line: &mut Line<'_>, length: usize) {
    match &mut line.text {
        Cow::Borrowed(text) => *text = text.get(length..).unwrap_or_default(),
        Cow::Owned(text) => drop(text.drain(..length.min(text.len()))),
    }
}

/// Returns what stands behind a quote mark; each level of quoting has one.
pub(super) fn quoted(text: &str) -> Option<&str> {
    let mut rest = text.trim_start().strip_prefix('>')?;
    // Three signs behind a blank are Python's prompt, which somebody quotes.
    let deeper = |rest: &str| !rest.starts_with(" >>> ");
    while let Some(behind) =
        rest.strip_prefix('>').or_else(|| rest.strip_prefix(" >").filter(|_| deeper(rest)))
    {
        rest = behind;
    }
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// Returns a line's number and what stands behind it: after a colon, a bar, a tab, or two blanks.
pub(super) fn numbered(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text.get(..digits)?.parse().ok()?;
    let rest = &text[digits..];
    if rest.is_empty() {
        return Some((number, rest));
    }
    let marks = [":\t", ": ", ":", "|", "\t", "  "];
    marks.iter().find_map(|mark| rest.strip_prefix(mark)).map(|rest| (number, rest))
}

/// Returns whether lines count upwards one by one.
fn are_numbered(lines: &[Line<'_>]) -> bool {
    let numbers: Vec<Option<u64>> = lines
        .iter()
        .filter(|line| !line.text.trim().is_empty())
        .map(|line| numbered(&line.text).map(|(number, _)| number))
        .collect();
    let steps = numbers.windows(2).filter(|pair| match pair {
        [Some(one), Some(next)] => one.checked_add(1) == Some(*next),
        _ => false,
    });
    numbers.len() >= LINES_MIN && steps.count() as f64 >= (numbers.len() - 1) as f64 * MOST
}

/// Returns a name and what stands behind it, as `docker compose logs` and its like write it: `web-1  | text`.
fn after_name(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('|')?;
    let name = name.trim_end();
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    // A number before a bar is a column.
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_name && !is_number).then(|| (name, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// Returns the name that the first line bears.
fn common_name(lines: &[Line<'_>]) -> Option<String> {
    let first = lines.iter().find(|line| !line.text.trim().is_empty())?;
    after_name(&first.text).map(|(name, _)| name.to_owned())
}

/// Takes off the blanks that all lines begin with: what is indented inside stays so.
fn take_off_blanks(lines: &mut [Line<'_>]) {
    let written = lines.iter().filter(|line| !line.text.is_empty());
    let blanks = written.map(|line| line.text.bytes().take_while(|byte| *byte == b' ').count()).min();
    let Some(blanks) = blanks.filter(|blanks| *blanks > 0) else {
        return;
    };
    for line in lines {
        if !line.text.is_empty() {
            cut_front(line, blanks);
        }
    }
}
