//! A program says that a link between cards lost data (CUDA error 220).

use gpuwhy_knowledge::CudaErrorFact;
use gpuwhy_model::action::Action;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::facts::program::{about_program, agree, cuda_codes};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let lines = cuda_codes(scene, &[CudaErrorFact::NVLINK_UNCORRECTABLE]);
    if lines.is_empty() {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Fault);
    agree(&mut draft, 4.0, 0.9, &lines);
    draft.finding.detail.insert("code".to_owned(), CudaErrorFact::NVLINK_UNCORRECTABLE.to_string());
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look_all());
    draft.advise(Action::ServiceHardware, Vec::new(), text::fix_service());
    findings.report(draft);
}
