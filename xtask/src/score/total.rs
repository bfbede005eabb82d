//! The closing line over all incidents.

use std::fmt;

use crate::rightness::{Count, Rightness};

/// How many reports were right and wrong, and how many incidents have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Total {
    count: Count,
    errors: usize,
}

impl Total {
    /// Counts one judged report.
    pub(super) fn add(&mut self, judgement: Rightness) {
        self.count.add(judgement);
    }

    /// Counts an incident of which there is no report: it is a miss.
    pub(super) fn add_error(&mut self) {
        self.count.add(Rightness::default());
        self.errors += 1;
    }

    /// Returns the line with the number of incidents without a report.
    pub(super) fn with_errors(self) -> String {
        format!("{self} errors {}", self.errors)
    }

    /// Whether the promise holds: first right in 92 %, strictly in 80 %, in three in 98 %, nothing harmful, at most one
    /// confidently wrong.
    pub(crate) fn holds(&self) -> bool {
        let Count { first, strictly, in_three, harmful, confident_wrong, .. } = self.count;
        self.count.is_at_least(first, 92)
            && self.count.is_at_least(strictly, 80)
            && self.count.is_at_least(in_three, 98)
            && harmful == 0
            && confident_wrong <= 1
    }
}

impl fmt::Display for Total {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.count.fmt(formatter)
    }
}
