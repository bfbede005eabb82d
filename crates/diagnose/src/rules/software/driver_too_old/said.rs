//! A program says that the driver cannot run its build.

use gpuwhy_knowledge::CudaErrorFact;
use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::evidence::once;
use crate::facts::program::{about_program, agree, cuda_codes, decisive, facts};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::DriverTooOld { supports, needs } => Some((supports.clone(), needs.clone())),
        _ => None,
    };
    let lines = decisive(facts(scene, of_kind));
    let compat = cuda_codes(scene, &[CudaErrorFact::COMPAT_NOT_SUPPORTED]);
    if lines.is_empty() && compat.is_empty() {
        return;
    }
    // What the driver runs stands in the message, or in what its own tools say.
    let supports = lines.iter().find_map(|(_, (supports, _))| supports.clone());
    let supports = supports.or_else(|| scene.machine.driver.cuda_version.known().cloned());
    let needs = lines.iter().find_map(|(_, (_, needs))| needs.clone());
    let summary = match (&supports, &needs) {
        _ if lines.is_empty() => text::summary_compat(),
        (Some(supports), Some(needs)) => text::summary_said_both(needs.as_str(), supports.as_str()),
        (Some(supports), None) => text::summary_said(supports.as_str()),
        _ => text::summary_said_only(),
    };
    let mut draft = about_program(&RULE, summary).severity(Severity::Warn);
    if lines.is_empty() {
        agree(&mut draft, 4.0, 0.75, &compat);
        draft.finding.detail.insert("kind".to_owned(), "compat-not-allowed".to_owned());
    } else {
        agree(&mut draft, 4.0, 0.95, &lines);
    }
    if let Some(highest) = &supports {
        let words = text::driver_runs(highest.as_str());
        draft
            .agree(1.0, once(Signal::DriverVersion, highest.as_str(), Unit::Text, Reader::ProgramLog, words));
    }
    draft.advise(Action::UpdateDriver, Vec::new(), text::fix_newer_driver());
    match &supports {
        Some(highest) => draft.advise(Action::ImproveProgram, Vec::new(), text::fix_build(highest.as_str())),
        None => draft.advise(Action::ImproveProgram, Vec::new(), text::fix_older_build()),
    }
    findings.report(draft);
}
