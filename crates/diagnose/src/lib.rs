//! Rules that turn a Scene into a Verdict.
//!
//! The crate is pure: it reads nothing but the scene and the limits, and holds no words except as data.

mod confidence;
mod draft;
mod engine;
mod evidence;
mod facts;
mod findings;
mod pages;
mod registry;
mod rule;
mod rules;
mod statistics;
/// Constructors of the texts that several rules share.
mod shared_text {
    include!(concat!(env!("OUT_DIR"), "/text/shared.rs"));
}

pub use engine::diagnose;
pub use findings::Findings;
pub use pages::{TEXTS, page};
pub use registry::REGISTRY;
pub use rule::{Needs, Rule, Span};
