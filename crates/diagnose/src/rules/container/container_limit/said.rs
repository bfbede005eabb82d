//! A program says that a limit of its job, container or user was hit.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{LimitHit, LogLine, NcclWay, ProgramFact, Scene};
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;

/// A limit, as it is named, said and lifted.
struct Said {
    limit: &'static str,
    summary: Text,
    fix: Text,
    /// How sure it is, 0 to 1.
    strength: f64,
    /// Whether the program goes on, only slower.
    goes_on: bool,
}

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let lines = decisive(facts(scene, said));
    let mut limits: Vec<&'static str> = lines.iter().map(|(_, said)| said.limit).collect();
    limits.sort_unstable();
    limits.dedup();
    for limit in limits {
        let of_limit: Vec<&(&LogLine, Said)> = lines.iter().filter(|(_, said)| said.limit == limit).collect();
        let Some((_, said)) = of_limit.first() else {
            continue;
        };
        let mut draft = about_program(&RULE, said.summary.clone()).severity(Severity::Warn);
        draft.group = format!("program {limit}");
        let quoted: Vec<(&LogLine, ())> = of_limit.iter().map(|(line, _)| (*line, ())).collect();
        agree(&mut draft, 3.0, said.strength, &quoted);
        if said.goes_on {
            draft.finding.impact = Impact::default();
        }
        draft.finding.detail.insert("limit".to_owned(), limit.to_owned());
        draft.advise(Action::RaiseLimit, Vec::new(), said.fix.clone());
        findings.report(draft);
    }
}

fn said(fact: &ProgramFact) -> Option<Said> {
    let ends = |limit, summary, fix, strength| Said { limit, summary, fix, strength, goes_on: false };
    Some(match fact {
        ProgramFact::LimitHit(LimitHit::Files) => {
            ends("files", text::summary_files(), text::fix_files(), 0.65)
        }
        ProgramFact::LimitHit(LimitHit::FilesTooHigh) => Said {
            goes_on: true,
            ..ends("files-too-high", text::summary_files_too_high(), text::fix_files_too_high(), 0.9)
        },
        ProgramFact::LimitHit(LimitHit::Tasks) => {
            ends("tasks", text::summary_tasks(), text::fix_tasks(), 0.7)
        }
        ProgramFact::LimitHit(LimitHit::LockedMemory) => {
            ends("locked-memory", text::summary_locked(), text::fix_locked(), 0.8)
        }
        ProgramFact::LimitHit(LimitHit::Memory) => {
            ends("memory", text::summary_killed(), text::fix_memory(), 0.9)
        }
        ProgramFact::NcclWay(NcclWay::DeviceNotOpened) => Said {
            goes_on: true,
            ..ends("devices", text::summary_network_device(), text::fix_network_device(), 0.6)
        },
        ProgramFact::TooManyWorkers(workers) if workers.wanted > workers.suggested => Said {
            goes_on: true,
            ..ends(
                "processor",
                text::summary_workers(workers.suggested, workers.wanted),
                text::fix_workers(),
                0.6,
            )
        },
        _ => return None,
    })
}
