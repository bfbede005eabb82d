//! `container-limit`: a limit that was set for the container or job binds.

mod devices;
mod job;
mod memory;
mod processor;
mod said;
mod start;
mod tasks;

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Cgroup, Scene, Workload};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::Text;

use crate::draft::Draft;
use crate::facts::culprit;
use crate::facts::groups::cgroups_of;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/container_limit.rs"));
}

/// The rule. It stands behind `starved-by-cpu`, which names a quota itself where no container or job was given it.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::ContainerLimit,
    needs: Needs {
        span: Span::seconds(2.0),
        samples: 2,
        signals: &[
            Signal::CgroupCpu,
            Signal::CgroupMemory,
            Signal::CgroupPressure,
            Signal::CgroupTasks,
            Signal::PageFaults,
            Signal::HostCpu,
            Signal::KernelLog,
            Signal::CardCount,
            Signal::Container,
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ProcessList,
            Signal::ProgramLog,
            Signal::JobState,
            Signal::JobUsage,
            Signal::JobRequest,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    job::check(scene, findings);
    start::check(scene, findings);
    processor::check(scene, limits, findings);
    let before = findings.mark();
    for workload in &scene.workloads {
        let groups = groups_of(scene, workload);
        memory::check(scene, workload, &groups, limits, findings);
        tasks::check(scene, workload, &groups, limits, findings);
    }
    devices::check(scene, findings);
    if findings.mark() == before && !scene.cgroups.is_empty() {
        findings.rule_out(Signal::CgroupMemory, None);
    }
}

/// Returns the control groups that limit the processes of a run, each once, in the order of their paths.
fn groups_of<'scene>(scene: &'scene Scene, workload: &'scene Workload) -> Vec<&'scene Cgroup> {
    let mut groups: Vec<&Cgroup> =
        scene.processes_of(workload).flat_map(|process| cgroups_of(scene, process)).collect();
    groups.sort_by(|one, other| one.path.cmp(&other.path));
    groups.dedup_by(|one, other| one.path == other.path);
    groups
}

/// Begins a finding about a run and one kind of limit.
fn about_run(scene: &Scene, workload: &Workload, limit: &'static str, summary: Text) -> Draft {
    let run = culprit::of_workload(scene, workload);
    let group = format!("run {} {limit}", workload.root);
    let mut draft = Draft::new(&RULE, run.subject, group, workload.cards.clone(), summary);
    draft.finding.detail.insert("limit".to_owned(), limit.to_owned());
    draft.culprits(run.culprits, run.processes)
}
