//! Which rows belong to one look, and which card each is about.

use std::collections::{BTreeMap, VecDeque};

use gpuwhy_model::sample::{CardSample, ReadTime};
use jiff::{SignedDuration, Timestamp};

use super::cards::CardRow;
use super::times::Moment;

/// So many looks are kept, the newest ones.
const LOOKS_MAX: usize = 4096;
/// Rows without a card's number that are so close together are of one look, in seconds.
const TOGETHER_S: f64 = 0.05;
/// Rows of one look are so much closer together than looks are.
const APART: f64 = 5.0;
/// More rows without number and time are no list of a machine's cards.
const CARDS_MAX: usize = 16;

/// One row with its place in time and on the machine.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) moment: Option<Moment>,
    pub(super) index: Option<u32>,
    /// The row stands first below a heading.
    pub(super) is_first: bool,
    pub(super) card: CardRow,
}

/// The cards at one time.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) taken: ReadTime,
    pub(super) has_calendar: bool,
    pub(super) cards: Vec<CardRow>,
}

/// How rows are told apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrangement {
    /// Seconds between looks, where the command says them.
    pub(super) loop_s: Option<f64>,
    /// How many cards there are, where a column says so.
    pub(super) cards: Option<usize>,
    /// Without a number, rows are cards in their order.
    pub(super) is_of_tool: bool,
}

/// Returns the looks, oldest first; none where it cannot be told which row is which card.
pub(super) fn looks(rows: Vec<Taken>, arrangement: Arrangement) -> Vec<Look> {
    let has_names = rows.iter().all(|row| row.index.is_some() || name(&row.card.sample).is_some());
    let groups = if has_names {
        by_name(rows)
    } else {
        match in_order(&rows, arrangement) {
            Some(sizes) => by_sizes(rows, &sizes),
            None => return Vec::new(),
        }
    };
    let mut looks: VecDeque<Look> = VecDeque::new();
    let first = groups.iter().find_map(|group| group.first()?.moment);
    let mut last_s = 0.0;
    for (group, place) in groups.into_iter().zip(0_u32..) {
        let moment = group.iter().find_map(|row| row.moment);
        let since_s = match (moment, first) {
            (Some(moment), Some(first)) => moment.since(first).unwrap_or(last_s).max(last_s),
            _ => f64::from(place) * arrangement.loop_s.unwrap_or(5.0),
        };
        last_s = since_s;
        let since = SignedDuration::try_from_secs_f64(since_s).unwrap_or_default();
        let calendar = match moment {
            Some(Moment::At(at)) => Some(at),
            _ => None,
        };
        let wall = calendar.or_else(|| Timestamp::UNIX_EPOCH.checked_add(since).ok()).unwrap_or_default();
        looks.push_back(Look {
            taken: ReadTime { boot_ns: u64::try_from(since.as_nanos()).unwrap_or_default(), wall },
            has_calendar: calendar.is_some(),
            cards: group.into_iter().map(|row| row.card).collect(),
        });
        if looks.len() > LOOKS_MAX {
            looks.pop_front();
        }
    }
    looks.into()
}

fn name(card: &CardSample) -> Option<&String> {
    card.uuid.known().or(card.pci_address.known())
}

/// Groups rows that name their card: one that was seen begins the next look.
fn by_name(rows: Vec<Taken>) -> Vec<Vec<Taken>> {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut groups: Vec<Vec<Taken>> = Vec::new();
    for mut row in rows {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let index = match (row.index, name(&row.card.sample)) {
            (Some(index), _) => index,
            (None, Some(name)) => *numbers.entry(name.clone()).or_insert(next),
            (None, None) => 0,
        };
        row.card.sample.index = index;
        let is_seen =
            groups.last().is_none_or(|group| group.iter().any(|other| other.card.sample.index == index));
        if is_seen {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.last_mut() {
            group.push(row);
        }
    }
    groups
}

/// Returns how many rows each look has, where nothing names the cards.
fn in_order(rows: &[Taken], arrangement: Arrangement) -> Option<Vec<usize>> {
    let number = rows.len();
    if let Some(cards) = arrangement.cards.filter(|cards| *cards > 0 && number.is_multiple_of(*cards)) {
        return Some(vec![cards; number / cards]);
    }
    let gaps: Option<Vec<f64>> = rows.windows(2).map(|pair| pair[1].moment?.since(pair[0].moment?)).collect();
    match gaps {
        Some(gaps) if rows.iter().any(|row| row.moment.is_some()) => Some(sizes_by_time(&gaps)),
        // One heading for each look.
        _ if arrangement.is_of_tool && arrangement.loop_s.is_none() && number <= CARDS_MAX => {
            let mut sizes = Vec::new();
            for row in rows {
                match sizes.last_mut() {
                    Some(size) if !row.is_first => *size += 1,
                    _ => sizes.push(1),
                }
            }
            Some(sizes)
        }
        _ if number == 1 => Some(vec![1]),
        _ => None,
    }
}

/// Returns the sizes of looks: rows of one look follow each other at once. Of rows that are evenly apart each is a look.
fn sizes_by_time(gaps: &[f64]) -> Vec<usize> {
    let most = gaps.iter().copied().fold(0.0, f64::max);
    let is_together = |gap: f64| gap < TOGETHER_S && (most < TOGETHER_S || gap * APART < most);
    let mut sizes = vec![1];
    for gap in gaps {
        match sizes.last_mut() {
            Some(size) if is_together(*gap) => *size += 1,
            _ => sizes.push(1),
        }
    }
    sizes
}

fn by_sizes(rows: Vec<Taken>, sizes: &[usize]) -> Vec<Vec<Taken>> {
    let mut rows = rows.into_iter();
    let mut groups = Vec::new();
    for size in sizes {
        let mut group: Vec<Taken> = rows.by_ref().take(*size).collect();
        for (row, index) in group.iter_mut().zip(0..) {
            row.card.sample.index = index;
        }
        groups.push(group);
    }
    groups
}
