//! A program says that it finds no driver where it runs.

use gpuwhy_model::action::Action;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ProgramFact, Scene};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| (*fact == ProgramFact::NoDriver).then_some(());
    let lines = decisive(facts(scene, of_kind));
    if lines.is_empty() {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    agree(&mut draft, 3.0, 0.6, &lines);
    if !scene.cards.is_empty() && !matches!(scene.machine.driver.library, Reading::Failed(_)) {
        // The machine has one: the program runs where it cannot be reached.
        draft.only_possible();
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look());
    draft.advise(Action::GrantDevice, Vec::new(), text::fix_grant());
    findings.report(draft);
}
