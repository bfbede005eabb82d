//! The library of the exchange says that it takes a slow way.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{NcclWay, ProgramFact, Scene};
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::facts::program::{about_program, agree, facts};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::NcclWay(way) => Some(*way),
        _ => None,
    };
    let lines = facts(scene, of_kind);
    let has = |way: NcclWay| lines.iter().any(|(_, said)| *said == way);
    // On one machine without a fast network the same is said, and is right: only a device that was there and could not
    // be used, or cards that do not reach each other, are slow for a reason.
    let (summary, strength, way) = if has(NcclWay::DeviceNotOpened) && has(NcclWay::Socket) {
        (text::summary_socket(), 0.55, NcclWay::DeviceNotOpened)
    } else if has(NcclWay::NoPeerAccess) {
        (text::summary_no_peer(), 0.36, NcclWay::NoPeerAccess)
    } else if has(NcclWay::NoFastNetwork) && has(NcclWay::Socket) {
        (text::summary_socket(), 0.2, NcclWay::Socket)
    } else {
        return;
    };
    let telling: Vec<_> = lines.iter().filter(|(_, said)| *said == way).copied().collect();
    let mut draft = about_program(&RULE, summary).severity(Severity::Warn);
    // It is slow, not stopped.
    draft.finding.impact = Impact::default();
    agree(&mut draft, 3.0, strength, &telling);
    draft.finding.detail.insert("way".to_owned(), way.id().to_owned());
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_way());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less());
    findings.report(draft);
}
