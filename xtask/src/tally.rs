//! Counts of what passed, failed and was skipped, and the line that says so.

use std::fmt;
use std::ops::AddAssign;

/// How many things passed, failed and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Right.
    pub(crate) passed: usize,
    /// Wrong.
    pub(crate) failed: usize,
    /// Not looked at, and said so.
    pub(crate) skipped: usize,
}

impl Tally {
    /// Counts one more thing that was looked at.
    pub(crate) fn count(&mut self, is_right: bool) {
        if is_right {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }

    /// Returns whether nothing failed and something was looked at.
    pub(crate) fn is_good(self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// A count and its share of a whole.
pub(crate) struct Part {
    /// How many of them.
    pub(crate) part: usize,
    /// How many there are.
    pub(crate) whole: usize,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.whole == 0 {
            return write!(formatter, "{} (- %)", self.part);
        }
        let percent = self.part as f64 * 100.0 / self.whole as f64;
        write!(formatter, "{} ({percent:.1} %)", self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn nothing_looked_at_is_not_good() {
        assert!(!Tally::default().is_good());
        let mut tally = Tally::default();
        tally.count(true);
        assert!(tally.is_good());
        tally.count(false);
        assert!(!tally.is_good());
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 0 skipped");
    }
}
