//! A program says that the system is not ready (CUDA error 802), which a perfect `nvidia-smi` does not contradict.

use gpuwhy_knowledge::CudaErrorFact;
use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::{RULE, SERVICE, text, view};
use crate::evidence::once;
use crate::facts::program::{about_program, agree, cuda_codes};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let lines = cuda_codes(scene, &[CudaErrorFact::SYSTEM_NOT_READY]);
    if lines.is_empty() {
        return;
    }
    let view = view(scene);
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Fault);
    draft.finding.cards = view.cards.iter().map(|card| card.index).collect();
    agree(&mut draft, 4.0, 0.85, &lines);
    if view.switches > 0 {
        let words = text::switches(view.switches);
        draft.agree(1.0, once(Signal::PciCards, view.switches, Unit::Count, Reader::SysPci, words));
    }
    draft.finding.detail.insert("code".to_owned(), CudaErrorFact::SYSTEM_NOT_READY.to_string());
    let service = Target { kind: SubjectKind::Node, id: SERVICE.to_owned() };
    draft.advise(Action::RestartService, vec![service], text::fix_start());
    findings.report(draft);
}
