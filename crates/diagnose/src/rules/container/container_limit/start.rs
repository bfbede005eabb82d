//! A container runtime says that it may not pass cards in.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{ContainerNotStarted, ProgramFact, Scene, StartObstacle};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::ContainerNotStarted(ContainerNotStarted {
            obstacle: StartObstacle::NotAllowed, ..
        }) => Some(()),
        _ => None,
    };
    let lines = decisive(facts(scene, of_kind));
    if lines.is_empty() {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_may_not_pass()).severity(Severity::Warn);
    "program start".clone_into(&mut draft.group);
    agree(&mut draft, 4.0, 0.85, &lines);
    draft.finding.detail.insert("limit".to_owned(), "devices".to_owned());
    draft.advise(Action::GrantDevice, Vec::new(), text::fix_may_not_pass());
    findings.report(draft);
}
