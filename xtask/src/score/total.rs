//! The closing line over all incidents.

use std::fmt;

use super::judge::Judgement;
use crate::tally::Part;

/// How many reports were right and wrong, and in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Total {
    cases: usize,
    first: usize,
    strictly: usize,
    in_three: usize,
    undetermined: usize,
    confident_wrong: usize,
    harmful: usize,
    errors: usize,
}

impl Total {
    /// Counts one judged report.
    pub(super) fn add(&mut self, judgement: Judgement) {
        self.cases += 1;
        self.first += usize::from(judgement.is_first);
        self.strictly += usize::from(judgement.is_strictly_first);
        self.in_three += usize::from(judgement.is_in_three);
        self.undetermined += usize::from(judgement.is_undetermined);
        self.confident_wrong += usize::from(judgement.is_confident_wrong);
        self.harmful += usize::from(judgement.is_harmful);
    }

    /// Counts an incident of which there is no report: it is a miss.
    pub(super) fn add_error(&mut self) {
        self.cases += 1;
        self.errors += 1;
    }

    /// Returns the line with the number of incidents without a report.
    pub(super) fn with_errors(self) -> String {
        format!("{self} errors {}", self.errors)
    }

    /// Whether the promise holds: first right in 92 %, strictly in 80 %, in three in 98 %, nothing harmful, at most one
    /// confidently wrong.
    pub(crate) fn holds(&self) -> bool {
        let is_at_least = |part: usize, percent: usize| part * 100 >= self.cases * percent;
        self.cases > 0
            && is_at_least(self.first, 92)
            && is_at_least(self.strictly, 80)
            && is_at_least(self.in_three, 98)
            && self.harmful == 0
            && self.confident_wrong <= 1
    }
}

impl fmt::Display for Total {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_cases = |part| Part { part, whole: self.cases };
        write!(
            formatter,
            "cases {} first {} strictly {} in-three {} undetermined {} confident-wrong {} harmful {}",
            self.cases,
            of_cases(self.first),
            of_cases(self.strictly),
            of_cases(self.in_three),
            self.undetermined,
            self.confident_wrong,
            self.harmful,
        )
    }
}
