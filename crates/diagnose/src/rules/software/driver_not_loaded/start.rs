//! A container runtime says why it cannot pass cards in: it is not set up for them, or finds no driver.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{ProgramFact, Scene, StartObstacle};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::evidence::once;
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;

/// How an obstacle is named, said and removed.
struct Said {
    kind: &'static str,
    summary: Text,
    action: Action,
    fix: Text,
    /// How sure it is, 0 to 1.
    strength: f64,
}

/// Reports the first obstacle of a kind that this rule is about; returns whether there is one.
pub(super) fn check(scene: &Scene, findings: &mut Findings) -> bool {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::ContainerNotStarted(not_started) if said(not_started.obstacle).is_some() => {
            Some(not_started.obstacle)
        }
        _ => None,
    };
    let lines = decisive(facts(scene, of_kind));
    let Some((obstacle, said)) = lines.first().and_then(|(_, obstacle)| Some((*obstacle, said(*obstacle)?)))
    else {
        return false;
    };
    let mut draft = about_program(&RULE, said.summary).severity(Severity::Fault);
    let same: Vec<_> = lines.into_iter().filter(|(_, own)| *own == obstacle).collect();
    agree(&mut draft, 4.0, said.strength, &same);
    draft.finding.detail.insert("kind".to_owned(), said.kind.to_owned());
    if obstacle == StartObstacle::NotSetUp {
        weigh_runtimes(scene, &mut draft);
    }
    draft.advise(said.action, Vec::new(), said.fix);
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look_at_start());
    findings.report(draft);
    true
}

/// Weighs which ways of starting containers the runtime knows.
fn weigh_runtimes(scene: &Scene, draft: &mut crate::draft::Draft) {
    let Some(names) = scene.machine.container_runtimes.known() else {
        return;
    };
    if names.iter().any(|name| name.contains("nvidia")) {
        return;
    }
    let words = text::runtimes(names.clone());
    draft.agree(1.0, once(Signal::Container, names.len(), Unit::Count, Reader::ProgramLog, words));
}

fn said(obstacle: StartObstacle) -> Option<Said> {
    let grant =
        |kind, summary, fix, strength| Said { kind, summary, action: Action::GrantDevice, fix, strength };
    let load =
        |kind, summary, fix, strength| Said { kind, summary, action: Action::LoadDriver, fix, strength };
    Some(match obstacle {
        StartObstacle::NotSetUp => grant("not-set-up", text::summary_not_set_up(), text::fix_set_up(), 0.95),
        StartObstacle::NotDescribed => {
            grant("not-described", text::summary_not_described(), text::fix_describe(), 0.9)
        }
        StartObstacle::DescriptionStale => {
            grant("description-stale", text::summary_description_stale(), text::fix_describe(), 0.8)
        }
        StartObstacle::DriverNotLoaded => {
            load("not-loaded", text::summary_not_loaded(), text::fix_load(), 0.97)
        }
        StartObstacle::LibraryMissing => load(
            "library-missing",
            text::summary_no_library_for_containers(),
            text::fix_library_or_install(),
            0.9,
        ),
        StartObstacle::DeviceFileMissing => {
            load("no-device-file", text::summary_no_device_file(), text::fix_device_file(), 0.8)
        }
        _ => return None,
    })
}
