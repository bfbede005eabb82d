//! A program says that driver and library do not belong together (CUDA error 803).

use gpuwhy_knowledge::CudaErrorFact;
use gpuwhy_model::action::Action;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::facts::program::{about_program, agree, cuda_codes};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let lines = cuda_codes(scene, &[CudaErrorFact::DRIVER_MISMATCH]);
    if lines.is_empty() {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    agree(&mut draft, 4.0, 0.8, &lines);
    draft.finding.detail.insert("code".to_owned(), CudaErrorFact::DRIVER_MISMATCH.to_string());
    draft.advise(Action::LookAgain, Vec::new(), text::fix_compare());
    draft.advise(Action::UpdateDriver, Vec::new(), text::fix_reload());
    draft.advise(Action::RestartContainer, Vec::new(), text::fix_container());
    findings.report(draft);
}
