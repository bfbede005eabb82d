//! `ecc-correctable-storm`: very many memory errors, all of them corrected.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::report;
use crate::draft::Draft;
use crate::evidence::{normal, once, over, reader, reported, with_normal};
use crate::facts::peers;
use crate::facts::xids;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use crate::statistics::median;

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/ecc_correctable_storm.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::EccCorrectableStorm,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::EccErrors, Signal::KernelLog, Signal::XidEvents, Signal::Peers],
    },
    check,
};

/// The driver says that there are very many corrected errors.
const EXCESSIVE: u32 = 92;
/// So few errors in a look may come together by chance.
const COUNT_MIN: u64 = 5;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let groups = peers::same_products(scene);
    for card in report::answering(scene) {
        let group = groups.iter().find(|group| group.iter().any(|one| one.index == card.index));
        let others: Vec<&Card> =
            group.into_iter().flatten().copied().filter(|other| other.index != card.index).collect();
        judge(scene, card, &others, limits, findings);
    }
}

/// Returns the errors of the window, if they come so fast that it is a storm.
fn storm(scene: &Scene, card: &Card, others: &[&Card], limits: &Limits) -> Option<u64> {
    let count = *card.ecc_growth.corrected.known()?;
    let span_s = scene.window.span_s;
    let is_fast = span_s > 0.0 && count as f64 / span_s >= limits.ecc_corrected_per_s_min;
    let of_others: Vec<f64> =
        others.iter().filter_map(|other| Some(*other.ecc_growth.corrected.known()? as f64)).collect();
    let is_far_above =
        median(&of_others).is_none_or(|others| count as f64 > others * limits.ecc_corrected_peers_ratio);
    (is_fast && count >= COUNT_MIN && is_far_above).then_some(count)
}

/// Returns the errors since the driver was loaded, if they are many, and far more than on the other cards.
fn many(card: &Card, others: &[&Card], limits: &Limits) -> Option<(u64, Option<f64>)> {
    let count = *card.ecc.volatile.corrected.known()?;
    let of_others: Vec<f64> =
        others.iter().filter_map(|other| Some(*other.ecc.volatile.corrected.known()? as f64)).collect();
    let others = median(&of_others);
    let is_far_above = others.is_none_or(|others| count as f64 > others * limits.ecc_corrected_peers_ratio);
    (count >= limits.ecc_corrected_worth_naming && is_far_above).then_some((count, others))
}

fn judge(scene: &Scene, card: &Card, others: &[&Card], limits: &Limits, findings: &mut Findings) {
    let report =
        xids::of_card(scene, card, limits).into_iter().rev().find(|report| report.number == EXCESSIVE);
    let storm = storm(scene, card, others, limits);
    let many = many(card, others, limits);
    if report.is_none() && storm.is_none() && many.is_none() {
        return;
    }
    let is_now = report.is_some() || storm.is_some();
    let summary = if is_now { text::summary() } else { text::summary_since_load() };
    let severity = if is_now { Severity::Warn } else { Severity::Note };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity);
    if let Some(count) = storm {
        let words = text::in_the_window(count);
        let evidence = once(Signal::EccErrors, count, Unit::Count, Reader::NvmlCounters, words);
        let evidence = over(evidence, scene.window.samples, scene.window.span_s);
        let usual = normal(Comparison::Less, limits.ecc_corrected_per_s_min * scene.window.span_s);
        draft.agree_by(4.0, 0.95, with_normal(evidence, usual));
        draft.balance.rest_on(scene.window.samples, scene.window.span_s);
    }
    if let Some(report) = report {
        draft.agree_by(4.0, 0.9, reported(&report));
        draft.finding.detail.insert("xid".to_owned(), report.number.to_string());
    }
    if let Some((count, others)) = many {
        let reader = reader(scene, Reader::Nvml);
        let evidence = once(Signal::EccErrors, count, Unit::Count, reader, text::since_load(count));
        draft.agree_by(4.0, if is_now { 1.0 } else { 0.7 }, evidence);
        if let Some(others) = others {
            let words = text::others(whole(others));
            draft.mention(once(Signal::Peers, others, Unit::Count, reader, words));
        }
    }
    draft.advise(Action::Watch, report::target(&draft), text::fix_watch(card.called()));
    findings.report(draft);
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a median of counts")]
fn whole(count: f64) -> u64 {
    count.round() as u64
}
