//! A training log says how much of each step was waiting for data.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::scene::{ProgramFact, Scene, Step};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::evidence::{normal, once, with_normal};
use crate::facts::program::about_program;
use crate::findings::Findings;

/// A step of which so much is waiting is bound by its data.
const WAIT_SHARE_MIN: f64 = 0.5;
/// Fewer steps are no rule.
const STEPS_MIN: usize = 3;
/// A rate that falls to this share and stays there has lost its data, and not its clock.
const RATE_LEFT_MAX: f64 = 0.25;
/// A step that takes so many times what it took at first: what was in memory has run out.
const SLOWER_RATIO: f64 = 3.0;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    check_rates(scene, findings);
    let steps: Vec<(f64, f64)> = scene.program.iter().filter_map(|line| timed(line.fact.as_ref()?)).collect();
    let last = &steps[steps.len().saturating_sub(STEPS_MIN)..];
    if last.len() < STEPS_MIN
        || !last.iter().all(|(took, waited)| *took > 0.0 && waited / took >= WAIT_SHARE_MIN)
    {
        return;
    }
    let share = last.iter().map(|(took, waited)| waited / took).sum::<f64>() / last.len() as f64;
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    draft.finding.impact = Impact::default();
    let percent = Percent((share * 100.0).min(100.0));
    let words = text::step_waits(last.len(), percent);
    let evidence = once(Signal::ProgramLog, percent.0, Unit::Percent, Reader::ProgramLog, words);
    draft.agree_by(3.0, 0.55, with_normal(evidence, normal(Comparison::Less, WAIT_SHARE_MIN * 100.0)));
    if let Some(ratio) = slower(&steps) {
        // Loaders that compute are slow from the first step on; storage is, once the page cache is used up.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a ratio of times")]
        let words = text::became_slower(ratio.round() as u64);
        draft.agree(1.5, once(Signal::ProgramLog, ratio, Unit::Count, Reader::ProgramLog, words));
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_nearer());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_larger_files());
    findings.report(draft);
}

/// Reports that the rate of a training fell off a cliff and stays down, where its log says nothing of waiting.
fn check_rates(scene: &Scene, findings: &mut Findings) {
    let rates: Vec<f64> = scene
        .program
        .iter()
        .filter_map(|line| match line.fact.as_ref()? {
            ProgramFact::Step(Step { samples_per_s: Some(rate), waited_for_data: None, .. }) => Some(*rate),
            _ => None,
        })
        .collect();
    let (Some(first), Some(last)) = (rates.get(..STEPS_MIN), rates.last()) else {
        return;
    };
    let at_first = first.iter().copied().fold(f64::INFINITY, f64::min);
    // A card that is hot or held back still does more than this.
    if at_first <= 0.0 || *last > at_first * RATE_LEFT_MAX {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    draft.finding.impact = Impact::default();
    let percent = Percent(last / at_first * 100.0);
    let words = text::rate_fell(percent);
    let evidence = once(Signal::ProgramLog, percent.0, Unit::Percent, Reader::ProgramLog, words);
    draft.agree_by(3.0, 0.45, with_normal(evidence, normal(Comparison::Greater, RATE_LEFT_MAX * 100.0)));
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_nearer());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_larger_files());
    findings.report(draft);
}

/// Returns how long a step took and how much of it was waiting for data, in seconds.
fn timed(fact: &ProgramFact) -> Option<(f64, f64)> {
    match fact {
        ProgramFact::Step(Step { took: Some(took), waited_for_data: Some(waited), .. }) => {
            Some((took.0, waited.0))
        }
        _ => None,
    }
}

/// Returns how many times longer the last steps take than the quickest of those before, where that is much.
fn slower(steps: &[(f64, f64)]) -> Option<f64> {
    let (before, last) = steps.split_at(steps.len().saturating_sub(STEPS_MIN));
    let quickest = before.iter().map(|(took, _)| *took).fold(f64::INFINITY, f64::min);
    let slowest = last.iter().map(|(took, _)| *took).fold(0.0, f64::max);
    let ratio = slowest / quickest;
    (ratio.is_finite() && ratio >= SLOWER_RATIO).then_some(ratio)
}
