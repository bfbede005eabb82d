//! How sure a finding is: the one formula, and the caps of design §5.
//!
//! Every signal that a rule judges by has a weight. What agrees counts fully; what is silent or could not be seen
//! counts half against the finding; what contradicts counts double against it:
//!
//! ```text
//! confidence = 0.97 × agreeing / (agreeing + ½ × missing + 2 × contradicting)
//! ```

use gpuwhy_model::limits::Limits;

use crate::rule::Needs;

/// No finding is surer: some reasons cannot be seen from here.
const CEILING: f64 = 0.97;
/// How much a signal that is silent or unseen takes away, beside one that agrees.
const MISSING: f64 = 0.5;
/// How much a signal that contradicts takes away, beside one that agrees.
const CONTRADICTING: f64 = 2.0;
/// Rates, shares and trends of few time stamps are no surer.
const FEW_SAMPLES_CAP: f64 = 0.8;
/// What was looked at for less than a rule's span is no surer.
const SHORT_SPAN_CAP: f64 = 0.5;
/// A finding that a rule itself takes for a mere possibility stays below the answers.
const CANDIDATE_CAP: f64 = 0.49;

/// The weights of what was seen, and what limits their worth.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Balance {
    pub(crate) agreeing: f64,
    pub(crate) missing: f64,
    pub(crate) contradicting: f64,
    /// The fewest time stamps of a rate, share or trend that counted.
    pub(crate) trend_samples: Option<usize>,
    /// The shortest span of a rate, share or trend that counted, in seconds.
    pub(crate) trend_span_s: Option<f64>,
    /// What lies in the past decides already, however short the look was.
    pub(crate) past_decides: bool,
    /// Only a possibility, by the rule's own judgement.
    pub(crate) is_candidate: bool,
}

impl Balance {
    /// Counts a signal that agrees by some strength, 0 to 1; the rest of its weight counts as missing.
    pub(crate) fn agree(&mut self, weight: f64, strength: f64) {
        let strength = strength.clamp(0.0, 1.0);
        self.agreeing += weight * strength;
        self.missing += weight * (1.0 - strength);
    }

    /// Remembers that a series of `n` time stamps over `span_s` seconds counted.
    pub(crate) fn rest_on(&mut self, n: usize, span_s: f64) {
        self.trend_samples = Some(self.trend_samples.map_or(n, |fewest| fewest.min(n)));
        self.trend_span_s = Some(self.trend_span_s.map_or(span_s, |shortest| shortest.min(span_s)));
    }

    /// Returns the confidence, 0 to 1, rounded to hundredths.
    pub(crate) fn confidence(&self, needs: Needs, window: Looked, limits: &Limits) -> f64 {
        let all = self.agreeing + MISSING * self.missing + CONTRADICTING * self.contradicting;
        let mut confidence = if all > 0.0 { CEILING * self.agreeing / all } else { 0.0 };
        if self.trend_samples.is_some_and(|n| n < limits.trend_samples_min) {
            confidence = confidence.min(FEW_SAMPLES_CAP);
        }
        let span_s = self.trend_span_s.unwrap_or(window.span_s);
        let samples = self.trend_samples.unwrap_or(window.samples);
        let is_short = span_s < needs.span.as_seconds() || samples < needs.samples;
        if is_short && !self.past_decides {
            confidence = confidence.min(SHORT_SPAN_CAP);
        }
        if self.is_candidate {
            confidence = confidence.min(CANDIDATE_CAP);
        }
        (confidence * 100.0).round() / 100.0
    }
}

/// How long and how often the machine was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Looked {
    pub(crate) span_s: f64,
    pub(crate) samples: usize,
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::limits::Limits;

    use super::{Balance, Looked};
    use crate::rule::{Needs, Span};

    const LONG: Looked = Looked { span_s: 5.0, samples: 11 };

    fn confidence(balance: &Balance, looked: Looked) -> f64 {
        let needs = Needs { span: Span::seconds(4.0), samples: 2, signals: &[] };
        balance.confidence(needs, looked, &Limits::default())
    }

    fn agreeing(agreeing: f64) -> Balance {
        Balance { agreeing, ..Balance::default() }
    }

    #[test]
    fn missing_lowers_and_contradiction_lowers_more() {
        let full = confidence(&agreeing(4.0), LONG);
        let missing = confidence(&Balance { missing: 2.0, ..agreeing(4.0) }, LONG);
        let contradicted = confidence(&Balance { contradicting: 2.0, ..agreeing(4.0) }, LONG);
        assert!((full - 0.97).abs() < 1e-9);
        assert!(missing < full && contradicted < missing);
    }

    #[test]
    fn few_time_stamps_and_short_looks_are_capped() {
        let mut few = agreeing(4.0);
        few.rest_on(9, 5.0);
        assert!((confidence(&few, LONG) - 0.8).abs() < 1e-9);
        let once = Looked { span_s: 0.0, samples: 1 };
        assert!((confidence(&agreeing(4.0), once) - 0.5).abs() < 1e-9);
        let past = Balance { past_decides: true, ..agreeing(4.0) };
        assert!((confidence(&past, once) - 0.97).abs() < 1e-9);
    }

    #[test]
    fn a_buffer_that_reaches_back_far_enough_makes_a_single_look_long() {
        let mut buffered = agreeing(4.0);
        buffered.rest_on(30, 5.0);
        assert!((confidence(&buffered, Looked { span_s: 0.0, samples: 1 }) - 0.97).abs() < 1e-9);
    }

    #[test]
    fn nothing_seen_is_nothing_known() {
        assert!(confidence(&Balance::default(), LONG).abs() < 1e-9);
    }
}
