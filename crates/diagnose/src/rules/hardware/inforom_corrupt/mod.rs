//! `inforom-corrupt`: the card's own configuration store is damaged.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::report;
use crate::draft::Draft;
use crate::evidence::{once, reader, reported};
use crate::facts::xids::{self, Report};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/inforom_corrupt.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::InforomCorrupt,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::Inforom, Signal::KernelLog, Signal::XidEvents],
    },
    check,
};

/// `NVML_ERROR_CORRUPTED_INFOROM`
const CORRUPTED: u32 = 14;
/// Errors of reading, writing and erasing the store, of older drivers.
const OF_THE_STORE: &[u32] = &[122, 123, 124, 125];

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for card in report::answering(scene) {
        let reports = xids::of_card(scene, card, limits);
        let line = reports.iter().rev().find(|report| OF_THE_STORE.contains(&report.number)).copied();
        if let Reading::Failed(Failure::Nvml { call, code: CORRUPTED }) = &card.inforom {
            findings.report(judge(scene, card, call, line));
        }
    }
}

fn judge(scene: &Scene, card: &Card, call: &str, line: Option<Report<'_>>) -> Draft {
    let mut draft = Draft::about_card(&RULE, card, text::summary()).severity(Severity::Warn);
    let reader = reader(scene, Reader::Nvml);
    draft.agree(4.0, once(Signal::Inforom, CORRUPTED, Unit::Code, reader, text::says_so(call)));
    if let Some(report) = line {
        draft.agree(1.0, reported(&report));
    }
    let target = report::target(&draft);
    draft.advise(Action::LookAgain, target.clone(), text::fix_look(card.called()));
    draft.advise(Action::ServiceHardware, target, text::fix_service());
    draft
}
