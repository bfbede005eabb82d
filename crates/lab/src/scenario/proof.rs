//! Whether the members really did what the scenario plants, by their own figures.

use serde::{Deserialize, Serialize};

use crate::workloads::truth::{Figures, Span};

/// Something that a member's own figures must show, else the run is void.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Whose figures.
    pub member: String,
    /// Which figure.
    pub figure: Figure,
    /// The smallest value that proves it.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The largest value that proves it.
    #[serde(default)]
    pub at_most: Option<f64>,
}

/// A figure computed from what a member measured while the monitor looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Share of the ranks' time spent waiting for a batch.
    WaitShare,
    /// Share of the ranks' time in which a kernel ran.
    CardShare,
    /// Share of the loaders' time inside reads.
    ReadingShare,
    /// Share of the loaders' time spent decoding.
    DecodingShare,
    /// Seconds since the last kernel ended, or since the member was ready.
    IdleSeconds,
    /// Refused requests for memory, for a card or for a thread.
    Refusals,
    /// Steps or requests done.
    Steps,
    /// Share of the ranks' time spent copying to and from the card.
    CopyShare,
    /// Share of the ranks' time spent saving checkpoints.
    SavingShare,
    /// Bytes of checkpoints written.
    WrittenBytes,
    /// Share of the ranks' time in which the main thread itself worked and the card had nothing to do.
    HostShare,
    /// Share of the time in which the main threads of the ranks had a CPU.
    HotShare,
    /// Share of the ranks' time in which nobody worked.
    PauseShare,
    /// Share of the ranks' time in which the card spun until the others were there.
    WaitingForOthersShare,
    /// The smallest of these shares over all ranks: of the rank for which the others wait.
    LeastWaitingForOthersShare,
    /// Share of the ranks' time in which bytes moved between them.
    ExchangeShare,
    /// Bytes of card memory held at the end.
    BytesHeld,
    /// Bytes of card memory that were added.
    BytesGrown,
}

/// The figures of one process at the beginning and at the end of a look.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// At the beginning.
    pub(super) before: Figures,
    /// At the end.
    pub(super) after: Figures,
}

impl Proof {
    /// What is wrong with the figures, if anything.
    pub(super) fn failure(&self, looks: &[Look]) -> Option<String> {
        let Some(value) = self.figure.of(looks) else {
            return Some(format!("{} has no figure for {:?}", self.member, self.figure));
        };
        let too_low = self.at_least.is_some_and(|limit| value < limit);
        let too_high = self.at_most.is_some_and(|limit| value > limit);
        (too_low || too_high).then(|| format!("{}: {:?} is {value:.3}", self.member, self.figure))
    }
}

impl Figure {
    /// The figure over all processes of a member; `None` when nothing was measured.
    fn of(self, looks: &[Look]) -> Option<f64> {
        let grown = |of: fn(&Figures) -> f64| -> f64 {
            looks.iter().map(|look| of(&look.after) - of(&look.before)).sum()
        };
        let loader_time = grown(|figures| {
            let loaders = figures.loaders;
            loaders.reading_s + loaders.decoding_s + loaders.waiting_s
        });
        let share_of = |wanted: Span| -> Option<f64> {
            let spent: f64 =
                looks.iter().map(|look| spent(&look.after, wanted) - spent(&look.before, wanted)).sum();
            share(spent, span(looks))
        };
        let counted = |value: f64| (!looks.is_empty()).then_some(value);
        match self {
            Self::WaitShare => share_of(Span::WaitingForData),
            Self::CardShare => share_of(Span::OnTheCard),
            Self::CopyShare => share_of(Span::Copying),
            Self::SavingShare => share_of(Span::Saving),
            Self::HostShare => share_of(Span::HostCode),
            Self::PauseShare => share_of(Span::Pausing),
            Self::WaitingForOthersShare => share_of(Span::WaitingForOthers),
            Self::ExchangeShare => share_of(Span::Exchanging),
            Self::LeastWaitingForOthersShare => looks.iter().filter_map(waiting_for_others).reduce(f64::min),
            Self::HotShare => share(grown(|figures| figures.main_cpu_s), span(looks)),
            Self::WrittenBytes => counted(grown(|figures| figures.written_bytes as f64)),
            Self::BytesHeld => counted(looks.iter().map(|look| look.after.bytes_held as f64).sum()),
            Self::BytesGrown => counted(grown(|figures| figures.bytes_held as f64)),
            Self::ReadingShare => share(grown(|figures| figures.loaders.reading_s), loader_time),
            Self::DecodingShare => share(grown(|figures| figures.loaders.decoding_s), loader_time),
            Self::IdleSeconds => looks.iter().map(idle_seconds).reduce(f64::min),
            Self::Refusals => counted(grown(|figures| figures.refusals as f64)),
            Self::Steps => counted(grown(|figures| figures.steps as f64)),
        }
    }
}

