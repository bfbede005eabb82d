//! Rows between blanks: which words belong to which column, where a name has blanks in it or a cell is empty.
//!
//! Words are laid to columns in order so that each fits what its column holds, and as near to its title as can be. Pastes
//! keep or lose the blanks that line columns up; both are read.

use std::borrow::Cow;

use super::super::field::Field;
use super::super::{hostlist, job, reason, state, tres, words};
use super::head::Kind;

/// A row has no more words: what has is no row.
const WORDS_MAX: usize = 240;

/// A column, what it holds, and where its title stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) field: Option<Field>,
    holds: Holds,
    /// First and last place of the title in its line.
    start: usize,
    end: usize,
}

/// What words a column can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Whatever is one word.
    Word,
    /// Any number of words.
    Text,
    JobId,
    Number,
    Time,
    JobState,
    NodeState,
    Open,
    Nodes,
    Tres,
    Date,
}

/// Returns the columns of a head.
pub(super) fn columns(
    text: &str,
    titles: &[&str],
    fields: &[Option<Field>],
    kind: Kind,
    is_by_blanks: bool,
) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut from = 0;
    for (title, field) in titles.iter().zip(fields) {
        let start = text[from..].find(title).map_or(from, |place| from + place);
        let end = start + title.len().saturating_sub(1);
        from = (start + title.len()).min(text.len());
        let mut field = *field;
        let is_second = field == Some(Field::Partition) && columns.iter().any(|column| column.field == field);
        let is_second_qos = kind == Kind::Priorities && matches!(field, Some(Field::Qos | Field::FairShare));
        if is_second || is_second_qos {
            // The part that the queue, the quality or the share has in a priority.
            field = Some(Field::Factor(match field {
                Some(Field::Qos) => "qos",
                Some(Field::FairShare) => "fair share",
                _ => "partition",
            }));
        }
        let holds = if is_by_blanks { holds(field, title, kind) } else { Holds::Word };
        columns.push(Column { field, holds, start, end });
    }
    columns
}

fn holds(field: Option<Field>, title: &str, kind: Kind) -> Holds {
    let Some(field) = field else {
        return Holds::Word;
    };
    match field {
        Field::JobId => Holds::JobId,
        Field::NodeCount | Field::Tasks | Field::Waiting | Field::Running => Holds::Number,
        Field::Elapsed | Field::TimeLimit => Holds::Time,
        Field::State if kind == Kind::Nodes => Holds::NodeState,
        Field::State => Holds::JobState,
        Field::Avail => Holds::Open,
        Field::NodeName => Holds::Nodes,
        Field::Gres | Field::GresUsed | Field::AskedTres | Field::GivenTres | Field::Tres => Holds::Tres,
        Field::JobName | Field::Reason | Field::NodesOrReason | Field::ReasonNote | Field::Command => {
            Holds::Text
        }
        Field::Name if kind != Kind::Qualities => Holds::Text,
        Field::StartTime | Field::SubmitTime | Field::EndTime | Field::BeginTime | Field::ReasonAt => {
            Holds::Date
        }
        Field::Other if title.eq_ignore_ascii_case("COMMENT") => Holds::Text,
        _ => Holds::Word,
    }
}

