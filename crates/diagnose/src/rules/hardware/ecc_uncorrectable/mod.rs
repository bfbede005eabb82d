//! `ecc-uncorrectable`: memory errors that could not be corrected; data were lost, or the memory is broken for good.

mod said;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::report;
use crate::draft::Draft;
use crate::evidence::{flag, normal, once, over, reader, reported, with_normal};
use crate::facts::cards::holders;
use crate::facts::culprit;
use crate::facts::xids::{self, Report};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/ecc_uncorrectable.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::EccUncorrectable,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::EccErrors,
            Signal::RemappedRows,
            Signal::RetiredPages,
            Signal::KernelLog,
            Signal::XidEvents,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// Only the program that used the bad data was hit.
const CONTAINED: u32 = 94;
/// Every program on the card may have been hit.
const UNCONTAINED: &[u32] = &[95, 140];
/// Data were lost; what else the log says tells how far.
const DOUBLE_BIT: u32 = 48;
/// A repair could not be recorded.
const REPAIR_FAILED: u32 = 64;
/// No card remaps more rows for uncorrectable errors.
const REMAPS_MAX: u64 = 512;
/// A card with more retired pages goes back to the vendor.
const RETIRED_MAX: u64 = 63;

/// What shows that memory is lost or broken.
struct Signs<'scene> {
    /// The memory cannot be repaired any more.
    broken: Vec<Evidence>,
    /// Errors of now: in the window, or in the log of the last minutes.
    fresh: Vec<Evidence>,
    /// Errors since the driver was loaded.
    since_load: Option<Evidence>,
    /// The error that tells how far the damage goes.
    telling: Option<Report<'scene>>,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let mut drafts = Vec::new();
    for card in report::answering(scene) {
        report::blind_if_denied(Signal::EccErrors, &card.ecc.volatile.uncorrected, findings);
        report::blind_if_denied(Signal::RemappedRows, &card.remapped_rows, findings);
        let signs = signs(scene, card, limits);
        let is_anything = !signs.broken.is_empty() || !signs.fresh.is_empty() || signs.since_load.is_some();
        if is_anything {
            drafts.push(judge(scene, card, signs));
        }
    }
    said::check(scene, &mut drafts, findings);
    for draft in drafts {
        findings.report(draft);
    }
}

fn signs<'scene>(scene: &'scene Scene, card: &'scene Card, limits: &Limits) -> Signs<'scene> {
    let reports = xids::of_card(scene, card, limits);
    let newest =
        |numbers: &[u32]| reports.iter().rev().find(|report| numbers.contains(&report.number)).copied();
    let telling = newest(UNCONTAINED).or(newest(&[CONTAINED])).or(newest(&[DOUBLE_BIT, REPAIR_FAILED]));
    let mut fresh: Vec<Evidence> = telling.iter().map(reported).collect();
    if let Some(count) = card.ecc_growth.uncorrected.known().copied().filter(|count| *count > 0) {
        let evidence =
            once(Signal::EccErrors, count, Unit::Count, Reader::NvmlCounters, text::in_the_window(count));
        let evidence = over(evidence, scene.window.samples, scene.window.span_s);
        fresh.push(with_normal(evidence, normal(Comparison::Equal, 0.0)));
    }
    Signs { broken: broken(scene, card), fresh, since_load: since_load(scene, card), telling }
}

/// Returns what says that the memory cannot be repaired any more.
fn broken(scene: &Scene, card: &Card) -> Vec<Evidence> {
    let reader = reader(scene, Reader::Nvml);
    let mut broken = Vec::new();
    if let Some(rows) = card.remapped_rows.known() {
        if rows.failed {
            broken.push(flag(Signal::RemappedRows, reader, text::remap_failed()));
        }
        if rows.uncorrected >= REMAPS_MAX {
            let count = rows.uncorrected;
            broken.push(once(Signal::RemappedRows, count, Unit::Count, reader, text::no_rows_left(count)));
        }
    }
    if card.ecc.sram_threshold_exceeded.known() == Some(&true) {
        broken.push(flag(Signal::EccErrors, reader, text::sram_threshold()));
    }
    if let Some(pages) = card.retired_pages.known() {
        let count = pages.single_bit.saturating_add(pages.double_bit);
        if count > RETIRED_MAX {
            broken.push(once(Signal::RetiredPages, count, Unit::Count, reader, text::many_pages(count)));
        }
    }
    broken
}

