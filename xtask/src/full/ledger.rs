//! The book of everything that was shown: what, whether it held, and the figure.

use std::fmt::Write as _;

use anyhow::Result;

use crate::tally::Tally;

/// Everything that was shown so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    what: String,
    holds: bool,
    figure: String,
}

impl Ledger {
    /// Does something that must succeed, says what came of it, and keeps that.
    pub(super) fn judge(&mut self, what: &str, shown: impl FnOnce() -> Result<String>) {
        match shown() {
            Ok(figure) => self.enter(what, true, figure),
            Err(error) => self.enter(what, false, format!("{error:#}")),
        }
    }

    /// Enters something that is known already.
    pub(super) fn enter(&mut self, what: &str, holds: bool, figure: String) {
        let verdict = if holds { "ok" } else { "FAILED" };
        println!("{verdict:<7} {what}: {figure}");
        self.lines.push(Line { what: what.to_owned(), holds, figure });
    }

    /// Counts what was shown.
    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for line in &self.lines {
            tally.count(line.holds);
        }
        tally
    }

    /// Writes the book as a table in Markdown.
    pub(super) fn as_markdown(&self) -> String {
        let mut text = "| what | holds | figure |\n|---|---|---|\n".to_owned();
        for line in &self.lines {
            let holds = if line.holds { "yes" } else { "**no**" };
            let figure = line.figure.replace('\n', " ").replace('|', "\\|");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {} | {holds} | {figure} |", line.what);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::Ledger;
    use crate::tally::Tally;

    #[test]
    fn what_fails_is_kept_with_its_reason() {
        let mut ledger = Ledger::default();
        ledger.judge("one", || Ok("1 s".to_owned()));
        ledger.judge("two", || bail!("a | b"));
        assert_eq!(ledger.tally(), Tally { passed: 1, failed: 1, skipped: 0 });
        assert!(ledger.as_markdown().ends_with("| one | yes | 1 s |\n| two | **no** | a \\| b |\n"));
    }
}
