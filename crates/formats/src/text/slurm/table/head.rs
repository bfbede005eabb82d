//! The head of a table: which columns it has, between what, and whose table it is.

use std::borrow::Cow;

use super::super::field::{Field, column, normal};
use super::super::record::Record;
use super::align::{self, Column};
use super::split::{MARKS, Mark, cells, rejoined};
use crate::Format;

/// Whose table it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Jobs in the queue.
    Jobs,
    /// Jobs in the accounting.
    Accounting,
    /// Parts of priorities.
    Priorities,
    /// Jobs in a table that somebody made.
    JobsByHand,
    /// Nodes, by partition and state, or one by one.
    Nodes,
    /// Queues in a table that somebody made.
    Queues,
    /// Qualities of service.
    Qualities,
    /// Accounts and users.
    Associations,
    /// Accounts and users with their share.
    Shares,
}

impl Kind {
    pub(super) const fn format(self) -> Format {
        match self {
            Self::Jobs => Format::Squeue,
            Self::Accounting => Format::Sacct,
            Self::Priorities => Format::Sprio,
            Self::JobsByHand | Self::Queues => Format::JobTable,
            Self::Nodes => Format::Sinfo,
            Self::Qualities | Self::Associations => Format::Sacctmgr,
            Self::Shares => Format::Sshare,
        }
    }
}

/// A longer line is no head.
const LENGTH_MAX: usize = 16 << 10;
/// A head has no more columns.
const COLUMNS_MAX: usize = 160;

/// The head of a table.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) kind: Kind,
    mark: Mark,
    pub(super) columns: Vec<Column>,
}

impl Head {
    /// Returns the head that a line is, if it is one.
    pub(super) fn of(text: &str) -> Option<Self> {
        if text.len() > LENGTH_MAX || !begins_like_a_head(text) {
            return None;
        }
        MARKS.iter().find_map(|mark| Self::between(text, *mark))
    }

    fn between(text: &str, mark: Mark) -> Option<Self> {
        let titles = cells(text, mark)?;
        if !(2..=COLUMNS_MAX).contains(&titles.len()) {
            return None;
        }
        let fields: Vec<Option<Field>> = titles.iter().map(|title| column(title)).collect();
        let known: Vec<Field> = fields.iter().flatten().copied().collect();
        let is_by_blanks = mark == Mark::Blanks;
        // Words between blanks are a head only when nearly all of them are names of columns.
        let strangers = fields.len() - known.len();
        if is_by_blanks && strangers * 5 > fields.len() {
            return None;
        }
        let is_made_by_hand = matches!(mark, Mark::Comma | Mark::Semicolon | Mark::Tab)
            && titles.iter().all(|title| !title.bytes().any(|byte| byte.is_ascii_uppercase()));
        let kind = kind(&known, &titles, is_made_by_hand, is_by_blanks)?;
        let columns = align::columns(text, &titles, &fields, kind, is_by_blanks);
        Some(Self { kind, mark, columns })
    }

    /// Returns a row as a record; none when the line does not fit the head.
    pub(super) fn record(&self, text: &str) -> Option<Record> {
        let cells: Vec<Cow<'_, str>> = match self.mark {
            Mark::Blanks => align::cells(&self.columns, text)?,
            Mark::Comma => {
                let plain = cells(text, self.mark)?;
                if plain.len() > self.columns.len() {
                    rejoined(text, self.columns.len())?.into_iter().map(Cow::Owned).collect()
                } else {
                    plain.into_iter().map(Cow::Borrowed).collect()
                }
            }
            mark => cells(text, mark)?.into_iter().map(Cow::Borrowed).collect(),
        };
        // A row may end early, and a last bar makes one cell more.
        if cells.len() < 2 || cells.len() > self.columns.len() + 1 {
            return None;
        }
        let mut record = Record::default();
        for (column, cell) in self.columns.iter().zip(cells) {
            if let Some(field) = column.field {
                record.push(field, cell);
            }
        }
        Some(record)
    }
}

/// Returns whether one of the first two words of a line is the name of a column: cheap, for it is asked at every line.
fn begins_like_a_head(text: &str) -> bool {
    let words = text.split(['|', ',', ';', '\t', ' ']).map(|word| word.trim_matches(['#', '"', ' ']));
    words.filter(|word| !word.is_empty()).take(2).any(|word| column(word).is_some())
}

fn kind(fields: &[Field], titles: &[&str], is_made_by_hand: bool, is_by_blanks: bool) -> Option<Kind> {
    let has = |field: Field| fields.contains(&field);
    let has_any = |of: &[Field]| of.iter().any(|field| fields.contains(field));
    let is_titled = |wanted: &[&str]| titles.iter().any(|title| wanted.contains(&normal(title).as_str()));
    let limits = [
        Field::GroupTres,
        Field::GroupJobs,
        Field::JobTres,
        Field::UserTres,
        Field::UserJobs,
        Field::AccountTres,
        Field::NodeTres,
        Field::GroupSubmitted,
    ];
    if has_any(&[Field::JobId, Field::ArrayJob]) {
        let parts = fields.iter().filter(|field| matches!(field, Field::Factor(_))).count();
        let is_of_priorities = parts >= 2 && !has_any(&[Field::State, Field::Reason, Field::NodesOrReason]);
        if is_of_priorities {
            return Some(Kind::Priorities);
        }
        let is_of_accounting = is_titled(&[
            "exitcode",
            "alloccpus",
            "maxrss",
            "jobidraw",
            "ncpus",
            "reqtres",
            "alloctres",
            "jobname",
            "elapsed",
            "tresusageintot",
        ]);
        let says_something =
            has_any(&[Field::State, Field::Reason, Field::NodesOrReason, Field::StartTime, Field::AskedTres]);
        let counts = has_any(&[
            Field::Cards,
            Field::Gres,
            Field::Partition,
            Field::TimeLimit,
            Field::UsedTres,
            Field::UsedTresMean,
            Field::MemoryUsed,
        ]);
        return match (says_something, is_made_by_hand) {
            (_, true) if says_something || counts => Some(Kind::JobsByHand),
            (_, _) if is_of_accounting && (says_something || counts) => Some(Kind::Accounting),
            (true, _) => Some(Kind::Jobs),
            _ => None,
        };
    }
    if has(Field::FairShare) && has(Field::Account) && !has(Field::Priority) {
        return Some(Kind::Shares);
    }
    if has_any(&limits) && (has(Field::Account) || has(Field::User)) {
        return Some(Kind::Associations);
    }
    if has_any(&limits) && (has(Field::Name) || has(Field::Qos)) {
        return Some(Kind::Qualities);
    }
    if has(Field::Partition) && has_any(&[Field::Waiting, Field::Running, Field::Reasons]) {
        return Some(Kind::Queues);
    }
    let has_nodes = has(Field::NodeName);
    let is_of_nodes = has(Field::Partition) && has(Field::Avail)
        || has_nodes
            && has(Field::State)
            && (!is_by_blanks
                || has_any(&[Field::Partition, Field::NodeCount, Field::Gres])
                || titles.len() == 2)
        || has_nodes && has_any(&[Field::Reason, Field::Gres, Field::GresUsed, Field::CpusByUse])
        || has(Field::Partition)
            && has_any(&[Field::NodeCount, Field::NodesByUse])
            && has_any(&[
                Field::NodesByUse,
                Field::State,
                Field::Gres,
                Field::Cpus,
                Field::CpusByUse,
                Field::MemoryPerNode,
            ]);
    is_of_nodes.then_some(Kind::Nodes)
}
