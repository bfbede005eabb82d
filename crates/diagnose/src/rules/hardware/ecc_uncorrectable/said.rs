//! A program says that memory of its card lost data (CUDA errors 214 and 226).

use gpuwhy_knowledge::CudaErrorFact;
use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{Scene, SourceKind, Standing};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::draft::Draft;
use crate::facts::program::{about_program, agree, cuda_codes};
use crate::findings::Findings;

/// Looks for what programs say: of a text with one card that counts such errors, it is the same event.
pub(super) fn check(scene: &Scene, of_cards: &mut [Draft], findings: &mut Findings) {
    let lines = cuda_codes(scene, &[CudaErrorFact::ECC_UNCORRECTABLE, CudaErrorFact::CONTAINED]);
    let Some((_, code)) = lines.first() else {
        return;
    };
    let is_over = lines.first().is_some_and(|(line, _)| line.standing != Some(Standing::Handled));
    if let ([only], SourceKind::Text, true) = (&mut *of_cards, scene.provenance.source, is_over) {
        let is_sure = *code == CudaErrorFact::ECC_UNCORRECTABLE;
        agree(only, 4.0, if is_sure { 0.95 } else { 0.7 }, &lines);
        only.finding.severity = Severity::Fault;
        only.finding.detail.insert("code".to_owned(), code.to_string());
        only.advise(Action::ImproveProgram, Vec::new(), text::fix_restart());
        return;
    }
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Fault);
    let is_sure = *code == CudaErrorFact::ECC_UNCORRECTABLE;
    agree(&mut draft, 4.0, if is_sure { 0.95 } else { 0.7 }, &lines);
    draft.finding.detail.insert("code".to_owned(), code.to_string());
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look_all());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_restart());
    findings.report(draft);
}
