//! Promises about figures, and the lines that say whether they are kept.

use std::fmt::Write as _;

/// One promise about a figure.
pub(super) struct Bar {
    /// What was promised.
    pub(super) what: String,
    /// What was measured.
    pub(super) figure: String,
    /// Whether the promise is kept.
    pub(super) holds: bool,
}

/// Writes one line for each.
pub(super) fn lines(bars: &[Bar]) -> String {
    let width = bars.iter().map(|bar| bar.what.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for bar in bars {
        let verdict = if bar.holds { "holds " } else { "MISSED" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<width$}  {verdict}  {}", bar.what, bar.figure);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Bar, lines};

    #[test]
    fn a_missed_bar_is_seen_at_once() {
        let bar = |what: &str, holds| Bar { what: what.to_owned(), figure: "7 ms".to_owned(), holds };
        assert_eq!(
            lines(&[bar("one", true), bar("three", false)]),
            "one    holds   7 ms\nthree  MISSED  7 ms\n"
        );
    }
}
