//! The words and layouts of everything a person reads, in each language; and the report as JSON.
//!
//! The crate decides nothing: it words a [`gpuwhy_model::verdict::Verdict`]. Where a verdict's own texts come from
//! another crate, the caller joins both crates' files of words into the catalogue.

mod absence;
mod culprit;
mod flow;
mod format_name;
mod inputs;
mod json;
mod paint;
mod safe;
mod source_name;
mod table;
mod terminal;
mod ticket;
mod values;
mod words;

pub use flow::lines as broken_lines;
pub use inputs::input_lines;
pub use json::{json_text, report};
pub use safe::safe;
pub use table::table;
pub use terminal::{Layout, explanation, text};
pub use texts::{TEXTS, input, message};
pub use ticket::{html, markdown};
pub use words::Words;

/// Generated from `text/*.toml`.
mod texts {
    use gpuwhy_model::text::{Language, TextFile};

    include!(concat!(env!("OUT_DIR"), "/words.rs"));
}