fn spent(figures: &Figures, span: Span) -> f64 {
    figures.spans_s.get(&span).copied().unwrap_or_default()
}

fn waiting_for_others(look: &Look) -> Option<f64> {
    let waited = spent(&look.after, Span::WaitingForOthers) - spent(&look.before, Span::WaitingForOthers);
    share(waited, look.after.at_s - look.before.at_s)
}

fn span(looks: &[Look]) -> f64 {
    looks.iter().map(|look| look.after.at_s - look.before.at_s).sum()
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn idle_seconds(look: &Look) -> f64 {
    look.after.at_s - look.after.worked_at_s.unwrap_or(look.after.ready_at_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(waited: f64, on_card: f64, seconds: f64) -> Look {
        let figures = |at_s: f64, waited: f64, on_card: f64| Figures {
            at_s,
            spans_s: [(Span::WaitingForData, waited), (Span::OnTheCard, on_card)].into(),
            ..Figures::default()
        };
        Look {
            before: figures(100.0, 7.0, 3.0),
            after: figures(100.0 + seconds, 7.0 + waited, 3.0 + on_card),
        }
    }

    fn proof(figure: Figure, at_least: Option<f64>, at_most: Option<f64>) -> Proof {
        Proof { member: "run".to_owned(), figure, at_least, at_most }
    }

    #[test]
    fn shares_are_taken_over_the_look_and_over_all_ranks() {
        let looks = [look(4.0, 1.0, 5.0), look(2.0, 3.0, 5.0)];
        assert_eq!(proof(Figure::WaitShare, Some(0.6), None).failure(&looks), None);
        assert!(proof(Figure::WaitShare, Some(0.61), None).failure(&looks).is_some());
        assert_eq!(proof(Figure::CardShare, None, Some(0.4)).failure(&looks), None);
        assert!(proof(Figure::CardShare, None, Some(0.39)).failure(&looks).is_some());
    }

    #[test]
    fn the_rank_for_which_the_others_wait_is_told_from_them() {
        let rank = |waited: f64| {
            let mut look = look(0.0, 0.0, 5.0);
            look.before.spans_s.insert(Span::WaitingForOthers, 1.0);
            look.after.spans_s.insert(Span::WaitingForOthers, 1.0 + waited);
            look
        };
        let looks = [rank(3.0), rank(0.5), rank(3.0)];
        assert_eq!(proof(Figure::LeastWaitingForOthersShare, None, Some(0.1)).failure(&looks), None);
        assert_eq!(proof(Figure::WaitingForOthersShare, Some(0.43), Some(0.44)).failure(&looks), None);
    }

    #[test]
    fn a_member_without_figures_proves_nothing() {
        assert!(proof(Figure::Steps, None, None).failure(&[]).is_some());
        assert!(proof(Figure::ReadingShare, None, Some(1.0)).failure(&[look(1.0, 1.0, 2.0)]).is_some());
    }
}
