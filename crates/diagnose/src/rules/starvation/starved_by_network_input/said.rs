//! A program says that data which it reads over the network broke off.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{ProgramFact, Scene};
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::facts::program::{about_program, agree, facts};
use crate::findings::Findings;

/// Once may be chance.
const OFTEN: usize = 2;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| (*fact == ProgramFact::InputBrokeOff).then_some(());
    let lines = facts(scene, of_kind);
    if lines.is_empty() {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    draft.finding.impact = Impact::default();
    agree(&mut draft, 3.0, if lines.len() >= OFTEN { 0.65 } else { 0.35 }, &lines);
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_whole_files());
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_nearer());
    findings.report(draft);
}
