//! Who was hit by numbered errors, and what the rules about hardware have in common.

use gpuwhy_model::action::{SubjectKind, Target};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Vendor;
use gpuwhy_model::scene::{Card, Process, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::verdict::Culprit;

use crate::draft::Draft;
use crate::facts::cards::with_unlisted;
use crate::facts::culprit;
use crate::facts::xids::Report;
use crate::findings::Findings;

/// Returns the cards of NVIDIA that answer; those that only an address names too.
pub(super) fn answering(scene: &Scene) -> impl Iterator<Item = &Card> {
    with_unlisted(scene).filter(|card| card.vendor == Vendor::Nvidia && card.handle.is_known())
}

/// Returns the living process that a report surely means: its number may have been given to another since.
pub(super) fn living<'scene>(scene: &'scene Scene, report: &Report<'_>) -> Option<&'scene Process> {
    let numbers_agree = scene.machine.viewer.initial_pid_namespace != Reading::Known(false);
    let process = scene.process(report.pid?).filter(|_| numbers_agree)?;
    let was_there = match (process.age.known(), report.age_s) {
        (Some(age), Some(report_age_s)) => age.0 >= report_age_s,
        _ => true,
    };
    was_there.then_some(process)
}

/// Returns the processes that reports name, each once.
pub(super) fn culprits(scene: &Scene, reports: &[Report<'_>]) -> (Vec<Culprit>, Vec<Pid>) {
    let mut culprits: Vec<Culprit> = Vec::new();
    let mut pids: Vec<Pid> = Vec::new();
    for report in reports {
        let Some(pid) = report.pid.filter(|pid| !pids.contains(pid)) else {
            continue;
        };
        pids.push(pid);
        culprits.push(match living(scene, report) {
            Some(process) => culprit::of_process(process),
            None => culprit::of_number(pid, report.name),
        });
    }
    (culprits, pids)
}

/// Returns the card of a finding as the target of its steps.
pub(super) fn target(draft: &Draft) -> Vec<Target> {
    vec![Target { kind: SubjectKind::Card, id: draft.finding.subject.id.clone() }]
}

/// Says that a reading of a card was closed to us.
pub(super) fn blind_if_denied<T>(signal: Signal, reading: &Reading<T>, findings: &mut Findings) {
    if let Reading::Denied(access) = reading {
        findings.blind(signal, gpuwhy_model::reading::Absence::Denied(access.clone()));
    }
}
