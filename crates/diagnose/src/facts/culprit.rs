//! Whom a person would name.

use gpuwhy_model::action::{SubjectKind, Target};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Client, Job, Process, Scene, Scheduler, Workload};
use gpuwhy_model::verdict::{Culprit, Subject};

use super::cards::{self, Holder};
use super::names;

/// Returns the process that a person would name for a holder: itself, or the head of its run if it is a mere worker.
pub(crate) fn head<'scene>(scene: &'scene Scene, holder: &Holder<'scene>) -> Option<&'scene Process> {
    let process = holder.process?;
    let root = holder.workload.and_then(|workload| scene.process(workload.root));
    match root {
        Some(root) if names::is_spawned_worker(process) => Some(root),
        _ => Some(process),
    }
}

/// Returns the culprits of some holders, each once, in their order.
pub(crate) fn culprits(scene: &Scene, holders: &[Holder<'_>]) -> Vec<Culprit> {
    let mut culprits: Vec<Culprit> = Vec::new();
    for holder in holders {
        let culprit = match head(scene, holder) {
            Some(process) => of_process(process),
            None => of_client(holder.client),
        };
        if !culprits.contains(&culprit) {
            culprits.push(culprit);
        }
    }
    culprits
}

/// Returns who works on a card, as a finding about the card itself names them: those who feel it.
pub(crate) fn at_work_on(scene: &Scene, card: &Card, limits: &Limits) -> (Vec<Culprit>, Vec<Pid>) {
    let mut holders = cards::holders(scene, card);
    holders.retain(|holder| holder.worked(limits) != Some(false));
    (culprits(scene, &holders), pids(&holders))
}

/// Makes a culprit of a process.
pub(crate) fn of_process(process: &Process) -> Culprit {
    let owner = process.owner.clone();
    Culprit {
        process: Some(process.key.clone()),
        pid: Some(process.key.pid),
        user: process.user.known().cloned(),
        command: process.command.known().cloned(),
        name: Some(names::called(process)),
        container: owner.container,
        pod: owner.pod,
        job: owner.job,
        unit: owner.unit,
        session: owner.session,
        ..nobody()
    }
}

/// Makes a culprit of what the driver says of a process that cannot be seen.
fn of_client(client: &Client) -> Culprit {
    let name = client.name.known().map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
    Culprit { pid: Some(client.pid), name, ..nobody() }
}

/// Makes a culprit of a process of which only the number, and perhaps the name, is known.
pub(crate) fn of_number(pid: Pid, name: Option<&str>) -> Culprit {
    Culprit { pid: Some(pid), name: name.map(str::to_owned), ..nobody() }
}

/// Makes a culprit of a job of a scheduler.
pub(crate) fn of_job(job: &Job) -> Culprit {
    let id = Some(job.id.clone()).filter(|id| !id.is_empty());
    let (job_id, pod) = match job.scheduler {
        Scheduler::Slurm => (id, None),
        Scheduler::Kubernetes => (None, id),
    };
    Culprit {
        user: job.user.known().cloned(),
        command: job.command.known().cloned(),
        name: job.name.known().cloned(),
        job: job_id,
        pod,
        ..nobody()
    }
}

fn nobody() -> Culprit {
    Culprit {
        process: None,
        pid: None,
        user: None,
        command: None,
        name: None,
        container: None,
        pod: None,
        job: None,
        unit: None,
        session: None,
        notebook: None,
        remark: None,
    }
}

/// Returns the pids of some holders.
pub(crate) fn pids(holders: &[Holder<'_>]) -> Vec<Pid> {
    holders.iter().map(|holder| holder.client.pid).collect()
}

/// Returns the run of a holder as a subject, with the key of its group.
pub(crate) fn run_of(scene: &Scene, holder: &Holder<'_>) -> (String, Subject) {
    let root = holder.workload.map_or(holder.client.pid, |workload| workload.root);
    let name = head(scene, holder).map_or_else(
        || holder.client.name.known().cloned().unwrap_or_else(|| root.to_string()),
        names::called,
    );
    (format!("run {root}"), Subject { kind: SubjectKind::Workload, id: root.to_string(), name })
}

/// A run as a finding names it.
pub(crate) struct Run {
    pub(crate) subject: Subject,
    pub(crate) culprits: Vec<Culprit>,
    /// Its processes that have a context on a card.
    pub(crate) processes: Vec<Pid>,
}

/// Returns how a finding about a whole run names it.
pub(crate) fn of_workload(scene: &Scene, workload: &Workload) -> Run {
    let cards = workload.cards.iter().filter_map(|index| scene.card(*index));
    let holders: Vec<Holder<'_>> = cards
        .flat_map(|card| cards::holders(scene, card))
        .filter(|holder| holder.workload.is_some_and(|other| other.root == workload.root))
        .collect();
    let root = scene.process(workload.root);
    let (subject, culprits) = if let Some(first) = holders.first() {
        (run_of(scene, first).1, culprits(scene, &holders))
    } else {
        let id = workload.root.to_string();
        let name = root.map_or_else(|| id.clone(), names::called);
        let subject = Subject { kind: SubjectKind::Workload, id, name };
        (subject, root.map(of_process).into_iter().collect())
    };
    Run { subject, culprits, processes: workload.gpu_processes.clone() }
}

/// Returns a process as the target of a step.
pub(crate) fn target(pid: Pid) -> Target {
    Target { kind: SubjectKind::Process, id: pid.to_string() }
}

/// Returns what a person calls a process, with its number.
pub(crate) fn with_pid(process: &Process) -> String {
    format!("{} {}", names::called(process), process.key.pid)
}

/// Returns what a person calls a holder.
pub(crate) fn called(holder: &Holder<'_>) -> String {
    match (holder.process, &holder.client.name) {
        (Some(process), _) => names::called(process),
        (None, Reading::Known(name)) => name.rsplit('/').next().unwrap_or(name).to_owned(),
        (None, _) => holder.client.pid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::sample::Owner;
    use gpuwhy_model::scene::Process;

    use super::of_process;

    #[test]
    fn a_culprit_is_named_with_where_it_belongs() {
        let some = |text: &str| Some(text.to_owned());
        let owner = Owner {
            container: some("c"),
            pod: some("p"),
            job: some("j"),
            unit: some("u"),
            session: some("s"),
        };
        let culprit = of_process(&Process { owner, ..Process::default() });
        let named = [culprit.container, culprit.pod, culprit.job, culprit.unit, culprit.session];
        assert_eq!(named, ["c", "p", "j", "u", "s"].map(some));
    }
}
