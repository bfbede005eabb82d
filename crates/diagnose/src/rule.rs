//! What a rule is: the cause it looks for, what it needs to see, and how it looks.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::Signal;

use crate::findings::Findings;

/// One cause and the way to recognise it.
pub struct Rule {
    /// The cause.
    pub cause: Cause,
    /// What it must have seen before it is sure.
    pub needs: Needs,
    /// Looks at the scene and reports.
    pub check: fn(&Scene, &Limits, &mut Findings),
}

/// What a rule must have seen before it is sure.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The shortest span that can decide it; below it, a finding has at most 0.5.
    pub span: Span,
    /// The fewest samples that can decide it; below it, a finding has at most 0.5.
    pub samples: usize,
    /// Every signal that it judges by.
    pub signals: &'static [Signal],
}

/// A length of time that must have been looked at, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Span(f64);

impl Span {
    /// A single look is enough.
    pub const NONE: Self = Self(0.0);

    /// Makes a span from seconds.
    pub const fn seconds(seconds: f64) -> Self {
        Self(seconds)
    }

    /// Returns the span in seconds.
    pub const fn as_seconds(self) -> f64 {
        self.0
    }
}
