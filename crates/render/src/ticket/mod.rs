//! The answer as a document for a ticket: Markdown, or HTML that needs nothing else.

mod content;
mod html;
mod markdown;
mod outline;

use gpuwhy_model::verdict::Verdict;

use crate::words::Words;

/// Returns the answer as Markdown, each line ended by a line feed.
pub fn markdown(verdict: &Verdict, words: &Words<'_>) -> String {
    markdown::written(&content::document(verdict, words))
}

/// Returns the answer as an HTML document that loads nothing and runs nothing.
pub fn html(verdict: &Verdict, words: &Words<'_>) -> String {
    html::written(&content::document(verdict, words), words.language)
}
