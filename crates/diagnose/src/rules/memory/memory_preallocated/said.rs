//! A framework that takes all of a card at its start says that it was refused.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{Preallocation, ProgramFact, Scene};
use gpuwhy_model::units::Bytes;
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::facts::program::{about_program, agree, facts};
use crate::findings::Findings;

/// Smaller requests are no grab for all of a card.
const GRAB_MIN: Bytes = Bytes(1 << 30);

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact| refused(fact);
    let lines = facts(scene, of_kind);
    // Refused, it tries again with less: the first is what it wanted.
    let Some((_, (framework, bytes))) = lines.iter().max_by_key(|(_, (_, bytes))| *bytes) else {
        return;
    };
    let mut draft = about_program(&RULE, text::summary_refused(*bytes, *framework)).severity(Severity::Warn);
    agree(&mut draft, 3.0, 0.6, &lines);
    draft.advise(Action::LookAgain, Vec::new(), text::fix_who());
    draft.advise(Action::ReduceMemory, Vec::new(), text::fix_framework());
    findings.report(draft);
}

fn refused(fact: &ProgramFact) -> Option<(&str, Bytes)> {
    match fact {
        ProgramFact::Preallocation(Preallocation { framework, refused: Some(bytes), .. })
            if *bytes >= GRAB_MIN =>
        {
            Some((framework, *bytes))
        }
        _ => None,
    }
}