/// Returns the errors since the driver was loaded.
fn since_load(scene: &Scene, card: &Card) -> Option<Evidence> {
    let counts = &card.ecc.volatile;
    let parts = [&counts.dram_uncorrected, &counts.sram_uncorrected];
    let by_part =
        parts.iter().filter_map(|part| part.known()).fold(0_u64, |sum, part| sum.saturating_add(*part));
    // The parts are in the sum: both together would count an error twice.
    let count = counts.uncorrected.known().copied().unwrap_or(0).max(by_part);
    if count == 0 {
        return None;
    }
    let words = match counts.sram_uncorrected.known() {
        Some(in_sram) if *in_sram > 0 => text::since_load_in_sram(count, *in_sram),
        _ => text::since_load(count),
    };
    let reader = reader(scene, Reader::Nvml);
    let evidence = once(Signal::EccErrors, count, Unit::Count, reader, words);
    Some(with_normal(evidence, normal(Comparison::Equal, 0.0)))
}

fn judge(scene: &Scene, card: &Card, signs: Signs<'_>) -> Draft {
    let is_broken = !signs.broken.is_empty();
    let is_fresh = !signs.fresh.is_empty();
    let severity = if is_broken || is_fresh { Severity::Fault } else { Severity::Warn };
    let mut draft = Draft::about_card(&RULE, card, summary(card, &signs)).severity(severity);
    for evidence in signs.broken {
        draft.agree(4.0, evidence);
    }
    for evidence in signs.fresh {
        draft.agree(4.0, evidence);
    }
    if let Some(evidence) = signs.since_load {
        // Without a line that is young enough, nobody knows when it was.
        draft.agree_by(4.0, if is_fresh { 1.0 } else { 0.8 }, evidence);
    }
    let holders = holders(scene, card);
    draft.processes = culprit::pids(&holders);
    let number = signs.telling.map(|report| report.number);
    if let Some(number) = number {
        draft.finding.detail.insert("xid".to_owned(), number.to_string());
    }
    let hits_all = number.is_some_and(|number| UNCONTAINED.contains(&number) || number == DOUBLE_BIT);
    draft.finding.impact.blocked =
        if hits_all { holders.len() as u64 } else { u64::from(number == Some(CONTAINED)) };
    advise(card, is_broken, number, &mut draft);
    draft
}

/// Returns the summary of errors since the driver was loaded; none of them in memory where all were in caches.
fn summary_since_load(card: &Card) -> Text {
    let (now, life) = (&card.ecc.volatile, &card.ecc.aggregate);
    let in_memory = now.dram_uncorrected.known().copied().unwrap_or(0);
    match (now.sram_uncorrected.known(), life.sram_uncorrected.known()) {
        (Some(count), _) if *count == 0 || in_memory > 0 => text::summary_since_load(),
        (Some(count), Some(all)) if all >= count => text::summary_sram_of_life(*count, *all),
        (Some(count), _) => text::summary_sram(*count),
        (None, _) => text::summary_since_load(),
    }
}

fn summary(card: &Card, signs: &Signs<'_>) -> Text {
    if !signs.broken.is_empty() {
        return text::summary_broken();
    }
    match signs.telling.map(|report| report.number) {
        Some(CONTAINED) => text::summary_contained(),
        Some(number) if UNCONTAINED.contains(&number) => text::summary_uncontained(),
        _ if signs.fresh.is_empty() => summary_since_load(card),
        _ => text::summary(),
    }
}

fn advise(card: &Card, is_broken: bool, number: Option<u32>, draft: &mut Draft) {
    let target = report::target(draft);
    draft.advise(Action::LookAgain, target.clone(), text::fix_look(card.called()));
    if is_broken {
        draft.advise(Action::ServiceHardware, target, text::fix_replace());
        return;
    }
    if number == Some(CONTAINED) {
        draft.advise(Action::ImproveProgram, Vec::new(), text::fix_restart());
        draft.advise(Action::ResetCard, target, text::fix_reset_when_idle(card.called()));
        return;
    }
    draft.advise(Action::ResetCard, target, text::fix_reset(card.called()));
}
