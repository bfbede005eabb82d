//! The closing line over many scenarios.

use std::fmt;

use super::judge::Judgement;
use crate::rightness::Count;
use crate::tally::Part;

/// How many reports were right and wrong, and in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    count: Count,
    culprits: usize,
    culprits_right: usize,
    near_miss: usize,
    void: usize,
    pairs: usize,
    pairs_named: usize,
}

impl Score {
    /// Counts one judged report.
    pub(crate) fn add(&mut self, judgement: Judgement) {
        self.count.add(judgement.rightness);
        self.culprits += usize::from(judgement.is_culprit_right.is_some());
        self.culprits_right += usize::from(judgement.is_culprit_right == Some(true));
        self.near_miss += usize::from(judgement.took_near_miss);
        self.pairs += usize::from(judgement.are_all_named.is_some());
        self.pairs_named += usize::from(judgement.are_all_named == Some(true));
    }

    /// How often both causes of a pair were named; nothing where there was no pair.
    pub(crate) fn pairs(&self) -> Option<String> {
        let named = Part { part: self.pairs_named, whole: self.pairs };
        (self.pairs > 0).then(|| format!("pairs {} both-named {named}", self.pairs))
    }

    /// Counts one run that proves nothing.
    pub(crate) fn add_void(&mut self) {
        self.void += 1;
    }

    /// Whether the promise holds: 95 % of first causes right, every culprit right, no near miss taken, nothing harmful.
    pub(crate) fn holds(&self) -> bool {
        const PERCENT_RIGHT: usize = 95;
        let is_right_often = self.count.is_at_least(self.count.first, PERCENT_RIGHT);
        let are_culprits_right = self.culprits_right == self.culprits;
        is_right_often && are_culprits_right && self.near_miss == 0 && self.count.harmful == 0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} culprit {} near-miss {} void {}",
            self.count,
            Part { part: self.culprits_right, whole: self.culprits },
            self.near_miss,
            self.void,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Score;
    use crate::rightness::Rightness;
    use crate::scenarios::judge::Judgement;

    const RIGHT: Judgement = Judgement {
        rightness: FIRST,
        is_culprit_right: Some(true),
        took_near_miss: false,
        are_all_named: None,
    };

    const FIRST: Rightness = Rightness {
        is_first: true,
        is_strictly_first: true,
        is_in_three: true,
        is_undetermined: false,
        is_confident_wrong: false,
        is_harmful: false,
    };

    fn score(judgements: &[Judgement]) -> Score {
        let mut score = Score::default();
        for judgement in judgements {
            score.add(*judgement);
        }
        score
    }

    #[test]
    fn the_line_has_its_fixed_form() {
        let third = Rightness { is_first: false, is_strictly_first: false, ..FIRST };
        let wrong = Judgement { rightness: third, is_culprit_right: None, ..RIGHT };
        let mut score = score(&[RIGHT, wrong]);
        score.add_void();
        assert_eq!(
            score.to_string(),
            "cases 2 first 1 (50.0 %) strictly 1 (50.0 %) in-three 2 (100.0 %) undetermined 0 confident-wrong 0 \
             harmful 0 culprit 1 (100.0 %) near-miss 0 void 1"
        );
    }

    #[test]
    fn pairs_have_a_line_of_their_own() {
        assert_eq!(score(&[RIGHT]).pairs(), None);
        let both = Judgement { are_all_named: Some(true), ..RIGHT };
        let one = Judgement { are_all_named: Some(false), ..RIGHT };
        assert_eq!(score(&[RIGHT, both, one]).pairs().as_deref(), Some("pairs 2 both-named 1 (50.0 %)"));
    }

    #[test]
    fn every_part_of_the_promise_counts() {
        assert!(score(&[RIGHT]).holds());
        assert!(!score(&[]).holds());
        assert!(
            !score(&[RIGHT, Judgement { rightness: Rightness { is_first: false, ..FIRST }, ..RIGHT }])
                .holds()
        );
        assert!(!score(&[Judgement { is_culprit_right: Some(false), ..RIGHT }]).holds());
        assert!(!score(&[Judgement { took_near_miss: true, ..RIGHT }]).holds());
        assert!(!score(&[Judgement { rightness: Rightness { is_harmful: true, ..FIRST }, ..RIGHT }]).holds());
    }
}