impl Column {
    /// Returns whether some words can be what this column holds.
    fn fits(&self, words: &[Word<'_>]) -> bool {
        match (self.holds, words) {
            (Holds::Text, _) | (Holds::Nodes | Holds::Tres | Holds::Word | Holds::Date, []) => true,
            // `CANCELLED by 1000`
            (Holds::JobState, [state, by, _]) => by.text == "by" && state::phase(state.text).is_some(),
            (_, [word]) => self.fits_word(word.text),
            _ => false,
        }
    }

    fn fits_word(&self, word: &str) -> bool {
        let is_nothing = words::said(word).is_none();
        match self.holds {
            Holds::Word | Holds::Text => true,
            Holds::JobId => {
                let of_job = word.split('.').next().unwrap_or_default();
                job::is_id(of_job)
            }
            Holds::Number => words::count(word).is_some(),
            Holds::Time => is_nothing || words::time(word, 60.0).is_some() || words::is_time(word),
            Holds::JobState => state::phase(word).is_some(),
            // A partition without nodes has no state.
            Holds::NodeState => is_nothing || state::node_state(word).is_some(),
            Holds::Open => state::queue_is_open(word).is_some(),
            Holds::Nodes => is_nothing || hostlist::is_list(word) || word.contains('['),
            Holds::Tres => {
                is_nothing || tres::gres(word).is_some() || tres::pairs(word).is_some() || word.contains(':')
            }
            Holds::Date => is_nothing || word.contains(['-', ':']) || word.len() <= 10,
        }
    }

    /// Returns how badly some words fit this column: empty cells, many words, a place away from the title.
    fn cost(&self, words: &[Word<'_>]) -> u32 {
        const EMPTY: u32 = 6;
        const AWAY: u32 = 2;
        let Some(first) = words.first() else {
            return EMPTY;
        };
        let last = words.last().unwrap_or(first);
        let is_below = first.start <= self.end && self.start <= last.end;
        let is_reason =
            self.field == Some(Field::NodesOrReason) && reason::known_reason(first.text).is_some();
        let many = u32::try_from(words.len() - 1).unwrap_or(u32::MAX / 4);
        many + if is_below || is_reason { 0 } else { AWAY }
    }
}

/// A word of a row and where it stands.
#[derive(Debug, Clone, Copy)]
struct Word<'text> {
    text: &'text str,
    start: usize,
    end: usize,
}

fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut from = 0;
    for word in text.split_whitespace() {
        let start = text[from..].find(word).map_or(from, |place| from + place);
        words.push(Word { text: word, start, end: start + word.len() - 1 });
        from = start + word.len();
    }
    words
}

/// Returns the cells of a row; none when its words do not fit the columns.
pub(super) fn cells<'text>(columns: &[Column], text: &'text str) -> Option<Vec<Cow<'text, str>>> {
    let words = words_of(text);
    if words.is_empty() || words.len() > WORDS_MAX {
        return None;
    }
    let lengths = lengths(columns, &words)?;
    let mut next = 0;
    let mut cells = Vec::with_capacity(columns.len());
    for length in lengths {
        let cell = match &words[next..next + length] {
            [] => "",
            [first, .., last] => &text[first.start..=last.end],
            [only] => only.text,
        };
        cells.push(Cow::Borrowed(cell));
        next += length;
    }
    Some(cells)
}

/// Returns whether each column that cannot be empty finds a word in order: cheap, for it is asked at every line of a paste.
fn may_be_laid(columns: &[Column], words: &[Word<'_>]) -> bool {
    let mut left = words.iter();
    let mut filled = columns.iter().filter(|column| !column.fits(&[]));
    filled.all(|column| left.any(|word| column.fits_word(word.text)))
}

/// Returns how many words each column takes, at the least cost over all; none when they cannot be laid.
fn lengths(columns: &[Column], words: &[Word<'_>]) -> Option<Vec<usize>> {
    if columns.len() == words.len() && columns.iter().zip(words).all(|(column, word)| column.fits(&[*word])) {
        return Some(vec![1; columns.len()]);
    }
    if !may_be_laid(columns, words) {
        return None;
    }
    let (all, width) = (columns.len(), words.len() + 1);
    // The least cost of laying the words from `word` on to the columns from `column` on, and how many the first takes.
    let mut best: Vec<Option<(u32, usize)>> = vec![None; (all + 1) * width];
    best[all * width + words.len()] = Some((0, 0));
    for place in (0..all).rev() {
        let column = &columns[place];
        for from in 0..width {
            let longest =
                if column.holds == Holds::Text { words.len() - from } else { 3.min(words.len() - from) };
            for length in 0..=longest {
                let Some((rest, _)) = best[(place + 1) * width + from + length] else {
                    continue;
                };
                let taken = &words[from..from + length];
                if !column.fits(taken) {
                    continue;
                }
                let cost = rest + column.cost(taken);
                let entry = &mut best[place * width + from];
                if entry.is_none_or(|(known, _)| cost < known) {
                    *entry = Some((cost, length));
                }
            }
        }
    }
    let mut from = 0;
    let mut lengths = Vec::with_capacity(all);
    for place in 0..all {
        let (_, length) = best[place * width + from]?;
        lengths.push(length);
        from += length;
    }
    Some(lengths)
}
