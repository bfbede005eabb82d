//! A sweep that is under way, or that was broken off: what it gave, and the reasons for what it did not.

use gpuwhy_model::reading::{Absence, Failure, Reading};
use gpuwhy_model::sample::{CardSample, NvmlSample, ReadTime};

use super::call::Call;
use super::heartbeat::Beat;
use super::protocol::{Identity, Tail};
use crate::clock;

/// Where a sweep stands that is not over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stand {
    /// In a call that does not return.
    Stuck(Beat),
    /// In one call of many, each of which is quick enough, all together are not.
    Late(Option<Beat>),
}

/// A sweep that is under way.
pub(super) struct Sweep {
    pub(super) read: ReadTime,
    pub(super) count: Option<Reading<u32>>,
    pub(super) cards: Vec<CardSample>,
    /// The card whose values are being read.
    pub(super) next: Option<Identity>,
    /// What belongs to no card; it comes last.
    pub(super) tail: Tail,
}

impl Sweep {
    pub(super) fn begin() -> Self {
        Self { read: clock::now(), count: None, cards: Vec::new(), next: None, tail: Tail::default() }
    }

    /// Makes the sample of a sweep that is over.
    pub(super) fn sample(self, header: &NvmlSample) -> NvmlSample {
        NvmlSample {
            cards: self.cards,
            pairs: self.tail.pairs,
            xid_events: self.tail.xid_events,
            card_count: self.count.unwrap_or(Reading::Failed(Failure::NotReached)),
            ..header.clone()
        }
    }

    /// Makes the sample of a sweep that is not over, and that may go on; of `known` cards it says who they are.
    pub(super) fn sample_so_far(&self, header: &NvmlSample, known: &[Identity], stand: Stand) -> NvmlSample {
        let so_far = Self {
            read: self.read,
            count: self.count.clone(),
            cards: self.cards.clone(),
            next: None,
            tail: self.tail.clone(),
        };
        let mut sample = so_far.sample(header);
        let (Stand::Stuck(beat) | Stand::Late(Some(beat))) = stand else {
            return sample;
        };
        let waited = clock::since(beat.since).as_secs_f64();
        let late: Absence = timed_out(beat.call.map_or(Call::Count.symbol(), Call::symbol), waited);
        if self.count.is_none() {
            sample.card_count = late.clone().reading();
        }
        let count = sample.card_count.known().copied().unwrap_or(0);
        let last_known = known.iter().map(|card| card.index + 1).max().unwrap_or(0);
        for index in 0..count.max(last_known) {
            if sample.cards.iter().any(|card| card.parent.is_none() && card.index == index) {
                continue;
            }
            let identity = known.iter().find(|card| card.index == index);
            let begun = self.next.as_ref().filter(|card| card.index == index);
            let mut card = identity
                .or(begun)
                .map_or_else(|| CardSample { index, ..CardSample::default() }, Identity::card);
            let is_asked = beat.card == Some(index) || begun.is_some();
            card.handle = match stand {
                Stand::Stuck(_) if is_asked => late.clone().reading(),
                // It answers, if slowly.
                Stand::Late(_) if begun.is_some() => Reading::Known(()),
                _ => Reading::Failed(Failure::NotReached),
            };
            sample.cards.push(card);
        }
        sample
    }
}

/// Returns that a call was waited for in vain.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "waits are short and not negative"
)]
pub(super) fn timed_out(call: &str, waited_s: f64) -> Absence {
    let after_ms = (waited_s.max(0.0) * 1000.0) as u64;
    Absence::Failed(Failure::TimedOut { call: call.to_owned(), after_ms })
}
