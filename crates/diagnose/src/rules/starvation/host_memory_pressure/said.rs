//! A program says that one of its loaders was killed, as the system does for want of memory.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{LimitHit, ProcessEnd, ProgramFact, Scene};
use gpuwhy_model::verdict::Severity;

use super::{RULE, advise, text};
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;

/// The signal that nobody can refuse.
const KILLED: u32 = 9;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::ProcessEnd(ProcessEnd { is_loader: true, signal: Some(KILLED), pid, .. }) => Some(*pid),
        _ => None,
    };
    let lines = decisive(facts(scene, of_kind));
    if lines.is_empty() {
        return;
    }
    let limit_was_hit =
        scene.program.iter().any(|line| line.fact == Some(ProgramFact::LimitHit(LimitHit::Memory)));
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    agree(&mut draft, 3.0, 0.6, &lines);
    if limit_was_hit {
        // Then it was the job's own limit.
        draft.only_possible();
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_who_killed());
    advise(&mut draft);
    findings.report(draft);
}
