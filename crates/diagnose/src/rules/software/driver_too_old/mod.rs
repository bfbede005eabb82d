//! `driver-too-old`: a program was built for a newer CUDA than the driver can run.

mod said;
mod suspects;

use gpuwhy_knowledge::CudaRuntime;
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{flag, once};
use crate::facts::cards::whole_cards;
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

use suspects::{Examined, Sign, Suspect, built_for, examined, parsed};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/driver_too_old.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::DriverTooOld,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::DriverVersion,
            Signal::ProcessLibraries,
            Signal::VramByProcess,
            Signal::ProcessEnvironment,
            Signal::ProgramLog,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    let Some(highest) = scene.machine.driver.cuda_version.known().and_then(|version| parsed(version)) else {
        return;
    };
    let mut found = Vec::new();
    for process in &scene.processes {
        match examined(scene, process, highest, limits) {
            Examined::Suspect(suspect) => found.push(suspect),
            Examined::Excluded(signal) => findings.rule_out(signal, None),
            Examined::Fits => {}
        }
    }
    if !found.is_empty() {
        findings.report(judge(scene, highest, &found));
    }
}

fn judge(scene: &Scene, highest: (u32, u32), suspects: &[Suspect<'_>]) -> Draft {
    let newest = suspects.iter().map(|suspect| suspect.wanted).max().unwrap_or(suspects[0].wanted);
    let mut called: Vec<String> = suspects.iter().map(|suspect| names::called(suspect.process)).collect();
    called.dedup();
    let highest = format!("{}.{}", highest.0, highest.1);
    let wanted = written(newest);
    let summary = text::summary(highest.as_str(), called, wanted.as_str());
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Warn);
    draft.finding.impact = Impact { blocked: suspects.len() as u64, ..Impact::default() };

    let words = text::driver_runs(highest.as_str());
    draft.agree(2.0, once(Signal::DriverVersion, highest.as_str(), Unit::Text, Reader::Nvml, words));
    // One of those with the library is surer than all that only come from an image.
    let surest = suspects.iter().find(|suspect| suspect.sign == Sign::Library).unwrap_or(&suspects[0]);
    weigh_sign(surest, &mut draft);
    for suspect in suspects.iter().filter(|suspect| suspect.process.key != surest.process.key) {
        draft.mention(sign_evidence(suspect));
    }
    if suspects.iter().any(|suspect| suspect.has_forbidden_library) {
        draft.finding.detail.insert("kind".to_owned(), "compat-not-allowed".to_owned());
        draft.agree(1.0, flag(Signal::ProcessLibraries, Reader::ProcPid, text::compat_is_refused()));
    }
    weigh_context(scene, surest, &mut draft);
    match gpuwhy_knowledge::oldest_driver_for(newest) {
        Some(driver) => {
            draft.advise(Action::UpdateDriver, Vec::new(), text::fix_driver(driver, wanted.as_str()));
        }
        None => draft.advise(Action::UpdateDriver, Vec::new(), text::fix_newer_driver()),
    }
    let targets = suspects.iter().map(|suspect| culprit::target(suspect.process.key.pid)).collect();
    draft.advise(Action::ImproveProgram, targets, text::fix_build(highest.as_str()));
    let culprits = suspects.iter().map(|suspect| culprit::of_process(suspect.process)).collect();
    draft.culprits(culprits, suspects.iter().map(|suspect| suspect.process.key.pid).collect())
}

/// Weighs by what it is known which CUDA the program wants.
fn weigh_sign(suspect: &Suspect<'_>, draft: &mut Draft) {
    draft.agree(2.0, sign_evidence(suspect));
    match (suspect.sign, suspect.process.libraries.absence()) {
        (Sign::Library, _) => {
            if let Some(version) = built_for(suspect.process) {
                draft.mention(image(version));
            }
        }
        // The image may hold more than the program uses.
        (Sign::Image, None) => draft.silent(2.0),
        (Sign::Image, Some(absence)) => {
            draft.unseen(2.0, Signal::ProcessLibraries, absence);
            draft.only_possible();
        }
    }
}

fn sign_evidence(suspect: &Suspect<'_>) -> Evidence {
    if suspect.sign == Sign::Image {
        return image(&written(suspect.wanted));
    }
    let version = written(suspect.wanted);
    let pid = u64::from(suspect.process.key.pid.0);
    let words = text::has_loaded(names::called(suspect.process), pid, version.as_str());
    once(Signal::ProcessLibraries, version, Unit::Text, Reader::ProcPid, words)
}

fn image(version: &str) -> Evidence {
    once(Signal::ProcessEnvironment, version, Unit::Text, Reader::ProcPid, text::image_is_for(version))
}

/// Weighs that it does not work on a card: the driver's list may count in other numbers, or not be there.
fn weigh_context(scene: &Scene, suspect: &Suspect<'_>, draft: &mut Draft) {
    const WEIGHT: f64 = 1.5;
    let absence = whole_cards(scene).find_map(|card| card.clients.absence());
    if let Some(absence) = absence {
        draft.unseen(WEIGHT, Signal::VramByProcess, absence);
        draft.only_possible();
        return;
    }
    let has_clients = scene.cards.iter().any(|card| !card.known_clients().is_empty());
    if has_clients && scene.machine.viewer.initial_pid_namespace == Reading::Known(false) {
        draft.silent(WEIGHT);
        draft.only_possible();
        return;
    }
    let words = if suspect.has_mere_context { text::mere_context() } else { text::no_context() };
    draft.agree(WEIGHT, flag(Signal::VramByProcess, Reader::Nvml, words));
}

fn written(runtime: CudaRuntime) -> String {
    match runtime.minor {
        Some(minor) => format!("{}.{minor}", runtime.major),
        None => runtime.major.to_string(),
    }
}
