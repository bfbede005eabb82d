//! How right a report is, and how often reports are, for scenarios and incidents alike.

use std::fmt;

use crate::tally::Part;

/// From this confidence on a wrong first answer is a confident one.
pub(crate) const CONFIDENT: f64 = 0.7;

/// What is right and wrong about the answers of one report; by default there is none.
#[expect(clippy::struct_excessive_bools, reason = "each is one column of the closing line")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rightness {
    /// A right answer stands first.
    pub(crate) is_first: bool,
    /// The cause itself stands first.
    pub(crate) is_strictly_first: bool,
    /// A right answer is among the first three.
    pub(crate) is_in_three: bool,
    /// It gives up where there is an answer.
    pub(crate) is_undetermined: bool,
    /// Something that is not true stands first, with confidence.
    pub(crate) is_confident_wrong: bool,
    /// It offers to do something to somebody or something that is not to blame.
    pub(crate) is_harmful: bool,
}

/// How many reports were right and wrong, and in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) cases: usize,
    pub(crate) first: usize,
    pub(crate) strictly: usize,
    pub(crate) in_three: usize,
    undetermined: usize,
    pub(crate) confident_wrong: usize,
    pub(crate) harmful: usize,
}

impl Count {
    /// Counts one report.
    pub(crate) fn add(&mut self, rightness: Rightness) {
        self.cases += 1;
        self.first += usize::from(rightness.is_first);
        self.strictly += usize::from(rightness.is_strictly_first);
        self.in_three += usize::from(rightness.is_in_three);
        self.undetermined += usize::from(rightness.is_undetermined);
        self.confident_wrong += usize::from(rightness.is_confident_wrong);
        self.harmful += usize::from(rightness.is_harmful);
    }

    /// Returns whether a part of the reports is so large; of no reports nothing is.
    pub(crate) const fn is_at_least(&self, part: usize, percent: usize) -> bool {
        self.cases > 0 && part * 100 >= self.cases * percent
    }
}

impl fmt::Display for Count {
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
