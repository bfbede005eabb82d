//! `driver-too-old`: a program was built for a newer CUDA than the driver can run.

use std::collections::BTreeSet;

use gpuwhy_knowledge::CudaRuntime;
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ProcessState;
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{flag, once};
use crate::facts::cards::whole_cards;
use crate::facts::versions::is_newer;
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

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
        ],
    },
    check,
};

/// A program that the driver cannot run.
struct Suspect<'scene> {
    process: &'scene Process,
    /// The oldest CUDA that it has loaded.
    runtime: CudaRuntime,
    /// Whether it brings a newer driver library along, on a card that does not allow that.
    has_forbidden_library: bool,
}

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    let Some(highest) = scene.machine.driver.cuda_version.known().and_then(|version| parsed(version)) else {
        return;
    };
    let clients: BTreeSet<Pid> = scene.cards.iter().flat_map(|card| card.known_clients()).map(|client| client.pid).collect();
    let mut suspects = Vec::new();
    for process in &scene.processes {
        let Some(runtime) = unfit_runtime(process, highest) else {
            continue;
        };
        // Who has a context was not refused: its libraries only lie in its memory.
        if clients.contains(&process.key.pid) {
            findings.rule_out(Signal::VramByProcess, None);
            continue;
        }
        let brings_a_newer_library = brings_a_newer_library(scene, process);
        if brings_a_newer_library && !are_all_for_games(scene) {
            findings.rule_out(Signal::ProcessLibraries, None);
            continue;
        }
        suspects.push(Suspect { process, runtime, has_forbidden_library: brings_a_newer_library });
    }
    if !suspects.is_empty() {
        findings.report(judge(scene, highest, &suspects, !clients.is_empty()));
    }
}

/// Reads `12.4`.
fn parsed(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the oldest CUDA that a living process has loaded, if the driver runs none of those that it has.
fn unfit_runtime(process: &Process, highest: (u32, u32)) -> Option<CudaRuntime> {
    if matches!(process.state, Reading::Known(ProcessState::Zombie | ProcessState::Dead)) {
        return None;
    }
    let libraries = process.libraries.known()?;
    let oldest = libraries.iter().filter_map(|library| gpuwhy_knowledge::cuda_runtime(library)).min()?;
    (!gpuwhy_knowledge::is_enough(highest, oldest)).then_some(oldest)
}

/// Returns whether a process has loaded a CUDA library of a newer driver than the one that runs (`cuda-compat`).
fn brings_a_newer_library(scene: &Scene, process: &Process) -> bool {
    let driver = &scene.machine.driver;
    let Some(module) = driver.module.known().or(driver.version.known()) else {
        return false;
    };
    let libraries = process.libraries.known().into_iter().flatten();
    libraries.filter_map(|library| gpuwhy_knowledge::cuda_driver(library)).any(|version| is_newer(version, module))
}

/// Returns whether all cards are of the line for games, where a newer library on an older driver is refused.
fn are_all_for_games(scene: &Scene) -> bool {
    let mut names = whole_cards(scene).map(|card| card.name.known()).peekable();
    names.peek().is_some() && names.all(|name| name.is_some_and(|name| name.contains("GeForce")))
}

fn judge(scene: &Scene, highest: (u32, u32), suspects: &[Suspect<'_>], has_clients: bool) -> Draft {
    let newest = suspects.iter().map(|suspect| suspect.runtime).max().unwrap_or(suspects[0].runtime);
    let mut called: Vec<String> = suspects.iter().map(|suspect| names::called(suspect.process)).collect();
    called.dedup();
    let highest = format!("{}.{}", highest.0, highest.1);
    let wanted = written(newest);
    let summary = text::summary(highest.as_str(), called, wanted.as_str());
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Warn);
    draft.finding.impact = Impact { blocked: suspects.len() as u64, ..Impact::default() };

    let words = text::driver_runs(highest.as_str());
    draft.agree(2.0, once(Signal::DriverVersion, highest.as_str(), Unit::Text, Reader::Nvml, words));
    for (place, suspect) in suspects.iter().enumerate() {
        let version = written(suspect.runtime);
        let words =
            text::has_loaded(names::called(suspect.process), u64::from(suspect.process.key.pid.0), version.as_str());
        let evidence = once(Signal::ProcessLibraries, version, Unit::Text, Reader::ProcPid, words);
        if place == 0 { draft.agree(2.0, evidence) } else { draft.mention(evidence) }
    }
    if suspects.iter().any(|suspect| suspect.has_forbidden_library) {
        draft.finding.detail.insert("kind".to_owned(), "compat-not-allowed".to_owned());
        draft.agree(1.0, flag(Signal::ProcessLibraries, Reader::ProcPid, text::compat_is_refused()));
    }
    weigh_context(scene, has_clients, &mut draft);
    let built_for = suspects.iter().find_map(|suspect| suspect.process.environment.known()?.get("CUDA_VERSION"));
    if let Some(version) = built_for {
        let words = text::image_is_for(version.as_str());
        draft.mention(once(Signal::ProcessEnvironment, version.as_str(), Unit::Text, Reader::ProcPid, words));
    }
    match gpuwhy_knowledge::oldest_driver_for(newest) {
        Some(driver) => draft.advise(Action::UpdateDriver, Vec::new(), text::fix_driver(driver, wanted.as_str())),
        None => draft.advise(Action::UpdateDriver, Vec::new(), text::fix_newer_driver()),
    }
    let targets = suspects.iter().map(|suspect| culprit::target(suspect.process.key.pid)).collect();
    draft.advise(Action::ImproveProgram, targets, text::fix_build(highest.as_str()));
    let culprits = suspects.iter().map(|suspect| culprit::of_process(suspect.process)).collect();
    draft.culprits(culprits, suspects.iter().map(|suspect| suspect.process.key.pid).collect())
}

/// Weighs that none of them has a context on a card: the driver's list may count in other numbers, or not be there.
fn weigh_context(scene: &Scene, has_clients: bool, draft: &mut Draft) {
    const WEIGHT: f64 = 1.5;
    let absence = whole_cards(scene).find_map(|card| card.clients.absence());
    if let Some(absence) = absence {
        draft.unseen(WEIGHT, Signal::VramByProcess, absence);
        draft.only_possible();
        return;
    }
    if has_clients && scene.machine.viewer.initial_pid_namespace == Reading::Known(false) {
        draft.silent(WEIGHT);
        draft.only_possible();
        return;
    }
    draft.agree(WEIGHT, flag(Signal::VramByProcess, Reader::Nvml, text::no_context()));
}

fn written(runtime: CudaRuntime) -> String {
    match runtime.minor {
        Some(minor) => format!("{}.{minor}", runtime.major),
        None => runtime.major.to_string(),
    }
}
