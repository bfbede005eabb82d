//! `row-remap-pending`: a repair of the memory is recorded and waits for a reset or reboot.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::report;
use crate::draft::Draft;
use crate::evidence::{flag, normal, once, reader, reported, with_normal};
use crate::facts::cards::holders;
use crate::facts::xids;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/row_remap_pending.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::RowRemapPending,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::RemappedRows,
            Signal::RetiredPages,
            Signal::EccErrors,
            Signal::KernelLog,
            Signal::XidEvents,
        ],
    },
    check,
};

/// The driver recorded a repair: a row, a page, or a channel of the memory.
const RECORDED: &[u32] = &[63, 160];
/// Every program on the card may have wrong data: the reset cannot wait.
const URGENT: &[u32] = &[95, 140];

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in report::answering(scene) {
        report::blind_if_denied(Signal::RemappedRows, &card.remapped_rows, findings);
        judge(scene, card, limits, findings);
    }
}

fn judge(scene: &Scene, card: &Card, limits: &Limits, findings: &mut Findings) {
    let rows = card.remapped_rows.known();
    let pages = card.retired_pages.known();
    // A repair that failed does not wait for anything: the memory is broken.
    if rows.is_some_and(|rows| rows.failed) {
        return;
    }
    let row_waits = rows.is_some_and(|rows| rows.pending);
    let page_waits = pages.is_some_and(|pages| pages.pending);
    let reports = xids::of_card(scene, card, limits);
    let recorded = reports.iter().rev().find(|report| RECORDED.contains(&report.number));
    // Where the card says that nothing waits, the line is history: it was reset since.
    let flags_are_known = rows.is_some() || pages.is_some();
    if !row_waits && !page_waits && (recorded.is_none() || flags_are_known) {
        return;
    }
    let is_urgent = reports.iter().any(|report| URGENT.contains(&report.number));
    let summary = if page_waits { text::summary_page() } else { text::summary() };
    let severity = if is_urgent { Severity::Fault } else { Severity::Warn };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity);
    let reader = reader(scene, Reader::Nvml);
    if row_waits {
        draft.agree(4.0, flag(Signal::RemappedRows, reader, text::row_waits()));
    }
    if page_waits {
        draft.agree(4.0, flag(Signal::RetiredPages, reader, text::page_waits()));
    }
    match recorded {
        Some(report) if row_waits || page_waits => draft.agree(1.0, reported(report)),
        Some(report) => {
            draft.agree_by(4.0, 0.75, reported(report));
            if let Some(absence @ Absence::Denied(_)) = card.remapped_rows.absence() {
                draft.unseen(1.0, Signal::RemappedRows, absence);
            }
        }
        None => {}
    }
    mention_spares(scene, card, &mut draft);
    if let Some(count) = card.ecc.volatile.uncorrected.known() {
        let words = text::errors_since_load(*count);
        draft.mention(once(Signal::EccErrors, *count, Unit::Count, reader, words));
    }
    let number = holders(scene, card).len();
    let target = report::target(&draft);
    if is_urgent {
        draft.advise(Action::ResetCard, target, text::fix_urgent(card.called()));
    } else if number > 0 || !card.clients.is_known() {
        // Of a card whose programs nobody lists, none may be in the way of a reset.
        draft.advise(Action::ResetCard, target, text::fix_later(card.called()));
    } else {
        draft.advise(Action::ResetCard, target, text::fix_now(card.called()));
    }
    findings.report(draft);
}

/// Says so when some bank of the memory has no spare row left.
fn mention_spares(scene: &Scene, card: &Card, draft: &mut Draft) {
    let spares = card.remapped_rows.known().and_then(|rows| rows.spare_rows);
    if let Some(spares) = spares.filter(|spares| spares.none > 0) {
        let words = text::no_spares(spares.none);
        let reader = reader(scene, Reader::Nvml);
        let evidence = once(Signal::RemappedRows, spares.none, Unit::Count, reader, words);
        draft.mention(with_normal(evidence, normal(Comparison::Equal, 0.0)));
    }
}
