//! The driver asks for a reset or reboot (Xid 154), and the text does not show the error for which it does.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::Severity;

use super::{RULE, report, text};
use crate::draft::Draft;
use crate::evidence::reported;
use crate::facts::xids::{self, Kind, Report};

/// Steps by their number in the line.
const RESET: u32 = 1;
const REBOOT: u32 = 2;
const DRAIN_AND_RESET: u32 = 4;

/// Judges a card of which a text says only this; a machine that is looked at shows the error itself.
pub(super) fn judge(scene: &Scene, card: &Card, reports: &[Report<'_>], limits: &Limits) -> Option<Draft> {
    let of_a_part = [Kind::Memory, Kind::Link, Kind::Lost];
    let is_explained = reports.iter().any(|report| of_a_part.contains(&xids::kind(report.number, card)));
    if scene.provenance.source != SourceKind::Text || is_explained {
        return None;
    }
    let (step, line) = xids::asked_for(scene, card, limits)?;
    let mut draft = Draft::about_card(&RULE, card, summary(step)).severity(Severity::Fault);
    draft.agree_by(4.0, 0.8, reported(&line));
    // The error behind it is not in the text.
    draft.silent(1.0);
    draft.finding.detail.insert("xid".to_owned(), line.number.to_string());
    draft.finding.impact.blocked = 1;
    let target = report::target(&draft);
    draft.advise(Action::LookAgain, target.clone(), text::fix_find_error());
    match step {
        RESET | DRAIN_AND_RESET => draft.advise(Action::ResetCard, target, text::fix_reset(card.called())),
        REBOOT => draft.advise(Action::Reboot, target, text::fix_reboot()),
        _ => draft.advise(Action::ServiceHardware, target, text::fix_diagnose()),
    }
    Some(draft)
}

fn summary(step: u32) -> Text {
    match step {
        RESET | DRAIN_AND_RESET => text::summary_asks_reset(),
        REBOOT => text::summary_asks_reboot(),
        _ => text::summary_asks_recovery(),
    }
}
