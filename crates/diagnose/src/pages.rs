//! The words and pages of every rule, collected by the build script.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::text::{Language, TextFile};

/// The page of one cause in one language.
struct Page {
    cause: &'static str,
    language: Language,
    text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// Returns the page that explains a cause, if this version knows the cause.
pub fn page(cause: Cause, language: Language) -> Option<&'static str> {
    PAGES.iter().find(|page| page.cause == cause.id() && page.language == language).map(|page| page.text)
}
