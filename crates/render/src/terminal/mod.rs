//! The answer for a terminal: first the answer, then who, then what to do, then why; what was ruled out and what
//! could not be seen come last.

pub(crate) mod answer;
pub(crate) mod closing;
mod explanation;
mod page;
pub(crate) mod who;
pub(crate) mod why;

pub use explanation::explanation;

use gpuwhy_model::verdict::Verdict;

use crate::words::Words;
use page::Page;
pub(crate) use page::spaced;

/// How wide the answer may be, and whether it may have colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns; less than 80 is taken as 80, the narrowest in which the answer stays readable.
    pub width: usize,
    /// Whether escape codes for colour may be written.
    pub colour: bool,
}

/// Narrowest layout.
const WIDTH_MIN: usize = 80;

/// Returns the answer for a person, each line ended by a line feed.
pub fn text(verdict: &Verdict, words: &Words<'_>, layout: &Layout) -> String {
    let mut page = Page::new(layout.width.max(WIDTH_MIN), layout.colour);
    answer::write(&mut page, verdict, words);
    for finding in &verdict.findings {
        why::write(&mut page, verdict, finding, words);
    }
    closing::write(&mut page, verdict, words);
    page.finish()
}
