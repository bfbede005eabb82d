//! `driver-library-mismatch`: the driver's module and its library are there, of different versions.

mod said;

use gpuwhy_knowledge::NvmlErrorFact;
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{Job, JobPhase, Scene, Scheduler, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cards::only_on_the_bus;
use crate::facts::cluster::reader_of;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/driver_library_mismatch.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::DriverLibraryMismatch,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::DriverLibrary,
            Signal::DriverModule,
            Signal::DriverVersion,
            Signal::DeviceHolders,
            Signal::Container,
            Signal::ProgramLog,
            Signal::JobState,
        ],
    },
    check,
};

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    let driver = &scene.machine.driver;
    match &driver.library {
        Reading::Failed(Failure::Nvml { call, code: NvmlErrorFact::VERSION_MISMATCH }) => {
            findings.report(judge(scene, call));
        }
        // A library that works fits its module, whatever other files lie about.
        Reading::Known(()) if !other_versions(scene).is_empty() => {
            findings.rule_out(Signal::DriverLibrary, None);
        }
        _ => {}
    }
}

fn judge(scene: &Scene, call: &str) -> Draft {
    let module = scene.machine.driver.module.known();
    let others = other_versions(scene);
    let summary = match (module, others.is_empty()) {
        (Some(module), false) => text::summary_versions(others.clone(), module.as_str()),
        _ => text::summary(),
    };
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Fault);
    draft.finding.cards = only_on_the_bus(scene);
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * draft.finding.cards.len() as f64, ..Impact::default() };
    let code = NvmlErrorFact::VERSION_MISMATCH;
    let words = if scene.provenance.source == SourceKind::Text {
        text::library_told(u64::from(code))
    } else {
        text::library_says(call, u64::from(code))
    };
    draft.agree(4.0, once(Signal::DriverLibrary, code, Unit::Code, Reader::Nvml, words));
    weigh_module(scene, &mut draft);
    weigh_files(scene, others, &mut draft);
    advise(scene, &mut draft);
    draft
}

fn weigh_module(scene: &Scene, draft: &mut Draft) {
    match &scene.machine.driver.module {
        Reading::Known(version) => {
            let words = text::module_is_loaded(version.as_str());
            let reader = Reader::ProcDriver;
            draft.agree(1.0, once(Signal::DriverModule, version.as_str(), Unit::Text, reader, words));
        }
        other => {
            if let Some(absence) = other.absence() {
                draft.unseen(1.0, Signal::DriverModule, absence);
            }
        }
    }
}

/// Weighs the versions of the library files; of equal ones, some program loads another than those.
fn weigh_files(scene: &Scene, others: Vec<String>, draft: &mut Draft) {
    const WEIGHT: f64 = 2.0;
    if !others.is_empty() {
        let value = others.join(" ");
        let words = text::files_differ(others);
        draft.agree(WEIGHT, once(Signal::DriverVersion, value, Unit::Text, Reader::FileSystem, words));
        return;
    }
    match scene.machine.driver.library_files.absence() {
        Some(absence) => draft.unseen(WEIGHT, Signal::DriverVersion, absence),
        None => draft.silent(WEIGHT),
    }
}

/// Returns the versions of library files that are not the module's, each once.
fn other_versions(scene: &Scene) -> Vec<String> {
    let driver = &scene.machine.driver;
    let (Some(module), Some(files)) = (driver.module.known(), driver.library_files.known()) else {
        return Vec::new();
    };
    let versions = files.iter().filter_map(|file| file.split_once(".so.")).map(|(_, version)| version);
    let mut others: Vec<String> =
        versions.filter(|version| version.contains('.') && version != module).map(str::to_owned).collect();
    others.sort();
    others.dedup();
    others
}

fn advise(scene: &Scene, draft: &mut Draft) {
    let working = scene.device_holders.known().map_or(0, |holders| {
        holders.iter().filter(|holder| holder.devices.iter().any(|device| is_of_a_card(device))).count()
    });
    if working > 0 {
        let words = text::still_hold(working);
        draft.mention(once(Signal::DeviceHolders, working, Unit::Count, Reader::ProcPid, words));
    }
    if scene.machine.container.is_known() {
        draft.advise(Action::RestartContainer, Vec::new(), text::fix_container());
        return;
    }
    if working > 0 {
        draft.advise(Action::Watch, Vec::new(), text::fix_wait());
    } else if !let_jobs_end(scene, draft) && !scene.device_holders.is_known() {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_who_computes());
    }
    draft.advise(Action::UpdateDriver, Vec::new(), text::fix_reload());
    draft.advise(Action::UpdateDriver, Vec::new(), text::fix_hold());
}

/// Says that jobs still compute, and how to let them end; returns whether there are any.
fn let_jobs_end(scene: &Scene, draft: &mut Draft) -> bool {
    let runs = |job: &&Job| job.phase.known() == Some(&JobPhase::Running);
    let Some(scheduler) = scene.jobs.iter().find(runs).map(|job| job.scheduler) else {
        return false;
    };
    let count = scene.jobs.iter().filter(runs).count();
    let words = text::jobs_run(count);
    draft.mention(once(Signal::JobState, count, Unit::Count, reader_of(scheduler), words));
    let step = match scheduler {
        Scheduler::Slurm => text::fix_drain(count),
        Scheduler::Kubernetes => text::fix_cordon(count),
    };
    draft.advise(Action::Watch, Vec::new(), step);
    true
}

/// Returns whether a device file is that of a card: `/dev/nvidia3`.
fn is_of_a_card(device: &str) -> bool {
    device
        .rsplit('/')
        .next()
        .and_then(|name| name.strip_prefix("nvidia"))
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
